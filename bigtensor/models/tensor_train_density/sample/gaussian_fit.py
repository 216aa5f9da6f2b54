"""Gaussian components of the rows of a sample, in the coordinates of its trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bigtensor.array_types import FloatArray
from bigtensor.features.clustering import kmeans
from bigtensor.features.modes import Modes, Nodes
from bigtensor.models.gaussian.drawn_entries import (
    ROUND_OFF_VARIANCE,
    complete_sums,
    drawn_by_component,
    drawn_rows,
    expected_sums,
    most_iterations,
)
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.statistics.gaussian.incomplete_rows import (
    CompletedSums,
    IncompleteRows,
    log_densities,
)
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

_ITERATIONS = 30
"""Steps of expectation maximisation."""

_LEAST_GAIN = 1e-3
"""Gain of the mean log-likelihood by a step, in nats, below which it is the last."""

_LEAST_GAIN_WITH_GAPS = 1e-5
"""The same with missing entries, of which every step gains little."""

LEAST_VARIANCE = 4e-4
"""Of a coordinate given the others, in its units: a standard deviation of a fiftieth."""

_PRIOR_ROWS = 1.0
"""Rows that the distribution of all rows adds to the probabilities of a component."""

_STAY = 0.9
"""Share of a row that its cluster has at first."""


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

        Entries that are missing or on atoms are summed over: they have their conditional moments in
        every component. Covariances of components are shrunk towards their mean.

        Parameters
        ----------
        problem : SampleProblem
            Rows at their points.
        random_state : int
            Seed of the initialisation.
        """
        measured = problem.coordinates.measured
        values = problem.located.values[:, measured]
        k = min(self.n_components, int(np.count_nonzero(problem.weight > 0)))
        responsibilities = np.ones((len(values), 1))
        filled = drawn_rows(values, problem.weight, random_state)
        if k > 1:
            labels = kmeans(filled, k, random_state, weight=problem.weight).labels
            responsibilities = _STAY * np.eye(k)[labels] + (1 - _STAY) / k
        sums = complete_sums(filled, responsibilities * problem.weight[:, None])
        iterate = _Iterate(responsibilities, sums)
        incomplete = IncompleteRows.from_rows(values)
        most = _ITERATIONS if incomplete is None else most_iterations(incomplete, k)
        if incomplete is None or most < _ITERATIONS:
            # from components of filled rows, few steps with missing entries do
            part, iterate = self._iterated(iterate, filled, problem, _ITERATIONS, _LEAST_GAIN)
        if incomplete is not None:
            part, _ = self._iterated(iterate, values, problem, most, _LEAST_GAIN_WITH_GAPS)
        return part

    def _iterated(
        self,
        iterate: _Iterate,
        values: FloatArray,
        problem: SampleProblem,
        most: int,
        least_gain: float,
    ) -> tuple[GaussianPart, _Iterate]:
        """Return the components after steps of expectation maximisation, and the last E step."""
        outcomes = outcomes_of(problem.modes, problem.located)
        incomplete = IncompleteRows.from_rows(values)
        before = -np.inf
        for _ in range(most):
            weighted = iterate.responsibilities * problem.weight[:, None]
            tables = log_tables(problem, outcomes, weighted)
            part = _maximised(iterate.sums, problem, tables, self.shrinkage)
            joint = _log_joint(part, values, incomplete, problem.located)
            likelihood = logsumexp(joint, axis=1)
            responsibilities = np.exp(joint - likelihood[:, None])
            weighted = responsibilities * problem.weight[:, None]
            # shrunk ones would shrink the moments of missing entries again in every step
            covariances = _covariances(iterate.sums, part.means, 0.0, ROUND_OFF_VARIANCE)
            sums = expected_sums(part.means, covariances, values, incomplete, weighted)
            iterate = _Iterate(responsibilities, sums)
            mean = float(problem.weight @ likelihood / problem.weight.sum())
            if mean - before < least_gain:
                break
            before = mean
        return part, iterate


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Result of an E step.

    Attributes
    ----------
    responsibilities : (n, k) float64 array
        Probabilities of the components of every row.
    sums : CompletedSums
        Of the rows, whose missing entries have their moments.
    """

    responsibilities: FloatArray
    sums: CompletedSums


def _maximised(
    sums: CompletedSums, problem: SampleProblem, tables: FloatArray, shrinkage: float
) -> GaussianPart:
    """Return the components that sums of rows give.

    Parameters
    ----------
    sums : CompletedSums
        Of all rows.
    problem : SampleProblem
        With the coordinates of the rows.
    tables : (points + 1, k) float64 array
        Logarithms of the probabilities of atoms and categories.
    shrinkage : float
        Share of the variances alone in the covariances.
    """
    counts = sums.counts + np.finfo(np.float64).tiny
    means = sums.sums / counts[:, None]
    covariances = _covariances(sums, means, shrinkage, LEAST_VARIANCE)
    return GaussianPart(
        problem.coordinates.measured, np.log(counts / counts.sum()), means, covariances, tables
    )


def _covariances(
    sums: CompletedSums, means: FloatArray, shrinkage: float, least_variance: float
) -> FloatArray:
    """Return covariances of components, shrunk towards their mean and their variances.

    Parameters
    ----------
    sums : CompletedSums
        Of all rows.
    means : (k, m) float64 array
        Means of the components.
    shrinkage : float
        Share of the variances alone.
    least_variance : float
        Added to the variances.
    """
    counts, m = sums.counts, means.shape[1]
    scatter = sums.second_moments - counts[:, None, None] * means[:, :, None] * means[:, None]
    pooled = scatter.sum(axis=0) / counts.sum()
    covariances = (scatter + m * pooled) / (counts + m)[:, None, None]
    diagonal = np.einsum("kii->ki", covariances).copy()
    covariances *= 1 - shrinkage
    covariances[:, np.arange(m), np.arange(m)] = diagonal + least_variance
    return np.asarray(covariances)


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


def _log_joint(
    part: GaussianPart,
    values: FloatArray,
    incomplete: IncompleteRows | None,
    located: LocatedRows,
) -> FloatArray:
    """Return the logarithms of weights times densities of the entries that rows have, (n, k)."""
    joint = np.tile(part.log_weights, (len(values), 1))
    for point in located.point.T:
        joint += part.log_tables[point]
    roots = np.linalg.inv(np.linalg.cholesky(part.covariances))
    constant = 0.5 * values.shape[1] * np.log(2 * np.pi)
    densities = np.empty_like(joint)
    for k, root in enumerate(roots):
        squares = np.square((values - part.means[k]) @ root.T).sum(axis=1)
        densities[:, k] = np.log(np.diag(root)).sum() - 0.5 * squares - constant
    if incomplete is not None:
        densities[incomplete.places] = log_densities(incomplete, part.means, part.covariances)
    return np.asarray(joint + densities)


def filled_from(
    part: GaussianPart, located: LocatedRows, weight: FloatArray, random_state: int
) -> FloatArray:
    """Return coordinates of rows whose missing entries are drawn from Gaussian components.

    Parameters
    ----------
    part : GaussianPart
        Components.
    located : LocatedRows
        Rows at their points.
    weight : (n,) float64 array
        Weights of the rows.
    random_state : int
        Seed of the draws.
    """
    values = located.values[:, part.measured]
    rng = np.random.default_rng(random_state)
    joint = _log_joint(part, values, IncompleteRows.from_rows(values), located)
    component = np.argmax(joint + rng.gumbel(size=joint.shape), axis=1)
    return drawn_by_component(values, component, part.means, part.covariances, weight, rng)
