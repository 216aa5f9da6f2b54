"""Initialisations of components with a covariance each: clusters, nearest means, one covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from sklearn.metrics import pairwise_distances_argmin

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.features.clustering import kmeans
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance_components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures

_ROWS_AT_ONCE = 4096
"""Rows whose features of order two are in memory at once."""

_LEAST_WEIGHT = 1e-6
"""Smallest weight of a component before the first EM iteration."""

_RIDGE = 1e-6
"""Variance that standardised features have at least in the frame, so that it can be inverted."""


def regularisation_of(variances: FloatArray, reg_covar: float) -> FloatArray:
    """Return what is added to the variances of the features, in the units of the data: ``(d,)``."""
    return reg_covar * _positive(variances)


def frame_of(total: TotalMoments, covariance_type: str) -> Frame:
    """Return coordinates in which the rows have mean zero and variance one.

    Parameters
    ----------
    total : TotalMoments
        Mean and covariance of the rows.
    covariance_type : {"full", "diag", "spherical"}
        Full covariances stay what they are under any linear map, and others under fewer.
    """
    variances = _positive(total.variances)
    if covariance_type == "spherical":
        return Frame(total.mean, np.full(len(variances), variances.mean() ** -0.5))
    if covariance_type == "diag":
        return Frame(total.mean, variances**-0.5)
    scales = np.sqrt(variances)
    correlation = total.covariance / np.outer(scales, scales) + _RIDGE * np.eye(len(scales))
    root = cholesky(correlation, lower=True)
    whitening = solve_triangular(root, np.eye(len(root)), lower=True).T
    return Frame(total.mean, whitening / scales[:, None])


def _positive(variances: FloatArray) -> FloatArray:
    """Return the variances of the features; one for a constant feature."""
    return np.where(variances > 0, variances, 1.0)


def clustered_components(
    sample: SampleRows, frame: Frame, reg_covar: float, settings: GaussianSettings, number: int
) -> OwnCovarianceComponents:
    """Return components of clusters of the rows."""
    rows, weight = frame.of_rows(sample.complete.astype(np.float64)), sample.block.weight
    # clusters of whitened rows split along features that hardly vary within groups
    standard = rows if frame.scaling.ndim == 1 else _standardised(sample.complete)
    clusters = kmeans(
        standard,
        settings.n_components,
        settings.random_state + number,
        weight=weight,
        n_starts=1,
    )
    start = components_of_labels(rows, clusters.labels, weight, frame, reg_covar, settings)
    return start if settings.initial is None else settings.initial.in_place_of(start)


def nearest_components(
    means: FloatArray,
    sample: SampleRows,
    frame: Frame,
    reg_covar: float,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return components of the rows that are nearest to each mean, in standardised features."""
    values, weight = sample.complete.astype(np.float64), sample.block.weight
    spread = values.std(axis=0)
    units = np.where(spread > 0, spread, 1.0)
    labels = pairwise_distances_argmin(values / units, means / units)
    return components_of_labels(frame.of_rows(values), labels, weight, frame, reg_covar, settings)


def _standardised(values: NDArray[np.floating]) -> FloatArray:
    """Return rows of mean zero and variance one in every feature."""
    rows = values.astype(np.float64)
    spread = rows.std(axis=0)
    return np.asarray((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def components_of_labels(
    rows: FloatArray,
    labels: NDArray[np.integer],
    weight: FloatArray | None,
    frame: Frame,
    reg_covar: float,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return components of labelled rows. One of few rows has the mean covariance of all."""
    k, d = settings.n_components, rows.shape[1]
    weight = np.ones(len(rows)) if weight is None else weight[: len(rows)]
    features = QuadraticFeatures(settings.covariance_type, d)
    totals = np.zeros((features.width, k))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, min(start + _ROWS_AT_ONCE, len(rows)))
        quadratic = np.empty((features.width, part.stop - start))
        features.entries_of(quadratic)[:] = rows[part].T
        features.fill(quadratic)
        shares = np.zeros((part.stop - start, k))
        shares[np.arange(len(shares)), labels[part]] = weight[part]
        totals += quadratic @ shares
    counts = totals[-1]
    unit = {"full": np.eye(d), "diag": np.ones(d), "spherical": np.ones(())}
    step = m_step(
        counts,
        totals[features.n_quadratic : -1].T,
        features.second_moments(totals),
        reg_covar * unit[settings.covariance_type],
    )
    few = counts < d + 1
    pooled = np.tensordot(step.weights, step.covariances, axes=1)
    covariances = step.covariances.copy()
    covariances[few] = pooled
    means = step.means.copy()
    # an empty cluster starts from a row
    empty = np.flatnonzero(counts == 0)
    means[empty] = rows[np.arange(empty.size) % len(rows)]
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
