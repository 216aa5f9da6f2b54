"""M step of Gaussian components that have a covariance each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray


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
    counts: FloatArray, sums: FloatArray, second_moments: FloatArray, regularisation: FloatArray
) -> OwnCovarianceStep:
    """Return the parameters of largest likelihood, given posterior probabilities.

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
    """
    # a component that lost its rows keeps a weight that logarithms can take
    mass = np.maximum(counts, 10 * np.finfo(np.float64).tiny)
    divisor = mass + 10 * np.finfo(np.float64).eps
    means = sums / divisor[:, None]
    if second_moments.ndim == 3:
        outer = np.einsum("hi,hj->hij", means, means)
        covariances = second_moments / divisor[:, None, None] - outer
    elif second_moments.ndim == 2:
        covariances = np.maximum(second_moments / divisor[:, None] - means**2, 0.0)
    else:
        spread = second_moments / divisor - np.square(means).sum(axis=1)
        covariances = np.maximum(spread, 0.0) / means.shape[1]
    return OwnCovarianceStep(mass / mass.sum(), means, covariances + regularisation)
