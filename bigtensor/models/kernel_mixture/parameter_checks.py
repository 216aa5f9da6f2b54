"""Checks of the parameters of a kernel mixture, before any data are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bigtensor.errors import ParameterError, Setting
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import KERNELS
from bigtensor.models.contract.parameters import ParameterValues, check_integer
from bigtensor.models.kernel_mixture.options import SpectralOptions
from bigtensor.models.kernel_mixture.settings import DELTA


def check_parameters(parameters: ParameterValues) -> None:
    """Raise a ParameterError for a parameter of a `KernelMixture` that is out of range."""
    _check_kernels(parameters.kernel)
    if parameters.view_groups is not None and not _are_lists(parameters.view_groups):
        raise ParameterError(
            Setting("view_groups")
            + f" is {parameters.view_groups!r}; expected three lists of views"
        )
    if parameters.n_components != "auto":
        _check_against_components(parameters, int(parameters.n_components))
    if parameters.merging is None and parameters.n_populations is not None:
        raise ParameterError(
            Setting("merging")
            + " is None, but "
            + Setting("n_populations")
            + f" is {parameters.n_populations!r}; populations are merged components: leave out one "
            "of the two"
        )


def _check_against_components(parameters: ParameterValues, k: int) -> None:
    """Raise a ParameterError for a number that does not go with the number of components."""
    if parameters.pilot_rows is not None:
        check_integer("pilot_rows", parameters.pilot_rows, max(100, k))
    if parameters.n_directions is not None:
        check_integer(SpectralOptions.setting("n_directions"), parameters.n_directions, k, 3 * k)
    if parameters.n_populations not in (None, "auto") and int(parameters.n_populations) > k:
        raise ParameterError(
            Setting("n_populations")
            + f" is {parameters.n_populations}; expected an integer from 1 to {k}, the number of "
            "components that are merged: use more of these, or leave "
            + Setting("n_components")
            + " out"
        )


def _are_lists(groups: object) -> bool:
    """Return True for a list of lists."""
    parts = [groups, *groups] if isinstance(groups, Sequence) else [groups]
    return all(isinstance(part, Sequence) and not isinstance(part, str) for part in parts)


def _check_kernels(kernels: object) -> None:
    """Raise a ParameterError unless this is a kernel, or a mapping of views to kernels."""
    for kernel in kernels.values() if isinstance(kernels, Mapping) else [kernels]:
        if not isinstance(kernel, CustomKernel) and kernel not in (*KERNELS, DELTA):
            raise ParameterError(
                Setting("kernel")
                + f" has {kernel!r}; expected one of {', '.join(KERNELS)}, {DELTA} or a "
                "CustomKernel, or a mapping of view names to these"
            )
