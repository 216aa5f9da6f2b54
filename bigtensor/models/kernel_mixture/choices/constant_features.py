"""Features with one value in the whole pilot sample: left out of the fit, with a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import Setting, ViewError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.kernel_mixture.settings import SPECTRAL_VIEWS, Settings
from bigtensor.models.pilot.constant_features import (
    LeftOut,
    described,
    warn_of_constant_features,
    without_columns,
)
from bigtensor.statistics.row_sample import Sample


def without_constant_features(
    sample: Sample, settings: Settings, varying: NDArray[np.bool_]
) -> tuple[Sample, Settings, LeftOut]:
    """Leave constant features out of a sample and of the settings, and warn.

    A view all of whose features are constant disappears.

    Parameters
    ----------
    sample : Sample
        Pilot sample with all features.
    settings : Settings
        Settings for all features.
    varying : (features,) bool array
        From `varying_columns`, with a column that is constant.

    Returns
    -------
    sample : Sample
        Sample without the constant features.
    settings : Settings
        Settings without the constant features.
    left_out : dict of str to list of str
        Constant features of every view that has any.

    Raises
    ------
    ViewError
        When too few views are left for the initialisation, a group of views is empty,
        or a user-defined kernel is for more features than its view has left.
    """
    views, left_out = without_columns(settings.shape.views, varying)
    said = described(left_out, len(sample.values))
    if len(views) < SPECTRAL_VIEWS and settings.if_two_views is not None:
        settings = replace(settings.if_two_views, if_dependent=settings.if_dependent)
    _check_views(settings, views, said)
    narrowed = settings.with_views(views, _groups(settings.groups, dict(views), said))
    warn_of_constant_features(left_out, len(sample.values))
    return (
        replace(sample, values=np.ascontiguousarray(sample.values[:, varying])),
        narrowed,
        left_out,
    )


def _check_views(
    settings: Settings, views: Sequence[tuple[str, tuple[str, ...]]], said: str
) -> None:
    """Raise unless the views that are left can be fitted as was asked for."""
    needed = settings.least_views
    if not views:
        raise ViewError(f"{said}, so that no feature is left to fit; give features that vary")
    if len(views) < needed:
        alternative = "; use " + Setting("init", "kmeans") + ", or views of fewer features"
        raise ViewError(
            f"{said}. Without constant features {len(views)} view(s) are left, and "
            + Setting("init", "spectral" if settings.spectral else "kmeans")
            + f" needs at least {needed}"
            + (alternative if len(views) > 1 else "")
        )
    lengths = {name: len(members) for name, members in views}
    if settings.shared and len({*lengths.values()}) > 1:
        raise ViewError(
            f"{said}. Without constant features the views have different lengths "
            f"({', '.join(f'{name}: {d}' for name, d in lengths.items())}), and "
            + Setting("views_share_components", True)
            + " needs equally many; leave the feature out of every view"
        )
    for name, members in views:
        kernel = settings.kernels[name]
        if isinstance(kernel, CustomKernel) and kernel.width != len(members):
            raise ViewError(
                f"{said}. Without constant features view {name!r} has {len(members)} feature(s), "
                f"but its kernel is for {kernel.width}; give a kernel for {len(members)}"
            )


def _groups(
    groups: tuple[tuple[str, ...], ...] | None, views: Mapping[str, tuple[str, ...]], said: str
) -> tuple[tuple[str, ...], ...] | None:
    """Return the given groups of views without those that have disappeared."""
    if groups is None:
        return None
    narrowed = tuple(tuple(name for name in group if name in views) for group in groups)
    if not all(narrowed):
        raise ViewError(
            f"{said}. Without constant features a group of views is empty; give other groups, or "
            "leave " + Setting("view_groups") + " out"
        )
    return narrowed
