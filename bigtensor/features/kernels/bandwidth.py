"""Bandwidths of kernels, from a sample without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import DataError
from bigtensor.features.clustering import kmeans

_MANY = 50
"""Clusters from which on k-means starts once."""

_FEWEST_ROWS = 4
"""Smaller clusters say nothing about a scale."""

_IQR_OF_NORMAL = 1.34
"""Interquartile range of a normal distribution over its standard deviation."""


@dataclass(frozen=True, eq=False)
class SampleClusters:
    """Clusters of a sample, and the scale inside components that they imply.

    Attributes
    ----------
    labels : (n0,) integer array
        The cluster of every row.
    scale : (features,) float64 array
        Positive, in the units of the data.
    """

    labels: IndexArray
    scale: FloatArray


def cluster_sample(
    sample: NDArray[Any],
    n_components: int,
    random_state: int,
    names: Sequence[str],
    weight: FloatArray | None = None,
    *,
    standardise: bool = True,
) -> SampleClusters:
    """Cluster a sample to guess the scale of every feature inside the components.

    The sample is clustered by k-means on all features together. With ``n_h`` of
    ``n0`` rows in cluster h, ``sigma_j = sum_h (n_h / n0) min(sd_hj, IQR_hj / 1.34)``: clusters
    of 3 rows or fewer are left out, and where more than half of a cluster has one value (no
    interquartile range) its standard deviation stands alone. A feature with a few values that the
    clusters separate has no spread inside them; its standard deviation over all rows is returned.

    Parameters
    ----------
    sample : (n0, features) array
        Rows of all features.
    n_components : int
        Number of clusters.
    random_state : int
        Seed of k-means.
    names : sequence of str
        Names of the features, for messages.
    weight : (n0,) float64 array, optional
        Sample weights, for the clustering.
    standardise : bool, default True
        If True, features are compared in units of their standard deviation, otherwise as they are.

    Raises
    ------
    DataError
        When a feature has one value only, or there are fewer rows than components.

    References
    ----------
    The scale of Silverman (1986), sec. 3.4.2, inside clusters.
    """
    rows = np.asarray(sample, np.float64)
    _check_sample(rows, n_components, names)
    spread = rows.std(axis=0)
    compared = (rows - rows.mean(axis=0)) / (spread if standardise else 1.0)
    # the best of several initialisations differs little where clusters are many
    starts = 4 if n_components < _MANY else 1
    labels = kmeans(compared, n_components, random_state, weight=weight, n_starts=starts).labels
    total = np.zeros(rows.shape[1])
    for h in range(n_components):
        cluster = rows[labels == h]
        if len(cluster) >= _FEWEST_ROWS:
            total += len(cluster) / len(rows) * robust_spread(cluster)
    return SampleClusters(labels, np.where(total > 0, total, spread))


def _check_sample(rows: FloatArray, n_components: int, names: Sequence[str]) -> None:
    """Refuse a sample that is too small, and features that say nothing."""
    if len(rows) < n_components or not len(rows):
        raise DataError(
            f"a sample of {len(rows)} rows cannot show {n_components} components; "
            "use more rows or fewer components"
        )
    constant = np.flatnonzero(np.ptp(rows, axis=0) == 0)
    if constant.size:
        listed = ", ".join(repr(names[int(j)]) for j in constant)
        raise DataError(
            f"{'features' if constant.size > 1 else 'feature'} {listed} "
            f"{'have' if constant.size > 1 else 'has'} one value in all {len(rows)} rows of the "
            "sample, so that no bandwidth fits; leave it out"
        )


def robust_spread(rows: NDArray[Any]) -> FloatArray:
    """Return ``min(sd, IQR / 1.34)`` of every column, the sd where the IQR is zero.

    Parameters
    ----------
    rows : (n, features) array
        Sample of rows.

    Returns
    -------
    (features,) float64 array
        Spread of every feature, in the units of the data.
    """
    deviation = rows.std(axis=0)
    lower, upper = np.quantile(rows, [0.25, 0.75], axis=0)
    quartiles = (upper - lower) / _IQR_OF_NORMAL
    return np.asarray(np.where(quartiles > 0, np.minimum(deviation, quartiles), deviation))


def quantile_range(sample: NDArray[Any]) -> FloatArray:
    """Return the distance between the 0.5 % and the 99.5 % quantiles of every feature.

    Parameters
    ----------
    sample : (n0, features) array
        Sample of rows.

    Returns
    -------
    (features,) float64 array
        Distance of the quantiles, in the units of the data.
    """
    lower, upper = np.quantile(np.asarray(sample, np.float64), [0.005, 0.995], axis=0)
    return np.asarray(upper - lower)


def rule_width(scale: FloatArray, rows: float, n_components: int) -> FloatArray:
    """Return the rule of thumb ``1.06 sigma (N / k)^(-1 / (4 + d))`` of one view.

    With N the number of all rows it is the fine bandwidth, that of densities.

    Parameters
    ----------
    scale : (d,) float64 array
        The scale of the features of the view inside components: `cluster_sample`.
    rows : float
        N, the number of rows that are averaged (or their total weight).
    n_components : int
        k.

    Returns
    -------
    (d,) float64 array
        Bandwidth of every feature of the view, in the units of the data.

    References
    ----------
    Silverman (1986), eq. 3.28, with the rows of one of k components; Scott (1992), eq. 6.42.
    """
    # with less than one row a component the rule would widen without bound
    per_component = max(rows / n_components, 1.0)
    return np.asarray(1.06 * scale * per_component ** (-1 / (4 + len(scale))))


def coarse_width(
    scale: FloatArray,
    rows: float,
    sample_rows: float,
    n_components: int,
    span: FloatArray,
    n_landmarks: int,
) -> FloatArray:
    """Return the bandwidth of features for moments: wide, because a subspace needs few digits.

    The larger of twice the rule at all rows and the rule at the rows of the sample. A view of one
    feature is never narrower than its range over the number of landmarks, so that the kernels
    at the landmarks overlap.

    Parameters
    ----------
    scale : (d,) float64 array
        `cluster_sample` of the features of the view.
    rows, sample_rows : float
        The number of rows of the data and of the sample.
    n_components : int
        Number of components k.
    span : (d,) float64 array
        `quantile_range` of the features of the view.
    n_landmarks : int
        Number of landmarks of the view.

    Returns
    -------
    (d,) float64 array
        Bandwidth of every feature of the view, in the units of the data.
    """
    width = np.maximum(
        2 * rule_width(scale, rows, n_components), rule_width(scale, sample_rows, n_components)
    )
    if len(scale) > 1:
        return width
    return np.maximum(width, span / n_landmarks)


def component_width(spread: FloatArray, rows: FloatArray, bin_width: float) -> FloatArray:
    """Return the bandwidth of the density of each component of a view of one feature.

    ``b_h = max(0.9 spread_h N_h^(-1/5), 0.75 bin width)``: never so narrow that the bins of the
    histogram behind it show.

    Parameters
    ----------
    spread : (k,) float64 array
        ``min(sd, IQR / 1.34)`` of every component.
    rows : (k,) float64 array
        Rows of every component: sums of posteriors.
    bin_width : float
        Width of the bins of the histogram, in the units of the data.

    Returns
    -------
    (k,) float64 array
        Bandwidth of every component, in the units of the data.

    References
    ----------
    Silverman (1986), eq. 3.31.
    """
    return np.maximum(0.9 * spread * np.maximum(rows, 1.0) ** -0.2, 0.75 * bin_width)
