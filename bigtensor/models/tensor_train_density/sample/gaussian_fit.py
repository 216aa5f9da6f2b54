"""Gaussian components of the rows of a sample, in the coordinates of its trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bigtensor.array_types import FloatArray
from bigtensor.features.clustering import kmeans
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.features.modes import Modes, Nodes
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

_ITERATIONS = 30
"""Steps of expectation maximisation."""

_LEAST_GAIN = 1e-3
"""Gain of the mean log-likelihood by a step, in nats, below which it is the last."""

LEAST_VARIANCE = 1e-3
"""Of a coordinate given the others, in its units."""

_PRIOR_ROWS = 1.0
"""Rows that the distribution of all rows adds to the probabilities of a component."""

_STAY = 0.9
"""Share of a row that its cluster has at first."""

_FILLING_ROWS = 1000
"""Rows whose correlation fills missing entries."""

_FILLINGS = 5


@dataclass(frozen=True)
class GaussianCandidate:
    """Settings of Gaussian components.

    Attributes
    ----------
    n_components : int
        Number of components.
    shrinkage : float
        Share of the variances alone in every covariance.
    """

    n_components: int
    shrinkage: float

    def fitted(self, problem: SampleProblem, random_state: int) -> GaussianPart:
        """Return Gaussian components by expectation maximisation.

        Entries that are missing or on atoms are first drawn from the Gaussian distribution of all
        rows given the other entries of their row. Covariances of components are shrunk towards
        their mean.

        Parameters
        ----------
        problem : SampleProblem
            Rows at their points.
        random_state : int
            Seed of the initialisation.
        """
        measured = problem.coordinates.measured
        values = filled_coordinates(
            problem.located.values[:, measured], problem.weight, random_state
        )
        outcomes = outcomes_of(problem.modes, problem.located)
        k = min(self.n_components, int(np.count_nonzero(problem.weight > 0)))
        responsibilities = np.ones((len(values), 1))
        if k > 1:
            labels = kmeans(values, k, random_state, weight=problem.weight).labels
            responsibilities = _STAY * np.eye(k)[labels] + (1 - _STAY) / k
        before = -np.inf
        for _ in range(_ITERATIONS):
            part = _maximised(problem, values, outcomes, responsibilities, self.shrinkage)
            joint = _log_joint(part, values, problem.located)
            likelihood = logsumexp(joint, axis=1)
            responsibilities = np.exp(joint - likelihood[:, None])
            mean = float(problem.weight @ likelihood / problem.weight.sum())
            if mean - before < _LEAST_GAIN:
                break
            before = mean
        return part


def _maximised(
    problem: SampleProblem,
    values: FloatArray,
    outcomes: Sequence[NDArray[np.intp]],
    responsibilities: FloatArray,
    shrinkage: float,
) -> GaussianPart:
    """Return the components that responsibilities give."""
    weighted = responsibilities * problem.weight[:, None]
    counts = weighted.sum(axis=0) + np.finfo(np.float64).tiny
    m, k = values.shape[1], len(counts)
    means = weighted.T @ values / counts[:, None]
    covariances = np.empty((k, m, m))
    for component in range(k):
        centred = values - means[component]
        covariances[component] = (centred.T * weighted[:, component]) @ centred
    pooled = covariances.sum(axis=0) / counts.sum()
    covariances = (covariances + m * pooled) / (counts + m)[:, None, None]
    diagonal = np.einsum("kii->ki", covariances).copy()
    covariances *= 1 - shrinkage
    covariances[:, np.arange(m), np.arange(m)] = diagonal + LEAST_VARIANCE
    tables = log_tables(problem, outcomes, weighted)
    return GaussianPart(
        problem.coordinates.measured, np.log(counts / counts.sum()), means, covariances, tables
    )


def outcomes_of(modes: Modes, located: LocatedRows) -> list[NDArray[np.intp]]:
    """Return the atom or category of every row, by variable: zero is none, -1 is missing."""
    outcomes = []
    for j, mode in enumerate(modes.modes):
        point = (located.point[:, j] - modes.first[j]).astype(np.intp)
        nodes = mode.count if isinstance(mode, Nodes) else 1
        own = point if not isinstance(mode, Nodes) else np.maximum(point - nodes + 1, 0)
        outcomes.append(np.where(point == mode.size, -1, own))
    return outcomes


def log_tables(
    problem: SampleProblem, outcomes: Sequence[NDArray[np.intp]], weighted: FloatArray
) -> FloatArray:
    """Return logarithms of the probabilities of atoms and categories at all points.

    Parameters
    ----------
    problem : SampleProblem
        Modes of the variables.
    outcomes : sequence of (n,) int arrays
        Atom or category of every row, as `outcomes_of` returns them.
    weighted : (n, k) float64 array
        Weight of every row in every component.
    """
    k = weighted.shape[1]
    tables = np.zeros((int(problem.first[-1]) + 1, k))
    for j, mode in enumerate(problem.modes.modes):
        nodes = mode.count if isinstance(mode, Nodes) else 0
        size = mode.size - max(nodes - 1, 0)
        if size == 1:
            continue
        present = outcomes[j] >= 0
        counts = np.zeros((size, k))
        np.add.at(counts, outcomes[j][present], weighted[present])
        background = counts.sum(axis=1, keepdims=True) + 0.5 / size
        counts += _PRIOR_ROWS * background / background.sum()
        logs = np.log(counts / counts.sum(axis=0))
        begin = problem.first[j]
        tables[begin : begin + nodes] = logs[0]
        tables[begin + max(nodes - 1, 0) : begin + mode.size] = logs
    return tables


def _log_joint(part: GaussianPart, values: FloatArray, located: LocatedRows) -> FloatArray:
    """Return the logarithms of weights times densities of rows without missing coordinates."""
    joint = np.tile(part.log_weights, (len(values), 1))
    for point in located.point.T:
        joint += part.log_tables[point]
    roots = np.linalg.inv(np.linalg.cholesky(part.covariances))
    for k, root in enumerate(roots):
        squares = np.square((values - part.means[k]) @ root.T).sum(axis=1)
        joint[:, k] += np.log(np.diag(root)).sum() - 0.5 * squares
    return joint


def filled_coordinates(values: FloatArray, weight: FloatArray, random_state: int) -> FloatArray:
    """Return rows whose missing entries are drawn given the other ones.

    Parameters
    ----------
    values : (n, m) float64 array
        Coordinates, NaN where they are missing.
    weight : (n,) float64 array
        Weights of the rows.
    random_state : int
        Seed of the draws.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    rng = np.random.default_rng(random_state)
    means = np.array(
        [
            np.nanmean(column) if not gap.all() else 0.0
            for column, gap in zip(values.T, missing.T, strict=True)
        ]
    )
    filled = np.where(missing, means, values)
    # draws of several missing entries follow the content of their columns, not the positions
    columns = content_order_of_columns(filled, weight)
    filled, missing = filled[:, columns], missing[:, columns]
    for last in range(_FILLINGS):
        rows = slice(None) if last == _FILLINGS - 1 else slice(_FILLING_ROWS)
        covariance = np.cov(filled[:_FILLING_ROWS].T, aweights=weight[:_FILLING_ROWS])
        covariance = np.atleast_2d(covariance) + 1e-2 * np.eye(values.shape[1])
        mean = filled[:_FILLING_ROWS].mean(axis=0)
        _fill(filled[rows], missing[rows], mean, covariance, rng)
    return filled[:, np.argsort(columns)]


def _fill(
    filled: FloatArray,
    missing: NDArray[np.bool_],
    mean: FloatArray,
    covariance: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Draw missing entries from a Gaussian distribution given the other ones, in place."""
    patterns, of_row = np.unique(missing, axis=0, return_inverse=True)
    of_row = of_row.ravel()  # NumPy 2.0 gives a column
    for number, gap in enumerate(patterns):
        if not gap.any():
            continue
        rows, present = np.flatnonzero(of_row == number), ~gap
        slopes = np.linalg.solve(
            covariance[np.ix_(present, present)], covariance[np.ix_(present, gap)]
        )
        rest = covariance[np.ix_(gap, gap)] - covariance[np.ix_(gap, present)] @ slopes
        noise = rng.standard_normal((len(rows), int(gap.sum()))) @ np.linalg.cholesky(rest).T
        centre = mean[gap] + (filled[np.ix_(rows, present)] - mean[present]) @ slopes
        filled[np.ix_(rows, gap)] = centre + noise
