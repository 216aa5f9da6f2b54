"""Features with one value in the whole pilot sample, which a fit leaves out with a warning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ConstantFeatureWarning, Setting, warn
from bigtensor.models.contract.data_shape import NamedViews, view_slices
from bigtensor.statistics.row_sample import Sample

LeftOut = dict[str, list[str]]
"""Constant features by view."""


def varying_columns(sample: Sample) -> NDArray[np.bool_]:
    """Return which columns of a sample hold more than one value: ``(features,)``.

    Missing entries are no values, and a column without values is none with one value.
    """
    values = sample.values
    differs = (values != values[:1]).any(axis=0)
    if np.isnan(values).any():
        for column in np.flatnonzero(differs):
            entries = values[~np.isnan(values[:, column]), column]
            differs[column] = not entries.size or bool((entries != entries[0]).any())
    return np.asarray(differs)


def without_columns(views: NamedViews, varying: NDArray[np.bool_]) -> tuple[NamedViews, LeftOut]:
    """Return the views without constant features, and these features.

    A view all of whose features are constant disappears.

    Parameters
    ----------
    views : tuple of (name, features)
        Views with all features.
    varying : (features,) bool array
        From `varying_columns`.
    """
    remaining: list[tuple[str, tuple[str, ...]]] = []
    left_out: LeftOut = {}
    slices = view_slices(views)
    for name, members in views:
        pairs = list(zip(members, varying[slices[name]], strict=True))
        kept = tuple(member for member, varies in pairs if varies)
        if kept:
            remaining.append((name, kept))
        if len(kept) < len(members):
            left_out[name] = [member for member, varies in pairs if not varies]
    return tuple(remaining), left_out


def described(left_out: Mapping[str, list[str]], rows: int) -> str:
    """Say which features are constant."""
    names = ", ".join(repr(feature) for members in left_out.values() for feature in members)
    return (
        f"features {names} have" if _several(left_out) else f"feature {names} has"
    ) + f" one value in all {rows:,} rows of the pilot sample"


def warn_of_constant_features(left_out: Mapping[str, list[str]], rows: int) -> None:
    """Warn that a fit leaves features out."""
    message = (
        f"{described(left_out, rows)}; the fit leaves {'them' if _several(left_out) else 'it'} "
        "out. Name the other features in " + Setting("views") + " to silence this warning"
    )
    warn(message, ConstantFeatureWarning)


def _several(left_out: Mapping[str, list[str]]) -> bool:
    """Return True if there is more than one feature."""
    return sum(map(len, left_out.values())) > 1
