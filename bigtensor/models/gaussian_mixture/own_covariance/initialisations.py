"""Initialisations of components with a covariance each: clusters, nearest means, one covariance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from sklearn.metrics import pairwise_distances_argmin

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.covariance_shrinkage import CovarianceShrinkage
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.features.clustering import MAX_ITERATIONS, kmeans
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.regularisation import Regularisation, positive
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, is_wide

_LEAST_WEIGHT = 1e-6
"""Smallest weight of a component before the first EM iteration."""

_ROUNDING = 1e-12
"""Part of a sum that may be left of it when the same numbers are subtracted."""

_RIDGE = 1e-6
"""Variance that standardised features have at least in the frame, so that it can be inverted."""


def frame_of(total: TotalMoments, covariance_type: str, n_components: int) -> Frame:
    """Return coordinates in which the rows have mean zero and variance one.

    Parameters
    ----------
    total : TotalMoments
        Mean and covariance of the rows.
    covariance_type : {"full", "diag", "spherical"}
        Full covariances stay what they are under any linear map, and others under fewer.
    n_components : int
        Number of components.
    """
    variances = positive(total.variances)
    if covariance_type == "spherical":
        return Frame(total.mean, np.full(len(variances), variances.mean() ** -0.5))
    # triangular products need no whitened rows, and with few components a matrix would take a good
    # part of a pass to apply
    if covariance_type == "diag" or is_wide(n_components, len(variances), "float32"):
        return Frame(total.mean, variances**-0.5)
    scales = np.sqrt(variances)
    correlation = total.covariance / np.outer(scales, scales) + _RIDGE * np.eye(len(scales))
    root = cholesky(correlation, lower=True)
    whitening = solve_triangular(root, np.eye(len(root)), lower=True).T
    return Frame(total.mean, whitening / scales[:, None])


def cluster_labels(
    sample: SampleRows, frame: Frame, settings: GaussianSettings
) -> dict[str, NDArray[np.integer]]:
    """Return labels of rows in clusters, by the name of the clustering.

    With diagonal covariances, the clusters around the seeds of every k-means++ are initialisations
    as well. Iterations of k-means lead to clusters of equal width, and may divide a component that
    is narrow in one feature. On 34 tables of numbers, seeds raised the mean penalised likelihood of
    half and lowered that of none.

    Clusterings that are equal but for the numbers of their clusters are one initialisation.
    """
    weight = sample.block.weight
    # clusters of whitened rows split along features that hardly vary within groups
    diagonal = frame.scaling.ndim == 1
    rows = (
        frame.of_rows(sample.complete.astype(np.float64))
        if diagonal
        else _standardised(sample.complete)
    )
    n_init = settings.n_init if settings.max_iter else min(settings.n_init, 1)
    iterations = {"clusters": MAX_ITERATIONS}
    if settings.covariance_type == "diag" and n_init > 1:
        iterations["k-means++ seeds"] = 0
    labels: dict[str, NDArray[np.integer]] = {}
    partitions: set[bytes] = set()
    for (kind, max_iter), number in product(iterations.items(), range(n_init)):
        clusters = kmeans(
            rows,
            settings.n_components,
            settings.random_state + number,
            weight=weight,
            n_starts=1,
            max_iter=max_iter,
        )
        partition = _by_first_row(clusters.labels).tobytes()
        if partition not in partitions:
            partitions.add(partition)
            labels[f"{kind} {number + 1}"] = clusters.labels
    return labels


def _by_first_row(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return labels that are numbered in the order of the first rows that have them."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def nearest_components(
    means: FloatArray,
    sample: SampleRows,
    frame: Frame,
    regularisation: Regularisation,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return components of the rows that are nearest to each mean, in standardised features."""
    values, weight = sample.complete.astype(np.float64), sample.block.weight
    spread = values.std(axis=0)
    units = np.where(spread > 0, spread, 1.0)
    labels = pairwise_distances_argmin(values / units, means / units)
    moments = LabelMoments.of_rows(frame.of_rows(values), labels, weight, settings)
    return components_of_moments(moments, frame, regularisation, settings)


def _standardised(values: NDArray[np.floating]) -> FloatArray:
    """Return rows of mean zero and variance one in every feature."""
    rows = values.astype(np.float64)
    spread = rows.std(axis=0)
    return np.asarray((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


@dataclass(frozen=True, eq=False)
class LabelMoments:
    """Sums over rows in the frame, by label.

    Attributes
    ----------
    counts : (k,) float64 array
        Sums of the weights.
    sums : (k, d) float64 array
        Weighted sums of the rows.
    second_moments : (k, d, d), (k, d) or (k,) float64 array
        Weighted sums of products of two entries, of squares, or of squared lengths.
    rows : (k, d) float64 array
        Rows that components without rows begin with.
    """

    counts: FloatArray
    sums: FloatArray
    second_moments: FloatArray
    rows: FloatArray

    @classmethod
    def of_rows(
        cls,
        rows: FloatArray,
        labels: NDArray[np.integer],
        weight: FloatArray | None,
        settings: GaussianSettings,
    ) -> LabelMoments:
        """Return the sums over labelled rows."""
        k, d = settings.n_components, rows.shape[1]
        weight = np.ones(len(rows)) if weight is None else weight[: len(rows)]
        shape = {"full": (k, d, d), "diag": (k, d), "spherical": (k,)}[settings.covariance_type]
        counts, sums, second_moments = np.zeros(k), np.zeros((k, d)), np.zeros(shape)
        for label in np.unique(labels):
            members = labels == label
            inside, mass = rows[members], weight[members]
            counts[label], sums[label] = mass.sum(), mass @ inside
            if settings.covariance_type == "full":
                second_moments[label] = (inside * mass[:, None]).T @ inside
            else:
                squares = mass @ np.square(inside)
                second_moments[label] = squares if len(shape) == 2 else squares.sum()
        return cls(counts, sums, second_moments, rows[np.arange(k) % len(rows)])

    def without(self, part: LabelMoments, rows: FloatArray) -> LabelMoments:
        """Return the sums over the rows that are not in ``part``.

        Parameters
        ----------
        part : LabelMoments
            Sums over part of the rows.
        rows : (m, d) float64 array
            The other rows.
        """
        counts = self.counts - part.counts
        # differences of sums are rounded
        empty = counts <= _ROUNDING * self.counts
        counts[empty] = 0
        sums = self.sums - part.sums
        second_moments = self.second_moments - part.second_moments
        sums[empty], second_moments[empty] = 0, 0
        return LabelMoments(counts, sums, second_moments, rows[np.arange(len(counts)) % len(rows)])


def components_of_moments(
    moments: LabelMoments, frame: Frame, regularisation: Regularisation, settings: GaussianSettings
) -> OwnCovarianceComponents:
    """Return components of labelled rows. One of few rows has the mean covariance of all.

    The regularisation is that of the EM iterations. With a smaller one, features that nearly depend
    on each other give densities that overflow.

    Parameters
    ----------
    moments : LabelMoments
        Sums over rows in the frame.
    frame : Frame
        Coordinates in which rows are computed.
    regularisation : Regularisation
        Regularisation of the covariances. The common one is their mean here.
    settings : GaussianSettings
        Resolved parameters of the fit.
    """
    counts, d = moments.counts, moments.sums.shape[1]
    ridge = frame.diagonal_covariance(regularisation.variances, moments.second_moments.ndim)
    step = m_step(counts, moments.sums, moments.second_moments, ridge)
    few = counts < d + 1
    pooled = np.tensordot(step.weights, step.covariances, axes=1)
    covariances = step.covariances.copy()
    if regularisation.shrinkage:
        shrinkage = CovarianceShrinkage(pooled, regularisation.shrinkage / len(counts))
        covariances = shrinkage.towards_centre(step.weights, covariances)
    covariances[few] = pooled
    means = step.means.copy()
    # an empty cluster starts from a row
    empty = np.flatnonzero(counts == 0)
    means[empty] = moments.rows[: empty.size]
    weights = np.maximum(counts, _LEAST_WEIGHT * counts.sum())
    return OwnCovarianceComponents(
        weights / weights.sum(),
        frame.to_data(means),
        frame.covariances_to_data(covariances),
        frame,
        settings.shape.views,
        settings.shape.dtype,
    )


def with_own_covariances(
    components: GaussianComponents, frame: Frame, settings: GaussianSettings
) -> OwnCovarianceComponents:
    """Return components that begin with one covariance for all."""
    k, d = components.means.shape
    shared = components.covariance
    whole = np.diag(shared) if shared.ndim == 1 else shared
    covariances = {
        "full": np.repeat(whole[None], k, axis=0),
        "diag": np.repeat(np.diag(whole)[None], k, axis=0),
        "spherical": np.full(k, np.trace(whole) / d),
    }[settings.covariance_type]
    return OwnCovarianceComponents(
        components.weights,
        components.means,
        covariances,
        frame,
        components.views,
        components.dtype,
        components.names,
    )
