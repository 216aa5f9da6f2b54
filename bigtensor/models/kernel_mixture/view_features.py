"""Landmarks and orthonormal kernel features of every view, from the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from bigtensor.array_types import FloatArray
from bigtensor.features.kernels.bandwidth import coarse_width, quantile_range, rule_width
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import Kernel, default_kernel
from bigtensor.features.kernels.landmarks import Landmarks, choose_landmarks
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.features.maps import FeatureMap
from bigtensor.features.plain_maps import OneHot, find_categories
from bigtensor.models.contract.driver_threads import map_on_threads
from bigtensor.models.kernel_mixture.embedded_view import features_of
from bigtensor.models.kernel_mixture.settings import DELTA, KernelMixtureSettings, ViewKernel
from bigtensor.purpose_seeds import purpose_seed

NARROWEST = 0.7
"""Least width of the density of an embedded view, in distances between neighbouring landmarks.

Of 0.4, 0.7, 1, 1.5 and 2 the one with the best likelihood on views of two and three features.
"""


LEAST_COARSE = 1.0
"""Least width of the features of the moments of a wide view, in the same distances.

Chosen with labels on digits cut into four and six blocks of pixels and on simulated views of 10 to
100 features, where 0.4, 0.7, 1, 1.5 and 2.5 gave a mean accuracy of 0.74, 0.85, 0.87, 0.86 and
0.85.
"""

VIEWS_AT_ONCE, _ROWS_FOR_THREADS = 2, 5000
"""Views that are prepared at the same time, where the sample has so many rows."""

FEW_FEATURES = 3
"""Largest number of features of a view whose rule of thumb needs no such least width."""


def coarse_maps(
    rows: FloatArray,
    scale: FloatArray,
    settings: KernelMixtureSettings,
    chosen: Mapping[str, FloatArray],
) -> tuple[dict[str, FeatureMap], dict[str, Any]]:
    """Return orthonormal features of every view with the coarse bandwidth, which moments want.

    Parameters
    ----------
    rows : (n0, features) float64 array
        The sample.
    scale : (features,) float64 array
        The scale of the features inside components.
    settings : KernelMixtureSettings
        Settings with kernels, landmarks and the bandwidth factor.
    chosen : mapping of str to (p, d) float64 array
        Landmarks of views with another bandwidth, which they do not depend on unless a kernel
        chooses them.

    Returns
    -------
    maps : dict of str to FeatureMap
        One and the same map for all views where they share their components.
    diagnostics : dict
        ``bandwidths`` and ``landmarks`` by view.
    """

    def coarse(view: tuple[str, FloatArray, FloatArray]) -> _CoarseView:
        name, values, within = view
        kind = settings.kernels[name]
        return _coarse_view(values, within, settings, len(rows), kind, chosen.get(name))

    views = _views_of_sample(rows, scale, settings)
    few = len(rows) < _ROWS_FOR_THREADS
    made = [*map(coarse, views)] if few else map_on_threads(coarse, views, VIEWS_AT_ONCE)
    of_view = {name: one for (name, _, _), one in zip(views, made, strict=True)}
    diagnostics = {
        "bandwidths": {
            name: one.width.tolist() for name, one in of_view.items() if one.width is not None
        },
        "landmarks": {
            name: _facts(one.landmarks)
            for name, one in of_view.items()
            if one.landmarks is not None
        },
    }
    maps = {name: one.feature_map for name, one in of_view.items()}
    return _for_all_views(maps, settings), diagnostics


def _facts(landmarks: Landmarks) -> dict[str, Any]:
    """Return number and trace error of landmarks, with a note if there is one."""
    note = {} if landmarks.note is None else {"note": landmarks.note}
    return {"count": len(landmarks.points), "trace_error": landmarks.trace_error, **note}


@dataclass(frozen=True, eq=False)
class _CoarseView:
    """Features of a view with the coarse bandwidth, and what they were made of.

    Attributes
    ----------
    feature_map : FeatureMap
        Orthonormal features, or indicators of categories.
    landmarks : Landmarks, optional
        None for categories.
    width : (d,) float64 array, optional
        Bandwidth; None for categories and kernels of the user.
    """

    feature_map: FeatureMap
    landmarks: Landmarks | None = None
    width: FloatArray | None = None


def _coarse_view(
    values: FloatArray,
    within: FloatArray,
    settings: KernelMixtureSettings,
    sample_rows: int,
    kind: ViewKernel,
    chosen: FloatArray | None,
) -> _CoarseView:
    """Return the features of one view of the sample with the coarse bandwidth."""
    if kind == DELTA:
        return _CoarseView(_indicators(values, settings))
    width = settings.bandwidth_factor * coarse_width(
        within,
        settings.shape.all_rows,
        sample_rows,
        settings.n_components,
        quantile_range(values),
        settings.n_landmarks,
    )
    kernel = _kernel(kind, width)
    landmarks = _landmarks(values, within, kernel, settings, chosen)
    if len(within) > FEW_FEATURES:
        kernel, width = _overlapping(kind, width, landmarks.points, LEAST_COARSE)
    feature_map = _orthonormal_map(values, landmarks.points, kernel, settings.feature_dtype)
    return _CoarseView(feature_map, landmarks, None if isinstance(kernel, CustomKernel) else width)


def fine_maps(
    rows: FloatArray,
    scale: FloatArray,
    settings: KernelMixtureSettings,
    diagnostics: dict[str, Any],
) -> dict[str, FeatureMap]:
    """Return the features that the densities of embedded views are made of.

    Indicators of categories; user-defined kernels; for other views of several features orthonormal
    features as narrow as their landmarks allow.

    Parameters
    ----------
    rows, scale, settings
        As for `coarse_maps`.
    diagnostics : dict
        Receives ``fine_bandwidths``.
    """
    maps: dict[str, FeatureMap] = {}
    widths: dict[str, list[float]] = {}
    for name, values, within in _views_of_sample(rows, scale, settings):
        if name not in settings.embedded:
            continue
        kind = settings.kernels[name]
        if kind == DELTA:
            maps[name] = _indicators(values, settings)
            continue
        width = rule_width(within, settings.shape.all_rows, settings.n_components)
        landmarks = _landmarks(values, within, _kernel(kind, width), settings).points
        width = width * max(1.0, NARROWEST * _spacing(landmarks / width))
        kernel = _kernel(kind, width)
        if not isinstance(kernel, CustomKernel):
            widths[name] = width.tolist()
        maps[name] = _orthonormal_map(values, landmarks, kernel, settings.feature_dtype)
    if maps:
        diagnostics["fine_bandwidths"] = widths
        return _for_all_views(maps, settings)
    return maps


def exact_features(feature_map: FeatureMap, values: FloatArray) -> FloatArray:
    """Return the features of the sample in float64."""
    if isinstance(feature_map, Nystroem):
        return feature_map.kernel.evaluate(values, feature_map.landmarks) @ feature_map.projection
    return features_of(feature_map, values)


def _indicators(values: FloatArray, settings: KernelMixtureSettings) -> OneHot:
    """Return the indicators of the categories in the sample."""
    return OneHot(find_categories(values), dtype=settings.feature_dtype)


def _views_of_sample(
    rows: FloatArray, scale: FloatArray, settings: KernelMixtureSettings
) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return name, values and scale of every view; views that are alike are put into one."""
    pieces = [settings.slices[name] for name, _ in settings.shape.views]
    if not settings.shared:
        return [
            (name, rows[:, piece], scale[piece])
            for (name, _), piece in zip(settings.shape.views, pieces, strict=True)
        ]
    pooled = np.concatenate([rows[:, piece] for piece in pieces])
    within = np.mean([scale[piece] for piece in pieces], axis=0)
    return [(settings.shape.views[0][0], pooled, within)]


def _for_all_views(
    maps: dict[str, FeatureMap], settings: KernelMixtureSettings
) -> dict[str, FeatureMap]:
    """Give every view the map of the first one where they share their components."""
    if not settings.shared:
        return maps
    (common,) = maps.values()
    return {name: common for name, _ in settings.shape.views}


def _spacing(points: FloatArray) -> float:
    """Return the median distance of a point to its nearest neighbour."""
    if len(points) < 2:
        return 1.0
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    return float(np.median(distances.min(axis=1)))


def _kernel(kind: ViewKernel, width: FloatArray) -> Kernel:
    """Return the kernel of a view, without a unit. A user-defined kernel is returned as it is."""
    kernel = default_kernel(kind, width)
    # what a kernel of one's own is to be compared with shows at its landmarks
    return kernel if isinstance(kernel, CustomKernel) else kernel.relative_to(np.empty((0, 1)))


def _overlapping(
    kind: ViewKernel, width: FloatArray, landmarks: FloatArray, least: float
) -> tuple[Kernel, FloatArray]:
    """Return a kernel, and its bandwidth, that is wide enough for its landmarks to overlap.

    Distances grow with the square root of the number of features, and a rule of thumb does not:
    between any two landmarks of a view of 50 features its kernel is zero.

    Parameters
    ----------
    kind : str or CustomKernel
        Kernel of the view.
    width : (d,) float64 array
        Bandwidth by the rule of thumb.
    landmarks : (p, d) float64 array
        Landmarks of the view, in the units of the data.
    least : float
        Least bandwidth in distances between neighbouring landmarks.
    """
    width = width * max(1.0, least * _spacing(landmarks / width))
    return default_kernel(kind, width), width


def _landmarks(
    values: FloatArray,
    within: FloatArray,
    kernel: Kernel,
    settings: KernelMixtureSettings,
    chosen: FloatArray | None = None,
) -> Landmarks:
    """Choose the landmarks of one view, or take those that were chosen for another bandwidth."""
    if chosen is not None and settings.landmarks != "cholesky" and not settings.landmark_tolerance:
        return Landmarks(chosen)
    # one seed for all views: neither the name nor the position of a view has an effect
    seed = purpose_seed(settings.random_state, "landmarks")
    return choose_landmarks(
        settings.landmarks,
        values,
        settings.n_landmarks,
        within,
        kernel,
        seed,
        settings.landmark_tolerance,
    )


def _orthonormal_map(
    values: FloatArray, landmarks: FloatArray, kernel: Kernel, dtype: str
) -> Nystroem:
    """Return the kernel features whose products reproduce the kernel between landmarks."""
    kernel = kernel.relative_to(landmarks)
    root = nystroem_root(kernel.gram(landmarks), eigenvalue_cut(dtype))
    return Nystroem(landmarks, kernel, values.mean(axis=0), root, dtype)
