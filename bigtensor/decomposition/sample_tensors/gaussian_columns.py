"""Means and weights of Gaussian components from the terms of their symmetric third moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms

_LEAST = 1e-3
"""Smallest relative size of what columns or weights are divided by, or are themselves."""


@dataclass(frozen=True, eq=False)
class CentredColumns:
    """Components about the mean of all rows.

    Attributes
    ----------
    weights : (k,) float64 array
        They sum to one.
    columns : (d, k) float64 array
        Means of the components less the mean of all rows.
    """

    weights: FloatArray
    columns: FloatArray


def spherical_noise(constant: float, variance: float) -> Contract:
    r"""Return what spherical noise adds to the third moment of rows with a constant feature.

    For rows :math:`y = (c, x - m)` and noise of variance :math:`s^2` it is
    :math:`s^2 \sum_i (m \otimes e_i \otimes e_i + e_i \otimes m \otimes e_i + e_i \otimes e_i
    \otimes m)` over the features i, with :math:`E y = m = (c, 0)` (Anandkumar, Ge and Janzamin
    2015, eq. 6).

    Parameters
    ----------
    constant : float
        The constant feature c.
    variance : float
        Variance of the noise, s^2.

    Returns
    -------
    callable
        Contraction of this part with columns.
    """

    def contraction(factors: Factors) -> Factors:
        (columns,) = factors
        head, features = columns[0], columns[1:]
        of_head = np.square(features).sum(axis=0)
        return (variance * constant * np.vstack([of_head, 2 * head * features]),)

    return contraction


def columns_with_constant(terms: Terms, constant: float) -> CentredColumns:
    """Return components from terms of rows with a constant feature.

    Parameters
    ----------
    terms : Terms
        Unit columns u of weight W stand for the column ``c u[1:] / u[0]`` of weight
        ``W (u[0] / c)^3``.
    constant : float
        The constant feature c.
    """
    (units,) = terms.factors
    head = np.where(np.abs(units[0]) < _LEAST, _LEAST, units[0])
    return _normalised(terms.weights * (head / constant) ** 3, constant * units[1:] / head)


def columns_of_spherical(terms: Terms, covariance: FloatArray) -> CentredColumns:
    r"""Return components from terms of the centred moment, under spherical noise.

    The covariance is :math:`\sum_j \omega_j a_j a_j^T + s^2 I` with unit columns a; its least
    squares fit gives :math:`\omega_j = w_j \alpha_j^2`, and the tensor :math:`w_j \alpha_j^3`, of a
    column of length alpha.

    Parameters
    ----------
    terms : Terms
        Terms of the centred third moment.
    covariance : (d, d) float64 array
        Of all rows.
    """
    (units,) = terms.factors
    k, d = terms.n_terms, len(covariance)
    matrix = np.ones((k + 1, k + 1))
    matrix[:k, :k] = np.square(units.T @ units)
    matrix[k, k] = d
    right = np.append(np.einsum("ij,ij->j", units, covariance @ units), np.trace(covariance))
    spread = np.linalg.lstsq(matrix, right, rcond=None)[0][:k]
    spread = np.maximum(spread, _LEAST * np.median(np.abs(spread)))
    lengths = terms.weights / spread
    return _normalised(spread / lengths**2, units * lengths)


def columns_of_tied(terms: Terms) -> CentredColumns:
    r"""Return components from terms of the centred moment, under noise of any covariance.

    About the mean, :math:`\sum_j w_j \alpha_j a_j = 0`: the null vector v of the unit columns is
    proportional to :math:`w \alpha`, and with the weights of the terms, :math:`w \alpha^3`, gives
    the lengths up to a factor, which follows from the sum of the weights.

    Parameters
    ----------
    terms : Terms
        At most as many as features.
    """
    (units,) = terms.factors
    null = np.linalg.svd(units)[2][-1]
    null = np.abs(null) if null.sum() >= 0 else np.abs(-null)
    null = np.maximum(null, _LEAST * null.max())
    lengths = np.sqrt(terms.weights / null)
    # weights of one scale t of the squared lengths add up to t^(-3/2) times those of scale one
    total = float((terms.weights / lengths**3).sum())
    lengths *= np.cbrt(total)
    return _normalised(terms.weights / lengths**3, units * lengths)


def _normalised(weights: FloatArray, columns: FloatArray) -> CentredColumns:
    """Return components whose weights are positive and sum to one."""
    weights = np.maximum(weights, _LEAST * np.median(np.abs(weights)))
    return CentredColumns(weights / weights.sum(), columns)
