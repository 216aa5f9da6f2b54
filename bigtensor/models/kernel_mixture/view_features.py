"""Landmarks and orthonormal kernel features of one view, from the sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.kernels import GaussianKernel
from bigtensor.features.landmarks import Landmarks, kmeans_landmarks, uniform_landmarks
from bigtensor.features.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.models.kernel_mixture.settings import Settings, purpose_seed

FloatArray = NDArray[np.float64]


def spacing(points: FloatArray) -> float:
    """Return the median distance of a point to its nearest neighbour."""
    if len(points) < 2:
        return 1.0
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return float(np.sqrt(np.median(np.maximum(distances.min(axis=1), 0.0))))


def chosen_landmarks(
    name: str, values: FloatArray, within: FloatArray, settings: Settings
) -> Landmarks:
    """Choose the landmarks of one view."""
    # the place of the view and not its name: names do not change an answer
    place = [view for view, _ in settings.views].index(name)
    seed = purpose_seed(settings.random_state, "landmarks", str(place))
    if settings.landmarks == "uniform":
        return uniform_landmarks(values, settings.n_landmarks, seed)
    return kmeans_landmarks(values, settings.n_landmarks, within, seed)


def orthonormal_map(
    values: FloatArray, landmarks: FloatArray, width: FloatArray, dtype: str
) -> Nystroem:
    """Return the kernel features whose products reproduce the kernel between landmarks."""
    kernel = GaussianKernel(width)
    gram = kernel.evaluate(landmarks, landmarks)
    root = nystroem_root(gram, eigenvalue_cut(dtype))
    return Nystroem(landmarks, kernel, values.mean(axis=0), root, dtype)
