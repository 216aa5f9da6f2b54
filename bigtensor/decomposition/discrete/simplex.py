"""Probability distributions nearest to vectors, and least squares over distributions."""

import numpy as np
from scipy.optimize import nnls

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError


def nearest_distributions(columns: FloatArray) -> FloatArray:
    """Project every column on the probability simplex.

    Parameters
    ----------
    columns : ndarray of shape (n, m)
        Of any sign and sum.

    Returns
    -------
    ndarray of shape (n, m)
        The distributions of the smallest Euclidean distance. Negative columns become sparse.
    """
    ordered = -np.sort(-columns, axis=0)
    places = np.arange(1, len(columns) + 1)[:, None]
    excess = (np.cumsum(ordered, axis=0) - 1.0) / places
    last = np.count_nonzero(ordered > excess, axis=0) - 1
    projected: FloatArray = np.maximum(columns - excess[last, np.arange(columns.shape[1])], 0.0)
    return projected


def simplex_least_squares(matrix: FloatArray, targets: FloatArray) -> FloatArray:
    r"""Find the distributions whose mixtures of the columns of a matrix come nearest to targets.

    Minimises :math:`|A t - b|` over :math:`t \geq 0, 1^\top t = 1` for every target b. On the
    simplex :math:`A t - b = (A - b 1^\top) t`, so that :math:`\min |(A - b 1^\top) y|^2 +
    (1^\top y - 1)^2` over :math:`y \geq 0` is reached at a multiple of the solution: the problem
    is solved exactly, by one nonnegative least squares problem a target.

    Parameters
    ----------
    matrix : ndarray of shape (n, k)
        Columns A that are mixed.
    targets : ndarray of shape (n, m)
        One target b a column.

    Returns
    -------
    ndarray of shape (k, m)
        Column j belongs to target j.

    Raises
    ------
    ParameterError
        If the matrix and the targets differ in their number of rows.
    """
    if matrix.ndim != 2 or targets.ndim != 2 or len(matrix) != len(targets):
        raise ParameterError(
            "a matrix and targets of as many rows are needed, got the shapes "
            f"{matrix.shape} and {targets.shape}"
        )
    size = matrix.shape[1]
    # distances within the span do not depend on the coordinates: k + m of them replace n
    triangle = np.linalg.qr(np.hstack([matrix, targets])).R
    matrix, targets = triangle[:, :size], triangle[:, size:]
    solutions = np.empty((size, targets.shape[1]))
    system, values = np.ones((len(matrix) + 1, size)), np.zeros(len(matrix) + 1)
    values[-1] = 1.0
    for place, target in enumerate(targets.T):
        np.subtract(matrix, target[:, None], out=system[:-1])
        solution, _ = nnls(system, values)
        solutions[:, place] = solution / solution.sum()
    return solutions
