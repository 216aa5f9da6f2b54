"""M step of Gaussian components that have a covariance each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.covariance_shrinkage import CovarianceShrinkage


@dataclass(frozen=True, eq=False)
class OwnCovarianceStep:
    """Parameters after an EM iteration, in the frame of the sums.

    Attributes
    ----------
    weights : (k,) float64 array
        Mixing weights; they sum to one.
    means : (k, d) float64 array
        Means.
    covariances : (k, d, d), (k, d) or (k,) float64 array
        Covariances with the regularisation.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray


def m_step(
    counts: FloatArray,
    sums: FloatArray,
    second_moments: FloatArray,
    regularisation: FloatArray,
    shrinkage: CovarianceShrinkage | None = None,
) -> OwnCovarianceStep:
    """Return the parameters of largest likelihood, given posterior probabilities.

    All arrays are in the coordinates of the `Frame` of the densities.

    Parameters
    ----------
    counts : (k,) float64 array
        Sums of posterior probabilities.
    sums : (k, d) float64 array
        Sums of rows.
    second_moments : (k, d, d), (k, d) or (k,) float64 array
        Sums of products, squares, or squared lengths.
    regularisation : (d, d), (d,) or () float64 array
        Added to every covariance.
    shrinkage : CovarianceShrinkage, optional
        Shrinkage of full covariances with their regularisation.
    """
    # a component that lost its rows keeps a weight that logarithms can take
    mass = np.maximum(counts, 10 * np.finfo(np.float64).tiny)
    divisor = mass + 10 * np.finfo(np.float64).eps
    means = sums / divisor[:, None]
    if second_moments.ndim == 3:
        outer = np.einsum("hi,hj->hij", means, means)
        covariances = second_moments / divisor[:, None, None] - outer
        if regularisation.any() and not _positive_definite(covariances + regularisation):
            covariances = _without_negative_variances(covariances)
    elif second_moments.ndim == 2:
        covariances = np.maximum(second_moments / divisor[:, None] - means**2, 0.0)
    else:
        spread = second_moments / divisor - np.square(means).sum(axis=1)
        covariances = np.maximum(spread, 0.0) / means.shape[1]
    weights, covariances = mass / mass.sum(), covariances + regularisation
    if shrinkage is not None:
        covariances = shrinkage.towards_centre(weights, covariances)
    return OwnCovarianceStep(weights, means, covariances)


def _positive_definite(matrices: FloatArray) -> bool:
    """Return True if all matrices are positive definite."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return False
    return True


def _without_negative_variances(covariances: FloatArray) -> FloatArray:
    """Return covariances whose variance is zero along axes where rounding made it negative.

    Sums over float32 rows are exact to about 1e-7 of the squares of the rows. A few rows far from
    the centre have a larger error than the least regularisation.
    """
    variances, axes = np.linalg.eigh(covariances)
    scaled = axes * np.maximum(variances, 0.0)[:, None]
    return np.asarray(scaled @ axes.transpose(0, 2, 1))
