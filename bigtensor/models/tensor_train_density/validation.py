"""Held-out log-densities of candidates in the pilot sample."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain
from bigtensor.models.tensor_train_density.sample.coordinate_systems import coordinates_of
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample.stack import FittedComponents, HeldOut
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.models.tensor_train_density.settings import MANY_ROWS, TrainSettings
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.row_copies import random_order
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

_MOST_STEPS = 40
"""Steps of expectation maximisation in the sample."""

_PATIENCE = 4
"""Steps without a gain after which validation stops."""

_FOLDS = 5
"""Folds of a sample of few rows; one in four rows is held out of many."""

_SOME_ROWS = 1000
"""Rows from which on two folds are enough to tell candidates apart."""


@dataclass(frozen=True)
class Candidate:
    """Settings of a train that is fitted to the sample.

    Attributes
    ----------
    system : str
        Coordinates.
    shrinkage : float
        Of the correlation of rotated coordinates.
    widths : tuple of float
        Standard deviations of the bumps, ascending.
    rank : int
        Number of values of the latent states.
    """

    system: str
    shrinkage: float
    widths: tuple[float, ...]
    rank: int


@dataclass(frozen=True)
class Validated:
    """A candidate, and the steps and mean log-density of held-out rows that it has with them.

    Attributes
    ----------
    candidate : Candidate
        The settings that were fitted.
    steps : int
        Steps of expectation maximisation with the best score.
    score : float
        In nats.
    given_up : bool, default False
        True if it was not followed to its last step, because it could not become the best.
    log_trains : tuple of (n,) float64 arrays
        Log-densities of the held-out rows of every fold, by their coordinates.
    """

    candidate: Candidate
    steps: int
    score: float
    given_up: bool = False
    log_trains: tuple[FloatArray, ...] = field(default=(), repr=False, compare=False)


class _HeldOutStep(NamedTuple):
    """Held-out rows of a fold after a step: sum of log-densities, weight, and log-densities."""

    total: float
    weight: float
    log_trains: FloatArray


class Validation:
    """Held-out log-densities of candidates, which are kept.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample, which is divided into folds.
    settings : TrainSettings
        Settings with the structure and the seed of all candidates.
    """

    def __init__(self, rows: PilotRows, settings: TrainSettings) -> None:
        self._random_state, self._structure = settings.random_state, settings.structure
        # every fold keeps what its candidates share
        self._folds = folds_of(rows, settings.random_state)
        self._validated: dict[Candidate, Validated] = {}
        # candidates of other ranks share orders and backgrounds, those of other widths clusters
        self._problem = lru_cache(len(self._folds))(self._make_problem)
        self._clusters: dict[tuple[Candidate, int], IndexArray] = {}
        # components are fitted to coordinates, whatever trains stand beside them
        self._components: dict[tuple[Candidate, int], FittedComponents] = {}

    @property
    def tried(self) -> list[Validated]:
        """All candidates so far."""
        return list(self._validated.values())

    def best(self, candidates: Iterable[Candidate], least: float = -np.inf) -> Validated:
        """Return the candidate with the largest score, the smallest rank and the first of equals.

        A candidate is given up when it would stay behind the best one so far even if every step
        left gained as much as its last one: gains of expectation maximisation mostly become
        smaller.

        Parameters
        ----------
        candidates : iterable of Candidate
            Candidates to compare.
        least : float, optional
            Score without which no candidate is of interest.
        """
        tried = []
        # candidates that differ in their rank share problems, and large ranks are mostly ahead
        for candidate in sorted(candidates, key=_system_and_rank):
            tried.append(self._validated_up_to(candidate, least))
            least = max(least, tried[-1].score)
        return max(tried, key=lambda one: (one.score, -one.candidate.rank))

    def validated(self, candidate: Candidate) -> Validated:
        """Return the best number of steps of a candidate, and its score."""
        return self._validated_up_to(candidate, -np.inf)

    def held_out(self, validated: Validated) -> list[HeldOut]:
        """Return every fold with the log-densities that a candidate gives held-out rows."""
        folds = []
        for fold, log_trains in enumerate(validated.log_trains):
            key = replace(validated.candidate, rank=0)
            problem, located, weight = self._problem(key, fold)
            components = self._components.setdefault((replace(key, widths=()), fold), {})
            folds.append(
                HeldOut(problem, located, weight, log_trains, self._random_state, components)
            )
        return folds

    def _validated_up_to(self, candidate: Candidate, least: float) -> Validated:
        """Return the score of a candidate, which is given up if it will stay below the least."""
        before = self._validated.get(candidate)
        if before is None or before.given_up:
            curves = zip(
                *(self._curve(candidate, fold) for fold in range(len(self._folds))), strict=False
            )
            self._validated[candidate] = _best_step(candidate, curves, least)
        return self._validated[candidate]

    def _curve(self, candidate: Candidate, fold: int) -> Generator[_HeldOutStep]:
        """Yield the log-densities of the held-out rows after every step."""
        problem, located, weight = self._problem(replace(candidate, rank=0), fold)
        work = Workspace()
        for _, tables in problem.steps(self._start(problem, candidate, fold)):
            log_density = np.empty(len(weight))
            tables.write_log_densities(located, log_density, work)
            total = float(weight @ (log_density + located.log_slope))
            yield _HeldOutStep(total, float(weight.sum()), log_density)

    def _start(self, problem: SampleProblem, candidate: Candidate, fold: int) -> NonnegativeTrain:
        """Return the train that a candidate starts from in a fold."""
        key = replace(candidate, widths=()), fold
        if key not in self._clusters:
            self._clusters[key] = problem.clusters(candidate.rank, self._random_state)
        return problem.start(self._clusters[key])

    def _make_problem(
        self, candidate: Candidate, fold: int
    ) -> tuple[SampleProblem, LocatedRows, FloatArray]:
        """Return the rows outside a fold as a problem, and those inside at its points."""
        fitted, held = self._folds[fold]
        problem = problem_of(fitted, candidate, self._structure)
        return problem, problem.locate(held), held.weight


def _system_and_rank(candidate: Candidate) -> tuple[str, float, tuple[float, ...], int]:
    """Return coordinates and widths of a candidate, and its rank in descending order."""
    return candidate.system, candidate.shrinkage, candidate.widths, -candidate.rank


def problem_of(rows: PilotRows, candidate: Candidate, structure: str) -> SampleProblem:
    """Return the rows in the coordinates of a candidate, with its bumps."""
    coordinates = coordinates_of(rows, candidate.system, candidate.shrinkage)
    return SampleProblem.of_rows(rows, coordinates, candidate.widths, structure)


def folds_of(rows: PilotRows, random_state: int) -> list[tuple[PilotRows, PilotRows]]:
    """Return the rows outside and inside every fold. Copies of a row are in one fold.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample to divide.
    random_state : int
        Seed of the division.
    """
    n = rows.n_originals
    many = n >= MANY_ROWS
    count = 4 if many else min(_FOLDS, n)
    fold = random_order(rows.originals, random_state)[rows.originals] % count
    return [
        (rows.take(np.flatnonzero(fold != number)), rows.take(np.flatnonzero(fold == number)))
        for number in range(1 if many else 2 if n >= _SOME_ROWS else count)
    ]


def _best_step(
    candidate: Candidate, curves: Iterable[tuple[_HeldOutStep, ...]], least: float
) -> Validated:
    """Return the step at which the folds together have the largest held-out log-density.

    The candidate is given up at a step from which on gains as large as the last one would leave it
    below the least score.
    """
    best = Validated(candidate, 0, -np.inf)
    before = -np.inf
    for step, folds in enumerate(islice(curves, _MOST_STEPS + 1)):
        score = sum(fold.total for fold in folds) / sum(fold.weight for fold in folds)
        if step == 0 or score > best.score:
            log_trains = tuple(fold.log_trains for fold in folds)
            best = Validated(candidate, step, score, log_trains=log_trains)
        elif step >= best.steps + _PATIENCE:
            break
        steps_left = _MOST_STEPS - step
        if steps_left and best.score + steps_left * max(score - before, 0) < least:
            return replace(best, given_up=True)
        before = score
    return best
