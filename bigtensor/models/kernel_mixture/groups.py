"""Three groups of views, and their features in the directions in which the groups covary."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.subspaces import cross_covariance_subspaces
from bigtensor.features.bandwidth import (
    coarse_width,
    quantile_range,
)
from bigtensor.features.group_map import GroupMap
from bigtensor.features.nystroem import Nystroem
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.view_features import chosen_landmarks, orthonormal_map

FloatArray = NDArray[np.float64]

Groups = tuple[GroupMap, GroupMap, GroupMap]


def projected_groups(
    rows: FloatArray, scale: FloatArray, settings: Settings, diagnostics: dict[str, Any]
) -> Groups:
    """Return three groups of views, projected to the directions in which they covary.

    The directions of a group are the leading left singular vectors of its cross-covariances with
    the other two (Song et al. 2014, sec. 4): directions of its own variance would keep noise.
    """
    widths: dict[str, list[float]] = {}
    orthonormal = {}
    for name, _ in settings.views:
        piece = settings.slices[name]
        values, within = rows[:, piece], scale[piece]
        landmarks = chosen_landmarks(name, values, within, settings)
        if landmarks.note is not None:
            diagnostics["notes"].append(f"view {name!r}: {landmarks.note}")
        width = coarse_width(
            within,
            settings.rows,
            len(rows),
            settings.n_components,
            quantile_range(values),
            settings.n_landmarks,
        )
        widths[name] = width.tolist()
        orthonormal[name] = orthonormal_map(values, landmarks.points, width, settings.feature_dtype)
    members = grouped_views(settings)
    features = [
        np.hstack(
            [_exact_features(orthonormal[name], rows[:, settings.slices[name]]) for name in names]
        )
        for names in members
    ]
    covariances = {
        (a, b): features[a].T @ features[b] / len(rows)
        for a in range(3)
        for b in range(3)
        if a != b
    }
    q = min(settings.n_directions, *(part.shape[1] for part in features))
    subspaces = cross_covariance_subspaces(covariances, q)
    diagnostics["bandwidths"] = widths
    diagnostics["groups"] = [list(names) for names in members]
    diagnostics["pilot_singular_values"] = [
        values[: 2 * settings.n_components + 2].tolist() for values in subspaces.singular_values
    ]
    first, second, third = (
        _projected(names, orthonormal, basis[:, :q])
        for names, basis in zip(members, subspaces.bases, strict=True)
    )
    return first, second, third


def grouped_views(settings: Settings) -> list[tuple[str, ...]]:
    """Put neighbouring views together into three groups of about equally many features."""
    names = [name for name, _ in settings.views]
    ends = list(accumulate(len(members) for _, members in settings.views))
    edges = [0]
    for part in (1, 2):
        wanted = ends[-1] * part / 3
        least, most = edges[-1] + 1, len(names) - (3 - part)
        edges.append(min(range(least, most + 1), key=lambda edge: abs(ends[edge - 1] - wanted)))
    return [
        tuple(names[start:stop])
        for start, stop in zip(edges, [*edges[1:], len(names)], strict=True)
    ]


def _exact_features(feature_map: Nystroem, values: FloatArray) -> FloatArray:
    """Return the features of the sample in float64."""
    return feature_map.kernel.evaluate(values, feature_map.landmarks) @ feature_map.projection


def _projected(names: tuple[str, ...], maps: Mapping[str, Nystroem], basis: FloatArray) -> GroupMap:
    """Return the projected features of a group: every view's part of the basis."""
    projected, start = [], 0
    for name in names:
        feature_map = maps[name]
        part = basis[start : start + feature_map.n_features]
        projected.append(
            Nystroem(
                feature_map.landmarks,
                feature_map.kernel,
                feature_map.centre,
                feature_map.projection @ part,
                feature_map.dtype,
            )
        )
        start += feature_map.n_features
    return GroupMap(names, tuple(projected))
