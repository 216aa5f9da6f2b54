"""Polish of a decomposition of a third-order tensor by alternating least squares."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.solution import Diagnostics
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import fused_row_loop

_LEAST_PIVOT = 1e-10
"""Least pivot of the normal equations, over the largest, with which they are solved directly, and
not by singular values."""

_MODES = (0, 1, 2)
"""Modes of the tensor, in the order in which their factors are solved for."""


class PolishedDecomposition(NamedTuple):
    r"""A tensor as :math:`\sum_h w_h\, a_h \otimes b_h \otimes c_h`.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Nonnegative.
    factors : tuple of three ndarrays of shape (r_i, k)
        Unit columns.
    diagnostics : dict
        ``converged`` (bool), ``iterations`` (int, sweeps) and ``residual`` (relative Frobenius
        norm of what is not explained).
    """

    weights: FloatArray
    factors: tuple[FloatArray, FloatArray, FloatArray]
    diagnostics: Diagnostics


def alternating_least_squares(
    tensor: FloatArray,
    weights: FloatArray,
    factors: Sequence[FloatArray],
    *,
    max_sweeps: int = 500,
    tolerance: float = 1e-9,
) -> PolishedDecomposition:
    """Solve for one factor at a time, the two others fixed, until the residual settles.

    Every step is a linear least squares problem, so the residual never grows. The iteration finds
    the nearest local optimum only: initialise it from a spectral solution (Kolda and Bader 2009,
    sec. 3.4).

    Parameters
    ----------
    tensor : ndarray of shape (r_0, r_1, r_2)
        Need not be symmetric.
    weights : ndarray of shape (k,)
        Weights of the initialisation, of any sign.
    factors : sequence of three ndarrays of shape (r_i, k)
        Factors of the initialisation, columns of any length.
    max_sweeps : int
        Most visits to each factor.
    tolerance : float
        Change of the residual over one sweep, relative to the norm of the tensor, at which the
        iteration ends.

    Returns
    -------
    PolishedDecomposition
        Components in the order of the initialisation.

    Raises
    ------
    ParameterError
        If the shapes do not fit together.
    """
    _check_shapes(tensor, weights, factors)
    scale = float(np.linalg.norm(tensor)) or 1.0
    current = [np.array(factor, dtype=np.float64) for factor in factors]
    current[0] = current[0] * weights
    unfolded = [
        np.ascontiguousarray(np.moveaxis(tensor, mode, 0)).reshape(tensor.shape[mode], -1)
        for mode in _MODES
    ]
    residual = residual_norm(tensor, np.ones(len(weights)), current) / scale
    sweep, converged = 0, False
    while not converged and sweep < max_sweeps:
        for mode in _MODES:
            current[mode] = _solve_mode(unfolded[mode], current, mode)
            if mode != _MODES[-1]:
                current[mode] = _unit_columns(current[mode])[0]
        sweep += 1
        previous, residual = residual, residual_norm(tensor, np.ones(len(weights)), current) / scale
        converged = abs(previous - residual) <= tolerance
    current[2], lengths = _unit_columns(current[2])
    diagnostics: Diagnostics = {
        "converged": converged,
        "iterations": sweep,
        "residual": residual,
    }
    return PolishedDecomposition(lengths, (current[0], current[1], current[2]), diagnostics)


def residual_norm(tensor: FloatArray, weights: FloatArray, factors: Sequence[FloatArray]) -> float:
    """Frobenius norm of a third-order tensor minus a weighted sum of rank-one terms.

    Parameters
    ----------
    tensor : ndarray of shape (r_0, r_1, r_2)
        Third-order tensor.
    weights : ndarray of shape (k,)
        Weights of the terms.
    factors : sequence of three ndarrays of shape (r_i, k)
        Terms as columns.
    """
    product = _khatri_rao(factors[1], factors[2])
    model = (factors[0] * weights) @ product.T
    return float(np.linalg.norm(tensor.reshape(len(tensor), -1) - model))


def _solve_mode(unfolded: FloatArray, factors: Sequence[FloatArray], mode: int) -> FloatArray:
    """Least squares factor of one mode, through the k x k normal equations."""
    b, c = (factors[other] for other in _MODES if other != mode)
    gram = (b.T @ b) * (c.T @ c)
    target = unfolded @ _khatri_rao(b, c)
    triangle, solution, pivots = gram.copy(), target.copy(), np.zeros(len(gram))
    _solve_by_cholesky(triangle, pivots, solution)
    if pivots.min() > _LEAST_PIVOT * pivots.max():
        return solution
    # Minimum-norm solution: collinear components share their term instead of diverging.
    shared = np.linalg.lstsq(gram, target.T, rcond=None)[0]
    return np.asarray(shared.T, dtype=np.float64)


@fused_row_loop
def _solve_by_cholesky(matrix: FloatArray, pivots: FloatArray, rows: FloatArray) -> None:
    """Solve a positive definite system, whose right-hand sides are rows, in place.

    The matrix becomes the transposed Cholesky factor. Pivots that are not positive are written, and
    nothing is solved with them.
    """
    k = matrix.shape[0]
    for h in range(k):
        pivots[h] = matrix[h, h]
        if not pivots[h] > 0:
            return
        root = np.sqrt(pivots[h])
        for g in range(h, k):
            matrix[h, g] /= root
        for g in range(h + 1, k):
            for column in range(g, k):
                matrix[g, column] -= matrix[h, g] * matrix[h, column]
    for row in range(rows.shape[0]):
        for h in range(k):
            rows[row, h] /= matrix[h, h]
            for g in range(h + 1, k):
                rows[row, g] -= rows[row, h] * matrix[h, g]
        for back in range(k):
            h = k - 1 - back
            for g in range(h + 1, k):
                rows[row, h] -= matrix[h, g] * rows[row, g]
            rows[row, h] /= matrix[h, h]


def _khatri_rao(first: FloatArray, second: FloatArray) -> FloatArray:
    """Column-wise Kronecker product, rows ordered as a C-contiguous unfolding."""
    return (first[:, None, :] * second[None, :, :]).reshape(-1, first.shape[1])


def _unit_columns(factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns of length one and their lengths; a zero column stays zero."""
    lengths = np.linalg.norm(factor, axis=0)
    return factor / np.where(lengths > 0, lengths, 1.0), lengths


def _check_shapes(tensor: FloatArray, weights: FloatArray, factors: Sequence[FloatArray]) -> None:
    """Raise unless the factors fit the tensor and the weights."""
    expected = [(size, len(weights)) for size in tensor.shape]
    received = [factor.shape for factor in factors]
    if tensor.ndim != 3 or expected != received:
        raise ParameterError(
            f"a tensor of shape {tensor.shape} with {len(weights)} weights needs factors of shapes "
            f"{expected}, got {received}"
        )
