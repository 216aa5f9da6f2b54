"""Weighted sums of rank-one tensors, and tensors that are known by their contractions alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray

Factors = tuple[FloatArray, ...]
"""(d_m, L) columns of every factor: three of a multi-view moment, one of a symmetric tensor."""

Contract = Callable[[Factors], Factors]
r"""Contraction of a tensor with columns, (d_m, L) for every factor m.

Column j of entry m is the tensor applied to the columns j of all its modes but one of factor m. For
a third-order tensor of three factors that is :math:`T(I, b_j, c_j)`, :math:`T(a_j, I, c_j)` and
:math:`T(a_j, b_j, I)`; for a symmetric one :math:`T(I, a_j, .., a_j)`.
"""


@dataclass(frozen=True, eq=False)
class Terms:
    r"""The tensor :math:`\sum_j w_j \bigotimes_m a_{mj}^{\otimes p_m}`.

    Attributes
    ----------
    weights : (k,) float64 array
        Of either sign if the order of every factor is even, positive otherwise.
    factors : tuple of (d_m, k) float64 arrays
        Unit columns.
    orders : tuple of int
        How often every factor stands in a term, p_m: (1, 1, 1), (3,) or (4,).
    """

    weights: FloatArray
    factors: Factors
    orders: tuple[int, ...]

    @classmethod
    def empty(cls, sizes: tuple[int, ...], orders: tuple[int, ...]) -> Terms:
        """Return the sum of no terms."""
        return cls(np.empty(0), tuple(np.empty((size, 0)) for size in sizes), orders)

    @classmethod
    def of_columns(cls, weights: FloatArray, factors: Factors, orders: tuple[int, ...]) -> Terms:
        """Return terms of columns of any length, which the weights take up.

        Negative weights turn a column of an odd order around.
        """
        lengths = [np.linalg.norm(factor, axis=0) for factor in factors]
        for length, order in zip(lengths, orders, strict=True):
            weights = weights * length**order
        units = [
            factor / np.where(length > 0, length, 1.0)
            for factor, length in zip(factors, lengths, strict=True)
        ]
        odd = next((mode for mode, order in enumerate(orders) if order % 2), None)
        if odd is not None:
            units[odd] = units[odd] * np.where(weights < 0, -1.0, 1.0)
            weights = np.abs(weights)
        return cls(np.asarray(weights, np.float64), tuple(units), orders)

    @property
    def n_terms(self) -> int:
        """Number of terms k."""
        return len(self.weights)

    def take(self, terms: np.ndarray) -> Terms:
        """Return some terms, by a mask or by positions."""
        return Terms(
            self.weights[terms], tuple(factor[:, terms] for factor in self.factors), self.orders
        )

    def join(self, other: Terms) -> Terms:
        """Return the terms of both."""
        factors = zip(self.factors, other.factors, strict=True)
        return Terms(
            np.concatenate([self.weights, other.weights]),
            tuple(np.hstack(pair) for pair in factors),
            self.orders,
        )

    def contract(self, columns: Factors) -> Factors:
        """Return the contraction of the sum of all terms; see `Contract`."""
        inner = [f.T @ c for f, c in zip(self.factors, columns, strict=True)]
        return tuple(
            factor @ (self.weights[:, None] * product_without(inner, self.orders, mode))
            for mode, factor in enumerate(self.factors)
        )

    def cosines(self) -> FloatArray:
        """Return the smallest absolute cosine over the factors, of every pair of terms."""
        return smallest_cosines(self.factors, self.factors)


def product_without(products: list[FloatArray], orders: tuple[int, ...], mode: int) -> FloatArray:
    """Return the entrywise product of all modes but one of a factor.

    Parameters
    ----------
    products : list of ndarrays of one shape
        One a factor.
    orders : tuple of int
        How often every factor stands in a term.
    mode : int
        The factor that is left out once.
    """
    left = [order - (other == mode) for other, order in enumerate(orders)]
    product = np.ones_like(products[0])
    for entry, power in zip(products, left, strict=True):
        if power:
            product *= entry**power
    return product


def grams(factors: Factors) -> list[FloatArray]:
    """Return the inner products of all columns, (k, k) for every factor."""
    return [factor.T @ factor for factor in factors]


def smallest_cosines(first: Factors, second: Factors) -> FloatArray:
    """Return the smallest absolute cosine over the factors of unit columns, (k, l)."""
    cosines = [np.abs(a.T @ b) for a, b in zip(first, second, strict=True)]
    return np.asarray(np.min(cosines, axis=0))


def values(columns: Factors, moments: Factors) -> FloatArray:
    """Return the tensor applied to the columns of all its modes (Anandkumar et al. 2015, eq. 15).

    Parameters
    ----------
    columns, moments : tuple of (d_m, L) arrays
        Columns, and the contraction of the tensor with them.
    """
    return np.asarray((columns[0] * moments[0]).sum(axis=0))


def unit_columns(factors: Factors) -> Factors:
    """Return columns of length one; zero columns stay zero."""
    lengths = (np.linalg.norm(factor, axis=0) for factor in factors)
    return tuple(f / np.where(n > 0, n, 1.0) for f, n in zip(factors, lengths, strict=True))
