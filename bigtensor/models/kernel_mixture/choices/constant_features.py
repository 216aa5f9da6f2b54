"""Features with one value in the whole pilot sample: left out of the fit, with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import Setting, ViewError
from bigtensor.models.kernel_mixture.settings import (
    KernelMixtureSettings,
    check_views,
)
from bigtensor.models.pilot.constant_features import (
    LeftOut,
    described,
    warn_of_constant_features,
    without_columns,
)
from bigtensor.statistics.row_sample import Sample


def without_constant_features(
    sample: Sample, settings: KernelMixtureSettings, varying: NDArray[np.bool_]
) -> tuple[Sample, KernelMixtureSettings, LeftOut]:
    """Leave constant features out of a sample and of the settings, and warn.

    A view all of whose features are constant disappears.

    Parameters
    ----------
    sample : Sample
        Pilot sample with all features.
    settings : KernelMixtureSettings
        Settings for all features.
    varying : (features,) bool array
        From `varying_columns`, with a column that is constant.

    Returns
    -------
    sample : Sample
        Sample without the constant features.
    settings : KernelMixtureSettings
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
    if not views:
        raise ViewError(f"{said}, so that no feature is left to fit; give features that vary")
    narrowed = replace(
        settings,
        shape=replace(settings.shape, views=views),
        kernels={name: settings.kernels[name] for name, _ in views},
    )
    try:
        check_views(narrowed)
    except ViewError as error:
        raise ViewError(f"{said}. Without constant features, " + error.message) from None
    narrowed = replace(narrowed, groups=_groups(settings.groups, dict(views), said))
    warn_of_constant_features(left_out, len(sample.values))
    return (
        replace(sample, values=np.ascontiguousarray(sample.values[:, varying])),
        narrowed,
        left_out,
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
