"""Copies of rows, which are held out together, and equal rows that are none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray

FEWEST_DISTINCT = 10
"""Distinct rows below which equal rows are no copies but a few values that the rows take."""


def distinct_rows(values: NDArray[np.generic]) -> IndexArray:
    """Return the number of every row among the distinct rows, in order of first appearance.

    Parameters
    ----------
    values : (n, d) array
        Rows. NaN equals NaN.

    Returns
    -------
    (n,) integer array
        ``arange(n)`` if no row occurs twice.
    """
    contiguous = np.ascontiguousarray(values)
    if contiguous.dtype.kind == "f":
        # one zero and one NaN, whatever their signs
        contiguous = np.where(np.isnan(contiguous), contiguous.dtype.type(np.nan), contiguous + 0)
    row = np.dtype((np.void, contiguous.shape[1] * contiguous.itemsize))
    _, first, number = np.unique(contiguous.view(row)[:, 0], return_index=True, return_inverse=True)
    return np.asarray(np.unique(first[number], return_inverse=True)[1])


def original_rows(values: NDArray[np.generic]) -> IndexArray:
    """Return the number of every row among the original rows, of which others are copies.

    Copies of a row have to be held out together, and weights that are counts make copies, too.
    Otherwise a model that fits copies of held-out rows would always be better. But rows of
    categories, counts or rounded values can be equal by chance. Then many distinct rows agree in
    all columns but one. Equal rows are copies if most of those that occur more than once have no
    such neighbour. A row that occurs much more often than others is no copy, such as a row of
    zeros: more often than the mean times the square root of the number of distinct rows. Fewer than
    ten distinct rows are no originals, but values that the rows take.

    Twenty-two tables of KEEL have equal rows. By this rule they are copies in nine of them, which
    have measured columns or at least 57 columns, and equal by chance in thirteen, nearly all of
    which have categories, few whole numbers or two columns. With every row twice, they are copies
    in 30 of 43 tables, and the other 13 are of these kinds.

    Parameters
    ----------
    values : (n, d) array
        Rows. NaN equals NaN.

    Returns
    -------
    (n,) integer array
        In order of first appearance; ``arange(n)`` without copies.
    """
    number, every = distinct_rows(values), np.arange(len(values))
    occurrences = np.bincount(number)
    mean, distinct = np.mean(occurrences), len(occurrences)
    repeated = (occurrences > 1) & ((occurrences / mean) ** 2 <= distinct)
    if distinct < FEWEST_DISTINCT or not repeated.any():
        return every
    first = np.unique(number, return_index=True)[1]
    alone = ~_have_neighbours(values[first])
    if np.count_nonzero(alone & repeated) <= np.count_nonzero(repeated) / 2:
        return every
    original = np.where(repeated[number], first[number], every)
    return np.asarray(np.unique(original, return_inverse=True)[1])


def random_order(originals: IndexArray, random_state: int) -> IndexArray:
    """Return a random permutation of the numbers of the original rows: ``(original rows,)``.

    Parameters
    ----------
    originals : (n,) integer array
        From `original_rows` or `distinct_rows`.
    random_state : int
        Seed of the permutation.
    """
    count = int(originals.max(initial=-1)) + 1
    return np.asarray(np.random.default_rng(random_state).permutation(count))


def independent_rows(originals: IndexArray, weight: FloatArray) -> float:
    """Return the number of independent rows of equal weight that have means of the same variance.

    Parameters
    ----------
    originals : (n,) integer array
        From `original_rows`.
    weight : (n,) float64 array
        Weights of the rows.

    Returns
    -------
    float
        The effective sample size of Kish (1965, "Survey Sampling"); n without copies and weights.
    """
    # squares of tiny weights would underflow
    mass = np.bincount(originals, weights=weight / weight.max())
    return float(mass.sum() ** 2 / (mass**2).sum())


def _have_neighbours(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return True for each of distinct rows that agrees with another in all columns but one."""
    codes = np.empty(values.shape, np.uint64)
    for column, of_column in zip(values.T, codes.T, strict=True):
        of_column[:] = np.unique(column, return_inverse=True)[1]
    # sums of products with random odd numbers, modulo 2^64, almost surely tell rows apart
    factors = np.random.default_rng(0).integers(2**63, size=values.shape[1], dtype=np.uint64)
    codes *= 2 * factors + np.uint64(1)
    total = codes.sum(axis=1)
    near = np.zeros(len(values), bool)
    for of_column in codes.T:
        _, group, sizes = np.unique(total - of_column, return_inverse=True, return_counts=True)
        near |= sizes[group] > 1
    return near
