"""Keyword arguments of a `KernelMixture` from parameters and fields of its options."""

from collections.abc import Mapping
from typing import Any

from bigtensor import SpectralOptions
from bigtensor.models.contract.declarations import gathered_values


def mixture_parameters(parameters: Mapping[str, Any] = {}, /, **changes: Any) -> dict[str, Any]:
    """Return keyword arguments of a `KernelMixture`.

    Parameters
    ----------
    parameters : mapping of str to object
        Parameters of the model. Fields of `SpectralOptions` may stand among them.
    **changes
        Parameters and fields in place of these.
    """
    flat = dict(parameters)
    options = flat.pop("spectral", None) or SpectralOptions()
    return gathered_values({**options.as_dict(), **flat, **changes}, [SpectralOptions])
