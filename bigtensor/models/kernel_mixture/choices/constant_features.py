"""Features with one value in the whole pilot sample: left out of the fit, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ConstantFeatureWarning, Setting, ViewError
from bigtensor.models.kernel_mixture.settings import SPECTRAL_VIEWS, Settings, check_views
from bigtensor.statistics.row_sample import Sample

LeftOut = dict[str, list[str]]
"""Constant features by view."""


def varying_columns(sample: Sample) -> NDArray[np.bool_]:
    """Return which columns of a sample hold more than one value: ``(features,)``."""
    return np.asarray((sample.values != sample.values[:1]).any(axis=0))


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
    views: list[tuple[str, tuple[str, ...]]] = []
    left_out: LeftOut = {}
    for name, members in settings.shape.views:
        kept = varying[settings.slices[name]]
        remaining = tuple(member for member, keep in zip(members, kept, strict=True) if keep)
        if remaining:
            views.append((name, remaining))
        if not kept.all():
            left_out[name] = [
                member for member, keep in zip(members, kept, strict=True) if not keep
            ]
    said = described(left_out, len(sample.values))
    if len(views) < SPECTRAL_VIEWS and settings.if_two_views is not None:
        settings = replace(settings.if_two_views, if_dependent=settings.if_dependent)
    if not views:
        raise ViewError(f"{said}, so that no feature is left to fit; give features that vary")
    try:
        check_views(tuple(views), settings.least_views, settings.kernels, shared=settings.shared)
    except ViewError as error:
        raise ViewError(f"{said}. Without constant features, " + error.message) from None
    narrowed = settings.with_views(tuple(views), _groups(settings.groups, dict(views), said))
    message = (
        f"{said}; the fit leaves {'them' if _several(left_out) else 'it'} out. Name the other "
        "features in " + Setting("views") + " to silence this warning"
    )
    warnings.warn(message, ConstantFeatureWarning, stacklevel=6)
    return (
        replace(sample, values=np.ascontiguousarray(sample.values[:, varying])),
        narrowed,
        left_out,
    )


def described(left_out: LeftOut, rows: int) -> str:
    """Say which features are constant."""
    names = ", ".join(repr(feature) for members in left_out.values() for feature in members)
    return (
        f"features {names} have" if _several(left_out) else f"feature {names} has"
    ) + f" one value in all {rows:,} rows of the pilot sample"


def _several(left_out: LeftOut) -> bool:
    """Return whether there is more than one feature."""
    return sum(map(len, left_out.values())) > 1


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
