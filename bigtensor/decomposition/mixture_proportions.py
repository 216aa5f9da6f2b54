"""Maximum-likelihood weights of mixtures of known densities, by sequential quadratic programs.

The log-likelihood of the weights, ``sum_i w_i log sum_h u_h p_h(x_i)``, is concave. Every step
maximises its quadratic expansion over nonnegative weights (mixSQP: Kim, Carbonetto, Stephens and
Anitescu 2020), so that a weight can become exactly zero, and only sums over rows are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from bigtensor.array_types import FloatArray

_RIDGE = 1e-9
"""Added to the unit diagonal of the scaled information: equal densities keep their shares."""

_LEAST_PART = 0.1
"""A step leaves at least this part of a weight that stands for a row or more.

Where a density hardly overlaps with the others, the quadratic expansion ends too early at zero.
"""


@dataclass(frozen=True, eq=False)
class ProportionSums:
    """Sums over the rows of one mixture at its present weights u, with rows weighted by w.

    Attributes
    ----------
    score : (m,) float64 array
        ``sum w s`` with ``s_h = p_h(x) / sum_l u_l p_l(x)``.
    information : (m, m) float64 array
        ``sum w s s'``: minus the second derivatives of the log-likelihood.
    log_likelihood : float
        Up to a constant.
    weight : float
        ``sum w``.
    """

    score: FloatArray
    information: FloatArray
    log_likelihood: float
    weight: float


def em_step(weights: FloatArray, sums: ProportionSums) -> FloatArray:
    """Return the weights after one EM iteration, which never lowers the likelihood."""
    mean = weights * sums.score
    return np.asarray(mean / mean.sum())


def newton_step(weights: FloatArray, sums: ProportionSums) -> tuple[FloatArray, float]:
    """Return the weights that maximise the quadratic expansion, and how far away these are.

    Parameters
    ----------
    weights : (m,) float64 array
        Nonnegative, of sum one.
    sums : ProportionSums
        At these weights.

    Returns
    -------
    weights : (m,) float64 array
        Of sum one.
    distance : float
        Length of the step in standard errors: the root of the Newton decrement.
    """
    n = sums.weight
    # less than one row's worth may vanish at once
    least = np.where(weights * n > 1.0, _LEAST_PART * weights, 0.0)
    # the constraint of the sum follows from the penalty n sum(u), as the likelihood of scaled
    # weights differs by a constant
    linear = 2.0 * sums.score - n - sums.information @ least
    scale = 1.0 / np.sqrt(np.maximum(np.diag(sums.information), 1e-12 * n))
    scaled = sums.information * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] = 1.0 + _RIDGE
    factor = cholesky(scaled + _RIDGE * np.eye(len(scaled)), lower=True)
    new_weights = (
        least + scale * nnls(factor.T, solve_triangular(factor, scale * linear, lower=True))[0]
    )
    if not new_weights.sum() > 0:
        return em_step(weights, sums), float("inf")
    new_weights /= new_weights.sum()
    step = new_weights - weights
    decrement = float(step @ sums.information @ step)
    return new_weights, float(np.sqrt(max(decrement, 0.0)))


def proportion_covariance(weights: FloatArray, information: FloatArray) -> FloatArray:
    """Return the covariance of maximum-likelihood weights from the observed information.

    Parameters
    ----------
    weights : (m,) float64 array
        Weights of zero are taken for known.
    information : (m, m) float64 array
        At these weights.

    Returns
    -------
    (m, m) float64 array
        The inverse of the information among weights of the same sum.
    """
    covariance = np.zeros_like(information)
    positive = np.flatnonzero(weights > 0)
    if len(positive) < 2:
        return covariance
    # relative changes of the weights are of one scale, whatever the weights
    u = weights[positive]
    relative = information[np.ix_(positive, positive)] * u * u[:, None]
    # an orthonormal basis of the changes that leave the sum as it is
    basis = np.linalg.svd(u[None])[2][1:].T
    inverse = basis @ np.linalg.pinv(basis.T @ relative @ basis, hermitian=True) @ basis.T
    covariance[np.ix_(positive, positive)] = inverse * u * u[:, None]
    return covariance
