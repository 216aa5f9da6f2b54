"""A Gaussian kernel around every row of a sample, in the coordinates of its trains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from bigtensor.array_types import FloatArray
from bigtensor.models.tensor_train_density.sample.gaussian_fit import (
    LEAST_VARIANCE,
    GaussianCandidate,
    filled_from,
    log_tables,
    outcomes_of,
)
from bigtensor.models.tensor_train_density.sample.pilot import tie_width
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.statistics.row_copies import distinct_rows
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart

MOST_KERNELS = 1000
"""Rows that have a kernel."""

_WIDTHS = tuple(float(width) for width in np.geomspace(0.05, 0.8, 9))
"""Widths that are tried, in standard deviations of all rows, ascending."""


@dataclass(frozen=True)
class KernelCandidate:
    """Settings of kernels around rows: each has the covariance of all rows times a squared width.

    Attributes
    ----------
    shrinkage : float
        Share of the variances alone in the covariance.
    filling_components : int
        Number of Gaussian components that missing entries are drawn from.
    """

    shrinkage: float
    filling_components: int

    def fitted(self, problem: SampleProblem, random_state: int) -> GaussianPart:
        """Return the kernels of some rows, whose width is the best for rows that are left out.

        Copies of a row are left out with it.
        """
        measured = problem.coordinates.measured
        kept = np.flatnonzero(problem.weight > 0)[:MOST_KERNELS]
        weight, located = problem.weight[kept], problem.located.take(kept)
        values = located.values[:, measured]
        if np.isnan(values).any():
            filling = GaussianCandidate(self.filling_components, self.shrinkage)
            part = filling.fitted(problem, random_state)
            values = filled_from(part, located, weight, random_state)
        outcomes = outcomes_of(problem.modes, located)
        tables = log_tables(problem, outcomes, np.diag(weight))
        covariance = _shrunk_covariance(values, weight, self.shrinkage)
        log_weights = np.log(weight / weight.sum())
        deviations = np.sqrt(np.diag(covariance))
        ties = [tie_width(column) for column in located.values[:, measured].T]
        whitened = np.linalg.solve(np.linalg.cholesky(covariance), values.T).T
        squares = cdist(whitened, whitened, "sqeuclidean")
        log_others = log_weights + sum(tables[point] for point in located.point.T)
        distinct = distinct_rows(np.column_stack([located.values[:, measured], *outcomes]))
        log_others[distinct[:, None] == distinct] = -np.inf
        # narrower kernels would make the density at tied values as large as one likes
        least = float(np.max(np.array(ties) / 2 / deviations, initial=0.0))
        width = _best_width(squares, log_others, weight, values.shape[1], least)
        return GaussianPart(measured, log_weights, values, width**2 * covariance[None], tables)


def _shrunk_covariance(values: FloatArray, weight: FloatArray, shrinkage: float) -> FloatArray:
    """Return the covariance of all rows, shrunk to its diagonal."""
    centred = values - weight @ values / weight.sum()
    covariance = (centred.T * weight) @ centred / weight.sum()
    variances = np.diag(covariance).copy()
    covariance *= 1 - shrinkage
    np.fill_diagonal(covariance, variances + LEAST_VARIANCE)
    return np.asarray(covariance)


def _best_width(
    squares: FloatArray, log_others: FloatArray, weight: FloatArray, m: int, least: float
) -> float:
    """Return the width with the largest likelihood of rows, each under the kernels of the others.

    Parameters
    ----------
    squares : (n, n) float64 array
        Squared distances of rows at a width of one.
    log_others : (n, n) float64 array
        Logarithm of the weight of every kernel at every row, and of its probability of atoms.
    weight : (n,) float64 array
        Weights of the rows.
    m : int
        Number of coordinates.
    least : float
        Smallest width that is tried, unless it is beyond all.
    """
    best, best_score = _WIDTHS[-1], -np.inf
    if not np.isfinite(log_others).any():
        # all rows are copies of one
        return best
    # most data have their maximum at wide kernels
    for width in reversed(_WIDTHS):
        if width < least and np.isfinite(best_score):
            break
        logs = log_others - 0.5 * squares / width**2
        largest = logs.max(axis=1)
        sums = np.exp(logs - largest[:, None]).sum(axis=1)
        score = float(weight @ (largest + np.log(sums)) / weight.sum() - m * np.log(width))
        if not score > best_score:
            break
        best, best_score = width, score
    return best
