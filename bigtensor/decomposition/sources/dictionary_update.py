"""Next dictionary from sparse codes, by least squares: the method of optimal directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bigtensor.array_types import FloatArray

_RIDGE = 1e-6
"""Penalty on the columns, relative to the mean variance of a code."""


class Dictionary(NamedTuple):
    """Columns of which rows are made, and the row without any.

    Attributes
    ----------
    columns : (d, k) float64 array
        Unit columns.
    origin : (d,) float64 array
        Row without any source.
    """

    columns: FloatArray
    origin: FloatArray


def updated_dictionary(
    before: FloatArray,
    rows_by_codes: FloatArray,
    products: FloatArray,
    row_mean: FloatArray,
    code_mean: FloatArray,
) -> Dictionary:
    """Return the columns and the origin that leave the least squares of the rows.

    A column whose code does not vary stays.

    Parameters
    ----------
    before : (d, k) array
        Unit columns that the codes are of.
    rows_by_codes : (d, k) array
        Mean product of rows and codes.
    products : (k, k) array
        Mean products of codes.
    row_mean : (d,) array
        Mean row.
    code_mean : (k,) array
        Mean code.

    References
    ----------
    Engan, Aase and Husoy, *Method of optimal directions for frame design*, ICASSP 1999, eq. 2, with
    an intercept.
    """
    covariance = products - np.outer(code_mean, code_mean)
    across = rows_by_codes - np.outer(row_mean, code_mean)
    ridge = _RIDGE * float(np.trace(covariance)) / len(covariance)
    columns = before.copy()
    used = np.diag(covariance) > 0
    if used.any():
        inner = covariance[np.ix_(used, used)] + ridge * np.eye(int(used.sum()))
        columns[:, used] = np.linalg.solve(inner, across[:, used].T).T
    origin = row_mean - columns[:, used] @ code_mean[used]
    lengths = np.linalg.norm(columns, axis=0)
    is_updated = used & (lengths > 0)
    return Dictionary(
        np.where(is_updated, columns / np.where(is_updated, lengths, 1.0), before), origin
    )
