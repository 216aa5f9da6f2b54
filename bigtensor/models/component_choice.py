"""The number of components of a kernel mixture, from its pilot sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.component_count import GroupedComponentCount, count_components
from bigtensor.features.bandwidth import cluster_sample, quantile_range, rule_width
from bigtensor.features.kernels import GaussianKernel
from bigtensor.features.landmarks import kmeans_landmarks
from bigtensor.features.nystroem import eigenvalue_cut, nystroem_root

FloatArray = NDArray[np.float64]

WIDENING = 3.0
"""Bandwidth of the features that are counted with, in multiples of the rule.

Dependence needs few digits, and wide kernels have little noise. Between 1.5 and 5 the count is the
same on the mixtures it was tried on; see `choose_component_count`.
"""

ROWS_OF_A_CLUSTER = 10
"""Fewest rows of the sample a cluster, on average, for the scale inside components."""


def choose_component_count(
    rows: NDArray[Any],
    slices: Mapping[str, slice],
    groups: Sequence[Sequence[str]],
    names: Sequence[str],
    *,
    most: int = 20,
    n_landmarks: int = 100,
    random_state: int = 0,
) -> GroupedComponentCount:
    """Count the components of a mixture of independent groups of views, knowing nothing of them.

    The scale inside components is that of `most` k-means clusters and the bandwidth the rule of
    thumb for as many components, widened: where there are fewer components the clusters are too
    narrow and the rule too wide, and the count depends little on the width.

    Parameters
    ----------
    rows : (n0, features) array
        A sample of the rows.
    slices : mapping of str to slice
        The columns of every view.
    groups : sequence of sequences of str
        The views of every group, at least two groups. Views of one group stand beside each other:
        their kernels are added, as in the spectral fit.
    names : sequence of str
        Names of the features, for messages.
    most : int, default 20
        Largest count that is looked for.
    n_landmarks : int, default 100
        Landmarks a view.
    random_state : int, default 0

    Returns
    -------
    GroupedComponentCount

    Raises
    ------
    DataError
        When a feature is constant, or there are fewer than two rows.
    ParameterError
        When there are fewer than two groups, or `most` is less than one.
    """
    sample = np.asarray(rows, np.float64)
    clusters_seed, landmarks_seed, null_seed = (
        int(seed) for seed in np.random.SeedSequence(random_state).generate_state(3)
    )
    clusters = max(1, min(most, len(sample) // ROWS_OF_A_CLUSTER))
    scale = cluster_sample(sample, clusters, clusters_seed, names).scale
    features = {
        name: _features(sample[:, piece], scale[piece], clusters, n_landmarks, landmarks_seed)
        for name, piece in slices.items()
    }
    return count_components(
        [np.hstack([features[name] for name in group]) for group in groups],
        most=most,
        random_state=null_seed,
    )


def _features(
    values: FloatArray, scale: FloatArray, n_clusters: int, n_landmarks: int, random_state: int
) -> FloatArray:
    """Return orthonormal features of one view with a wide Gaussian kernel."""
    width = WIDENING * rule_width(scale, len(values), n_clusters)
    if len(scale) == 1:
        width = np.maximum(width, quantile_range(values) / n_landmarks)
    kernel = GaussianKernel(width)
    landmarks = kmeans_landmarks(values, n_landmarks, scale, random_state).points
    root = nystroem_root(kernel.evaluate(landmarks, landmarks), eigenvalue_cut("float64"))
    return kernel.evaluate(values, landmarks) @ root
