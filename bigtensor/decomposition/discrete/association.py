"""Test of the independence of columns of codes, by Pearson's statistics of their pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

from bigtensor.array_types import FloatArray, IntArray

_MOST_CATEGORIES, _MOST_PRODUCTS = 1_000, 2e10
"""Categories of all columns, and products of the tables of pairs: 8 MB a table, and seconds."""

_LEAST_TOTAL = 4
"""Weight of the rows of a pair of columns. The variance of its statistic has a pole at 3."""

_BLOCK_ROWS = 1_024
"""Rows whose categories are laid out as indicators at a time."""


def independence_p_value(codes: IntArray | NDArray[np.int32], weight: FloatArray) -> float | None:
    """Return the probability of so much association in pairs of independent columns.

    It is the smaller one of two, each corrected for two tests: the p-value of the sum of Pearson's
    statistics over all pairs, and the one of the pair with the strongest association, corrected
    for the number of pairs (Bonferroni). Tables may be sparse: p-values are of gamma distributions
    with the exact mean and variance of a statistic under fixed margins (Dawson 1954). Statistics of
    different pairs are uncorrelated. Columns that depend on each other in threes alone have no
    associated pair.

    Parameters
    ----------
    codes : (rows, columns) integer array
        Codes of categories, negative where missing.
    weight : (rows,) float64 array
        Number of occurrences of every row.

    Returns
    -------
    float or None
        None if no two columns vary, or if there are too many categories to count their pairs.
    """
    sizes = codes.max(axis=0, initial=-1) + 1
    width = int(sizes.sum())
    if width > _MOST_CATEGORIES or len(codes) * width**2 > _MOST_PRODUCTS:
        return None
    sizes, codes = sizes[sizes > 0], codes[:, sizes > 0]
    pairs = _pearson(_tables_of_pairs(codes, weight, sizes), sizes)
    if not len(pairs.statistic):
        return None
    total = _upper_tail(*(part.sum() for part in pairs))
    strongest = len(pairs.statistic) * _upper_tail(*pairs).min()
    return float(min(1.0, 2 * min(total, strongest)))


class _Pairs(NamedTuple):
    """Pearson's statistic of pairs of columns, with its mean and variance under independence."""

    statistic: FloatArray
    mean: FloatArray
    variance: FloatArray


def _tables_of_pairs(
    codes: IntArray | NDArray[np.int32], weight: FloatArray, sizes: IntArray
) -> FloatArray:
    """Return the weights of all pairs of categories: ``(categories, categories)``."""
    first = np.cumsum(sizes) - sizes
    tables = np.zeros((sizes.sum(), sizes.sum()))
    products = np.empty_like(tables)
    indicators, weighted = np.empty((2, min(len(codes), _BLOCK_ROWS), len(tables)))
    for start in range(0, len(codes), _BLOCK_ROWS):
        block, of_row = codes[start : start + _BLOCK_ROWS], weight[start : start + _BLOCK_ROWS]
        row, column = np.nonzero(block >= 0)
        place = first[column] + block[row, column]
        indicators[:], weighted[:] = 0.0, 0.0
        indicators[row, place], weighted[row, place] = 1.0, of_row[row]
        tables += np.matmul(weighted.T, indicators, out=products)
    return tables


def _pearson(tables: FloatArray, sizes: IntArray) -> _Pairs:
    """Return the statistics of all pairs of columns that vary together.

    Parameters
    ----------
    tables : (categories, categories) float64 array
        Weights of pairs of categories, a block for every pair of columns.
    sizes : (columns,) int array
        Positive numbers of categories.
    """
    first, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    left, right = np.triu_indices(len(sizes), 1)

    def by_column(values: NDArray[np.floating]) -> FloatArray:
        return np.asarray(np.add.reduceat(values, first, axis=0), np.float64)

    # of every category and column: weight of the category where the column has an entry
    margins = by_column(tables).T
    occurring, total = by_column(1.0 * (margins > 0)), by_column(margins)[left, right]
    r, c = occurring[left, right], occurring[right, left]
    varying = (total >= _LEAST_TOTAL) & (r > 1) & (c > 1)
    left, right = left[varying], right[varying]
    total, r, c = total[varying], r[varying], c[varying]
    expected = margins[:, owner] * margins[:, owner].T
    squares = np.divide(np.square(tables), expected, out=np.zeros_like(tables), where=expected > 0)
    statistic = total * (by_column(by_column(squares).T).T[left, right] - 1)
    inverse = by_column(np.divide(1, margins, out=np.zeros_like(margins), where=margins > 0))
    shape, skew = [], []
    for size, sums in ((r, inverse[left, right]), (c, inverse[right, left])):
        skew.append((total * sums - size**2) / (total - 2))
        shape.append((size - 1) * np.maximum(total - size, 0) / (total - 1) - skew[-1])
    mean = total * (r - 1) * (c - 1) / (total - 1)
    variance = 2 * total / (total - 3) * np.multiply(*shape)
    variance += total**2 / (total - 1) * np.multiply(*skew)
    # a column of another category in every row has one value of the statistic
    random = variance > 1e-9 * mean**2
    return _Pairs(statistic[random], mean[random], variance[random])


def _upper_tail(statistic: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the probabilities of larger statistics, under gamma distributions."""
    return np.asarray(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
