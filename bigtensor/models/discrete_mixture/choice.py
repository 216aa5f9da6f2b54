"""Number of components and ridge, chosen by the likelihood of held-out rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bigtensor.data.rows.block import UNKNOWN_CODE, Block
from bigtensor.models.contract.script import Step, in_memory
from bigtensor.models.discrete_mixture.core import Moments, moments_of
from bigtensor.models.discrete_mixture.estimation import estimate
from bigtensor.models.discrete_mixture.expectation_maximisation import SMOOTHING, Problem
from bigtensor.models.pilot.number_search import NumberSearch
from bigtensor.statistics.base import Workspace

RIDGES = {"ex": (0.0, 0.5, 2.0), "em": (0.0, 0.5)}
"""Pseudo-counts to choose from, by method; other methods have none."""

ROUNDING = 1e-9
"""Relative error of a sum of weights."""

HELD_OUT = 0.2
"""Part of the rows that candidates are judged by."""

FEWEST_ROWS = 20.0
"""Of fewer rows none is held out."""

DIVISIONS = 3
"""Divisions of the rows that numbers of components are compared on."""

PATIENCE = 3
"""Numbers of components without a better likelihood after which the search ends."""

UNIFORM = 0.01
"""Weight of equally probable categories in what held-out rows are compared with."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Number of components and ridge, with the held-out likelihoods that led to them."""

    n_components: int
    ridge: float
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Split:
    """Rows to learn from and rows to judge by."""

    problem: Problem
    learning: Block
    judging: Block
    moments: Moments | None

    def scores(self, k: int, ridge: float) -> NDArray[np.float64]:
        """Return the log-likelihood of every row to judge by."""
        script = estimate(self.problem, k, ridge, self.moments)
        solution = in_memory(script, self.learning).solution
        mixture = solution.with_uniform_component(UNIFORM).mixture()
        joint = np.empty((self.judging.rows, mixture.n_components))
        mixture.log_joint(self.judging, joint, Workspace())
        return np.asarray(logsumexp(joint, axis=1))

    @property
    def weight(self) -> float:
        """Weight of the rows to judge by."""
        return self.judging.total_weight()

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean of a value of every row to judge by."""
        return float(np.average(values, weights=self.judging.weight))


def choose(
    rows: Block, problem: Problem, n_components: int | None, most: int, ridge: float | None
) -> Generator[Step, None, Choice]:
    """Choose the number of components and the ridge where they are not given.

    Parameters
    ----------
    rows : Block
        Rows that the driver holds.
    problem : Problem
        Mixture to be estimated.
    n_components : int, optional
        None: a number from 1 to ``most`` is chosen.
    most : int
        The number of components itself, where it is given.
    ridge : float, optional
        None: one of `RIDGES` is chosen.
    """
    ridges = RIDGES.get(problem.method, (0.0,)) if ridge is None else (ridge,)
    if problem.weight < FEWEST_ROWS:
        return Choice(n_components or 1, SMOOTHING if ridge is None else ridge)
    if n_components is not None and len(ridges) == 1:
        return Choice(n_components, ridges[0])
    diagnostics: dict[str, Any] = {}
    count = DIVISIONS if n_components is None else 1
    splits: list[_Split] = []
    for number in range(count):
        yield Step("summing moments without held-out rows", number + 1, count)
        splits.append(_split(rows, problem, number, most))
    if n_components is None:
        first = SMOOTHING if ridge is None else ridge
        n_components, scores = yield from _fewest_as_good(splits, most, first)
        diagnostics["component_choice"] = {"held_out_log_likelihood": scores}
    if len(ridges) == 1:
        return Choice(n_components, ridges[0], diagnostics)
    split, by_ridge = splits[0], dict[float, float]()
    for number, value in enumerate(ridges):
        yield Step("choosing the ridge", number + 1, len(ridges))
        by_ridge[value] = split.mean(split.scores(n_components, value))
    diagnostics["ridge_choice"] = {f"{value:g}": score for value, score in by_ridge.items()}
    return Choice(n_components, max(by_ridge, key=lambda value: by_ridge[value]), diagnostics)


def _fewest_as_good(
    splits: list[_Split], most: int, ridge: float
) -> Generator[Step, None, tuple[int, dict[str, float]]]:
    """Return the fewest components that are as good as the best, and the means of all numbers.

    A number is as good as the best where its mean likelihood is less by at most the standard error
    of the difference, which is taken over the rows of all splits. On 42 simulated mixtures the best
    number itself was too large 9 times, and this one once.
    """
    scores: list[list[NDArray[np.float64]]] = []
    search = NumberSearch(PATIENCE)
    while len(scores) < most and not search.ended:
        yield Step("choosing the number of components", len(scores) + 1, most)
        scores.append([split.scores(len(scores) + 1, ridge) for split in splits])
        search.means.append(_over_splits(splits, scores[-1]))
    weight = sum(split.weight for split in splits)

    def loss_and_error(fewer: int) -> tuple[float, float]:
        losses = [
            best - less for best, less in zip(scores[search.best], scores[fewer], strict=True)
        ]
        squares = [
            (loss - split.mean(loss)) ** 2 for split, loss in zip(splits, losses, strict=True)
        ]
        error = np.sqrt(_over_splits(splits, squares) / weight)
        return _over_splits(splits, losses), float(error)

    chosen = search.fewest_as_good(loss_and_error) + 1
    return chosen, {str(k + 1): mean for k, mean in enumerate(search.means)}


def _over_splits(splits: list[_Split], values: list[NDArray[np.float64]]) -> float:
    """Return the mean over splits of the mean of a value of every row."""
    return float(
        np.mean([split.mean(of_rows) for split, of_rows in zip(splits, values, strict=True)])
    )


def _split(rows: Block, problem: Problem, number: int, most: int) -> _Split:
    """Hold out some of the rows, with the moments of the others."""
    judged = _thinned(rows, problem.rng(10 + number))
    whole = rows.row_weights()
    learning = _weighted(rows, whole - judged)
    judging = _without_new_categories(_weighted(rows, judged), learning)
    smaller = replace(problem, weight=float((whole - judged).sum()), conclude=None, thorough=False)
    moments = None
    if problem.method == "ex" and most > 1:
        directions = 2 * min(most, problem.most_spectral)
        moments = in_memory(moments_of(problem.groups, directions, problem.rng(0)), learning)
    return _Split(smaller, learning, judging, moments)


def _without_new_categories(judging: Block, learning: Block) -> Block:
    """Return rows without the entries whose category does not occur in the rows to learn from.

    Answers ignore these entries, too. Their probability would be that of the pseudo-counts, which
    every further component adds to: a column of row identifiers would speak for ever more of them.
    """
    codes = judging.dense_values.copy()
    for column, learned in zip(codes.T, learning.dense_values.T, strict=True):
        column[~np.isin(column, learned)] = UNKNOWN_CODE
    return replace(judging, values=codes)


def _thinned(rows: Block, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the weight that is held out of every row.

    A row that stands for several is divided into as many units of equal weight as its weight
    rounds to, and at least into one. Every unit is held out by itself. Rows of one unit are not
    both learned from and judged by: with divided remainders, 1,000 answers of three classes with
    weights of mean one got 17 components.
    """
    weight = rows.row_weights()
    # sums of equal rows are rounded
    units = np.maximum(np.rint(weight * (1 + ROUNDING)), 1)
    held = rng.binomial(units.astype(np.int64), HELD_OUT)
    return np.where(held == units, weight, held * (weight / units))


def _weighted(rows: Block, weight: NDArray[np.float64]) -> Block:
    """Return the rows of a positive weight."""
    kept = replace(rows, weight=weight).keep(weight > 0)
    return replace(kept, index=None)
