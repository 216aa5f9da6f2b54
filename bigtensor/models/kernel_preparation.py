"""From a pilot sample to bandwidths, landmarks, directions and grids, on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.subspaces import cross_covariance_subspaces
from bigtensor.features.bandwidth import (
    cluster_sample,
    coarse_width,
    quantile_range,
    rule_width,
)
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels import GaussianKernel
from bigtensor.features.landmarks import Landmarks, kmeans_landmarks, uniform_landmarks
from bigtensor.features.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.models.base import DataShape, PassSize
from bigtensor.models.data_shape import view_slices
from bigtensor.models.histogram_densities import Grids
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSums
from bigtensor.statistics.row_sample import RowSample, Sample
from bigtensor.statistics.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked
from bigtensor.statistics.windows import WINDOWS, sample_windows

FloatArray = NDArray[np.float64]
Groups = tuple[GroupMap, GroupMap, GroupMap]

NARROWEST = 0.7
"""Least width of the density of a wide view, in distances between neighbouring landmarks.

Of 0.4, 0.7, 1, 1.5 and 2 the one with the best likelihood on views of two and three features.
"""


@dataclass(frozen=True)
class Settings:
    """What a preparation has to know besides the sample.

    Attributes
    ----------
    n_components, rows : int
    views : tuple of (name, features)
    spectral : bool
        Whether features for moments are wanted.
    landmarks : {"kmeans", "uniform"}
    n_landmarks, n_directions, bins : int
    feature_dtype : {"float32", "float64"}
    random_state : int
    """

    n_components: int
    rows: int
    views: tuple[tuple[str, tuple[str, ...]], ...]
    spectral: bool
    landmarks: str
    n_landmarks: int
    n_directions: int
    bins: int
    feature_dtype: str
    random_state: int

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return view_slices(self.views)

    @property
    def narrow(self) -> tuple[str, ...]:
        """The views of one feature."""
        return tuple(name for name, members in self.views if len(members) == 1)

    @property
    def wide(self) -> tuple[str, ...]:
        """The views of several features."""
        return tuple(name for name, members in self.views if len(members) > 1)


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
    groups = _groups(rows, scale, settings, diagnostics) if settings.spectral else None
    return Preparation(
        k, settings.views, settings.slices, clusters.labels, grids, wide_maps, groups, diagnostics
    )


def purpose_seed(random_state: int, *purpose: str) -> int:
    """Return a seed of its own for every purpose, from the one seed of the model."""
    key = tuple("/".join(purpose).encode())
    return int(np.random.SeedSequence(random_state, spawn_key=key).generate_state(1)[0])


def _fine_map(name: str, rows: FloatArray, scale: FloatArray, settings: Settings) -> Nystroem:
    """Return orthonormal features of a wide view, as narrow as its landmarks allow."""
    piece = settings.slices[name]
    values, within = rows[:, piece], scale[piece]
    landmarks = _landmarks(name, values, within, settings).points
    width = rule_width(within, settings.rows, settings.n_components)
    width = width * max(1.0, NARROWEST * _spacing(landmarks / width))
    return _orthonormal_map(values, landmarks, width, settings.feature_dtype)


def _spacing(points: FloatArray) -> float:
    """Return the median distance of a point to its nearest neighbour."""
    if len(points) < 2:
        return 1.0
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return float(np.sqrt(np.median(np.maximum(distances.min(axis=1), 0.0))))


def _landmarks(name: str, values: FloatArray, within: FloatArray, settings: Settings) -> Landmarks:
    """Choose the landmarks of one view."""
    # the place of the view and not its name: names do not change an answer
    place = [view for view, _ in settings.views].index(name)
    seed = purpose_seed(settings.random_state, "landmarks", str(place))
    if settings.landmarks == "uniform":
        return uniform_landmarks(values, settings.n_landmarks, seed)
    return kmeans_landmarks(values, settings.n_landmarks, within, seed)


def _orthonormal_map(
    values: FloatArray, landmarks: FloatArray, width: FloatArray, dtype: str
) -> Nystroem:
    """Return the kernel features whose products reproduce the kernel between landmarks."""
    kernel = GaussianKernel(width)
    gram = kernel.evaluate(landmarks, landmarks)
    root = nystroem_root(gram, eigenvalue_cut(dtype))
    return Nystroem(landmarks, kernel, values.mean(axis=0), root, dtype)


def _groups(
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
        landmarks = _landmarks(name, values, within, settings)
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
        orthonormal[name] = _orthonormal_map(
            values, landmarks.points, width, settings.feature_dtype
        )
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


def expected_passes(
    shape: DataShape,
    settings: Settings,
    sample_size: int,
    times: Mapping[str, tuple[int, int]],
) -> list[PassSize]:
    """Return upper bounds of the passes of a fit, from blank statistics of the same sizes.

    Parameters
    ----------
    shape : DataShape
    settings : Settings
    sample_size : int
    times : mapping of str to (int, int)
        How often posterior passes of this name run at most, and the rows of each.
    """
    windows = sample_windows(shape.rows, sample_size)
    seen = shape.rows if windows is None else WINDOWS * (windows[0][1] - windows[0][0])
    n_features = len(shape.features)
    sample = RowSample(sample_size, n_features, shape.dtype, 0, shape.has_weight)
    sizes = [_size("pilot", 1, seen, sample)]
    if settings.spectral:
        sizes.append(_size("moments", 1, shape.rows, TripleMoments(_blank_groups(settings))))
    posterior = PosteriorSums(_blank_mixture(settings), _blank_wide_maps(settings))
    sizes += [_size(name, most, rows, posterior) for name, (most, rows) in times.items()]
    return sizes


def _size(name: str, times: int, rows: int, statistic: Statistic[Any]) -> PassSize:
    """Return the size of a pass over a statistic."""
    checked = Checked(statistic)
    return PassSize(
        name, times, rows, checked.state_nbytes(), checked.work_nbytes(checked.block_rows)
    )


def _blank_map(width: int, n_features: int, settings: Settings) -> Nystroem:
    """Return a feature map of the right size and no meaning."""
    p = settings.n_landmarks
    kernel = GaussianKernel(np.ones(width))
    return Nystroem(
        np.zeros((p, width)),
        kernel,
        np.zeros(width),
        np.zeros((p, n_features)),
        settings.feature_dtype,
    )


def _blank_groups(settings: Settings) -> Groups:
    """Return groups of feature maps of the right sizes."""
    lengths = {name: len(members) for name, members in settings.views}
    first, second, third = (
        GroupMap(
            names,
            tuple(_blank_map(lengths[name], settings.n_directions, settings) for name in names),
        )
        for names in grouped_views(settings)
    )
    return first, second, third


def _blank_wide_maps(settings: Settings) -> dict[str, Nystroem]:
    """Return feature maps of the right sizes for the wide views."""
    lengths = {name: len(members) for name, members in settings.views}
    return {
        name: _blank_map(lengths[name], settings.n_landmarks, settings) for name in settings.wide
    }


def _blank_mixture(settings: Settings) -> MixtureDensities:
    """Return a mixture of the right size."""
    k = settings.n_components
    columns = tuple(settings.slices[name].start for name in settings.narrow)
    grids = Grids(columns, np.zeros(len(columns)), np.ones(len(columns)), settings.bins)
    embedded = tuple(
        EmbeddedDensities(name, feature_map, np.zeros((feature_map.n_features, k)), np.ones(k))
        for name, feature_map in _blank_wide_maps(settings).items()
    )
    return MixtureDensities(np.full(k, 1 / k), grids.flat(k) if columns else None, embedded)
