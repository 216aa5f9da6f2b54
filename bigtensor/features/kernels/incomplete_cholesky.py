"""Randomly pivoted incomplete Cholesky factorisation of a kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.kernels.kernel import Kernel

_ROUNDING = 1e-13
"""A row whose residual is this part of its diagonal entry is reproduced up to rounding."""


@dataclass(frozen=True, eq=False)
class IncompleteCholesky:
    """Rows whose columns of the kernel matrix span nearly all of it.

    Attributes
    ----------
    pivots : (p,) integer array
        Rows of the sample, distinct, in the order in which they were chosen.
    trace_errors : (p,) float64 array
        ``tr(K - K~) / tr(K)`` after every pivot, not increasing; K~ is the Nystroem approximation
        of K from the rows chosen so far.
    """

    pivots: IndexArray
    trace_errors: FloatArray


def incomplete_cholesky(
    rows: NDArray[Any],
    kernel: Kernel,
    most_pivots: int,
    random_state: int,
    tolerance: float = 0.0,
) -> IncompleteCholesky:
    """Choose rows at random by what the rows before them leave of the kernel's diagonal.

    The kernel matrix K of the sample is never formed: one column a pivot is evaluated, and the
    factor of ``most_pivots`` columns is kept. With ``r / e + r log(1 / (e f))`` pivots the expected
    trace error is at most ``1 + e`` times that of the best approximation of rank r, which is the
    part f of the trace.

    Parameters
    ----------
    rows : (n, d) array
        Sample of the view.
    kernel : Kernel
        Of width d.
    most_pivots : int
        Largest number of pivots.
    random_state : int
        Seed of the random numbers.
    tolerance : float, default 0
        Stop at the first pivot that leaves a relative trace error of at most this.

    Returns
    -------
    IncompleteCholesky
        Fewer than ``most_pivots`` pivots when the tolerance is met, or when the matrix is
        reproduced up to rounding.

    Raises
    ------
    ParameterError
        When ``most_pivots`` is less than one or the tolerance is negative.
    DataError
        When the kernel of all rows with themselves is zero, or is negative for one.

    References
    ----------
    Chen, Epperly, Tropp and Webber (2023), "Randomly pivoted Cholesky: practical approximation of
    a kernel matrix with few entry evaluations".
    """
    if most_pivots < 1 or not tolerance >= 0:
        raise ParameterError(
            "an incomplete Cholesky factorisation needs at least one pivot and a tolerance of at "
            f"least zero, got {most_pivots} and {tolerance}"
        )
    diagonal = kernel.diagonal(rows)
    trace = float(diagonal.sum())
    if not trace > 0 or diagonal.min() < 0:
        raise DataError(
            f"the kernel of {len(rows)} rows with themselves lies between "
            f"{diagonal.min(initial=0.0):g} and {diagonal.max(initial=0.0):g}; it must be positive "
            "for some and negative for none"
        )
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    most = min(most_pivots, len(rows))
    factor = np.empty((most, len(rows)))
    residual, floor = diagonal.copy(), _ROUNDING * diagonal
    pivots: list[int] = []
    errors: list[float] = []
    while len(pivots) < most and residual.any() and (not errors or errors[-1] > tolerance):
        rank = len(pivots)
        pivot = int(rng.choice(len(rows), p=residual / residual.sum()))
        column = kernel.evaluate(rows, rows[pivot : pivot + 1])[:, 0]
        column -= factor[:rank, pivot] @ factor[:rank]
        np.divide(column, np.sqrt(residual[pivot]), out=factor[rank])
        residual -= factor[rank] ** 2
        residual[pivot] = 0
        # rounding leaves a little of either sign, which must not be drawn
        residual[residual <= floor] = 0
        pivots.append(pivot)
        errors.append(float(residual.sum()) / trace)
    return IncompleteCholesky(np.array(pivots, np.intp), np.array(errors))
