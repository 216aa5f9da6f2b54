"""Order of columns by their content, which does not depend on their positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray

_DIGITS = 6
"""Decimals that moments are rounded to: the order of summation and float32 have no effect.

Columns that are symmetric by design, such as positions on a plate, keep a third moment of zero.
"""

_SHUFFLE = 1e2
"""Factor of moments before the comparison of their fractional parts.

The first two decimals then have no effect, and float32 changes few of the next. When the moments
themselves were compared, the most skewed of 30 views came first, and these separate the components
least.
"""


def content_order(
    values: NDArray[np.number],
    groups: Sequence[slice],
    weight: FloatArray | None = None,
) -> list[int]:
    """Return the positions of groups of columns in the order of their content.

    Random numbers and groups of views that follow this order are the same for any order of the
    columns. The order is by third moments of standardised columns, so that units do not matter, and
    by later decimals, so that neighbours have no more in common than others.

    Parameters
    ----------
    values : (n, d) array
        Rows of a sample, without missing values.
    groups : sequence of slice
        Columns of every group.
    weight : (n,) float64 array, optional
        Weights of the rows; None stands for ones.
    """
    return _ordered(_third_moments(values, weight) * _SHUFFLE % 1, groups)


def content_order_of_columns(
    values: NDArray[np.number], weight: FloatArray | None = None
) -> IndexArray:
    """Return the positions of single columns in the order of their content: ``(d,)``.

    Parameters
    ----------
    values : (n, d) array
        Rows of a sample, without missing values.
    weight : (n,) float64 array, optional
        Weights of the rows; None stands for ones.
    """
    return np.array(content_order(values, _each_column(values), weight), np.intp)


def content_order_and_signs(
    values: NDArray[np.number], weight: FloatArray
) -> tuple[list[int], FloatArray]:
    """Return the positions of columns in an order that no signs change, and a sign for each.

    The order is by third moments of standardised columns.

    Parameters
    ----------
    values : (n, d) array
        Rows of a sample. Missing entries are NaN.
    weight : (n,) float64 array
        Weights of the rows.

    Returns
    -------
    columns : list of int
        Positions of the columns.
    signs : (d,) float64 array
        1 or -1, by which a column has a positive skewness. Of a symmetric column, the third moment
        with all columns decides.
    """
    moments = _third_moments(values, weight)
    own, shared = moments.T
    signs = np.where(np.where(own == 0, shared, own) < 0, -1.0, 1.0)
    return _ordered(moments * signs[:, None], _each_column(values)), signs


def _each_column(values: NDArray[np.number]) -> list[slice]:
    """Return a group of one column for every column."""
    return [slice(column, column + 1) for column in range(values.shape[1])]


def _ordered(keys: FloatArray, groups: Sequence[slice]) -> list[int]:
    """Return the positions of groups of columns in the order of the keys of their columns."""
    return sorted(range(len(groups)), key=lambda group: sorted(map(tuple, keys[groups[group]])))


def _third_moments(values: NDArray[np.number], weight: FloatArray | None) -> FloatArray:
    """Return third moments of standardised columns, rounded: ``(d, 2)``.

    The skewness of every column, and its moment with the squares of all columns. Missing entries
    stand at the mean.
    """
    rows, n_rows = np.array(values, np.float64), len(values)
    shares = np.full(n_rows, 1 / n_rows) if weight is None else weight / weight.sum()
    # in place: a sample of many columns is the largest array of the driver
    _centre(rows, shares)
    squares = np.square(rows)
    spread = np.sqrt(shares @ squares)
    rows /= np.where(spread > 0, spread, 1.0)
    np.square(rows, out=squares)
    # columns of equal moments of their own differ in their dependence on all others
    shared = (shares * squares.sum(axis=1)) @ rows
    squares *= rows
    return np.round(np.stack([shares @ squares, shared], axis=1), _DIGITS)


def _centre(rows: FloatArray, shares: FloatArray) -> None:
    """Subtract the weighted mean of every column in place. Missing entries become zero."""
    missing = np.isnan(rows)
    if not missing.any():
        rows -= shares @ rows
        return
    rows[missing] = 0.0
    present = np.array([shares[~gap].sum() for gap in missing.T])
    rows -= shares @ rows / np.where(present > 0, present, 1.0)
    rows[missing] = 0.0
