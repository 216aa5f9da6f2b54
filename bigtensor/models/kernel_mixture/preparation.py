"""From a pilot sample to bandwidths, landmarks, directions and grids, on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.bandwidth import (
    cluster_sample,
    rule_width,
)
from bigtensor.features.nystroem import Nystroem
from bigtensor.models.kernel_mixture.groups import Groups, projected_groups
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.settings import Settings, purpose_seed
from bigtensor.models.kernel_mixture.view_features import chosen_landmarks, orthonormal_map, spacing
from bigtensor.statistics.row_sample import Sample

FloatArray = NDArray[np.float64]

NARROWEST = 0.7
"""Least width of the density of a wide view, in distances between neighbouring landmarks.

Of 0.4, 0.7, 1, 1.5 and 2 the one with the best likelihood on views of two and three features.
"""


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything that is fixed before the first full pass.

    Attributes
    ----------
    n_components : int
    views : tuple of (name, features)
    slices : mapping of str to slice
    assignment : (n0,) integer array
        The k-means cluster of every row of the sample.
    grids : Grids
        Of the views of one feature.
    wide_maps : mapping of str to Nystroem
        Orthonormal features with the fine bandwidth, of the views of several features.
    groups : tuple of three GroupMap, optional
        Projected features for moments; None without a spectral start.
    diagnostics : dict
    """

    n_components: int
    views: tuple[tuple[str, tuple[str, ...]], ...]
    slices: Mapping[str, slice]
    assignment: NDArray[np.intp]
    grids: Grids
    wide_maps: Mapping[str, Nystroem]
    groups: Groups | None
    diagnostics: dict[str, Any]

    @property
    def masses(self) -> list[FloatArray]:
        """The integral of every projected feature, averaged over the views of each group."""
        return [] if self.groups is None else [group.masses.mean(axis=0) for group in self.groups]


def prepare(sample: Sample, settings: Settings) -> Preparation:
    """Choose bandwidths, landmarks, directions and grids from a sample.

    Parameters
    ----------
    sample : Sample
    settings : Settings

    Returns
    -------
    Preparation

    Raises
    ------
    DataError
        When a feature is constant, or the sample has fewer rows than components.
    """
    names = [name for _, members in settings.views for name in members]
    k, seed = settings.n_components, settings.random_state
    rows = np.asarray(sample.values, np.float64)
    clusters = cluster_sample(rows, k, purpose_seed(seed, "clusters"), names, sample.weight)
    scale = clusters.scale
    columns = tuple(settings.slices[name].start for name in settings.narrow)
    grids = Grids.over_sample(rows, columns, settings.bins)
    diagnostics: dict[str, Any] = {
        "sample_rows": len(rows),
        "scales": dict(zip(names, scale.tolist(), strict=True)),
        "notes": [],
    }
    wide_maps = {name: _fine_map(name, rows, scale, settings) for name in settings.wide}
    groups = projected_groups(rows, scale, settings, diagnostics) if settings.spectral else None
    return Preparation(
        k, settings.views, settings.slices, clusters.labels, grids, wide_maps, groups, diagnostics
    )


def _fine_map(name: str, rows: FloatArray, scale: FloatArray, settings: Settings) -> Nystroem:
    """Return orthonormal features of a wide view, as narrow as its landmarks allow."""
    piece = settings.slices[name]
    values, within = rows[:, piece], scale[piece]
    landmarks = chosen_landmarks(name, values, within, settings).points
    width = rule_width(within, settings.rows, settings.n_components)
    width = width * max(1.0, NARROWEST * spacing(landmarks / width))
    return orthonormal_map(values, landmarks, width, settings.feature_dtype)
