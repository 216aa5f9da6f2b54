"""Choice of coordinates, widths, rank and steps by validation in the pilot sample."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain
from bigtensor.errors import DataError, Setting
from bigtensor.models.contract.script import Step
from bigtensor.models.tensor_train_density.sample.coordinate_systems import (
    SHRINKAGES,
    coordinates_of,
    is_rotated,
)
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample.stack import (
    LEAST_GAIN,
    HeldOut,
    Stack,
    stacked,
)
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.models.tensor_train_density.settings import (
    MANY_ROWS,
    RANKS,
    ROTATION,
    SYSTEMS,
    TrainSettings,
)
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.row_sample import shuffled_distinct_rows
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

MOST_STEPS = 40
"""Steps of expectation maximisation in the sample."""

_PATIENCE = 4
"""Steps without a gain after which validation stops."""

_FOLDS = 5
"""Folds of a sample of few rows; one in four rows is held out of many."""

_SOME_ROWS = 1000
"""Rows from which on two folds are enough to tell candidates apart."""

_FINALISTS = 2
"""Coordinate systems whose rank is chosen."""

_LARGER = 2
"""Larger ranks that are tried after the best one."""

_CATCHING_UP = 2
"""Factor of the gain that larger ranks brought to the coordinates ahead.

Other coordinates are given up if this gain would not bring them ahead.
"""

_FIRST_RANKS = (1, 5)
"""Ranks with which coordinates are compared."""

FEW_WIDTHS = 4
"""Sets of widths, the widest ones, that few rows choose from."""

_FIRST_WIDTHS = (0.5, 1.2)
"""Widths with which coordinates are compared."""


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
    log_trains : tuple of (n,) float64 arrays
        Log-densities of the held-out rows of every fold, by their coordinates.
    """

    candidate: Candidate
    steps: int
    score: float
    log_trains: tuple[FloatArray, ...] = field(default=(), repr=False, compare=False)


class _HeldOutStep(NamedTuple):
    """Held-out rows of a fold after a step: sum of log-densities, weight, and log-densities."""

    total: float
    weight: float
    log_trains: FloatArray


class Validation:
    """Held-out log-densities of candidates; each is computed once.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample, which is divided into folds.
    """

    def __init__(self, rows: PilotRows, settings: TrainSettings) -> None:
        self._random_state, self._structure = settings.random_state, settings.structure
        # every fold keeps what its candidates share
        self._folds = folds_of(rows, settings.random_state)
        self._validated: dict[Candidate, Validated] = {}
        # candidates of other ranks share orders and backgrounds, those of other widths clusters
        self._problem = lru_cache(len(self._folds))(self._make_problem)
        self._clusters: dict[tuple[Candidate, int], IndexArray] = {}

    @property
    def tried(self) -> list[Validated]:
        """All candidates so far."""
        return list(self._validated.values())

    def best(self, candidates: Iterable[Candidate]) -> Validated:
        """Return the candidate with the largest score, the first of equals."""
        return max((self.validated(candidate) for candidate in candidates), key=_score)

    def validated(self, candidate: Candidate) -> Validated:
        """Return the best number of steps of a candidate, and its score."""
        if candidate not in self._validated:
            curves = zip(
                *(self._curve(candidate, fold) for fold in range(len(self._folds))), strict=False
            )
            self._validated[candidate] = _best_step(candidate, curves)
        return self._validated[candidate]

    def held_out(self, validated: Validated) -> list[HeldOut]:
        """Return every fold with the log-densities that a candidate gives held-out rows."""
        folds = []
        for fold, log_trains in enumerate(validated.log_trains):
            problem, located, weight = self._problem(replace(validated.candidate, rank=0), fold)
            folds.append(HeldOut(problem, located, weight, log_trains))
        return folds

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


def problem_of(rows: PilotRows, candidate: Candidate, structure: str) -> SampleProblem:
    """Return the rows in the coordinates of a candidate, with its bumps."""
    coordinates = coordinates_of(rows, candidate.system, candidate.shrinkage)
    return SampleProblem.of_rows(rows, coordinates, candidate.widths, structure)


def choose(
    rows: PilotRows, settings: TrainSettings
) -> Generator[Step, None, tuple[Validated, list[Validated], Stack]]:
    """Choose coordinates, then widths, then the rank with Gaussian components beside trains.

    Returns
    -------
    best : Validated
        The candidate with the largest score beside Gaussian components.
    tried : list of Validated
        All candidates that were scored.
    stack : Stack
        Gaussian components and their share.
    """
    validation = Validation(rows, settings)
    if settings.ranks == RANKS and rows.n_distinct < MANY_ROWS:
        settings = replace(settings, ranks=RANKS[:-1])
    ranks = settings.ranks if len(settings.ranks) == 1 else _FIRST_RANKS
    widths = settings.widths[0] if len(settings.widths) == 1 else _FIRST_WIDTHS
    narrow = settings.widths if rows.n_distinct >= MANY_ROWS else settings.widths[-FEW_WIDTHS:]
    yield Step("choosing coordinates")
    # the best widths differ from system to system, so that each is followed
    best = [
        validation.best(
            Candidate(system, shrinkage, widths, rank)
            for shrinkage in (SHRINKAGES if is_rotated(system) else (0.0,))
            for rank in ranks
        )
        for system in possible_systems(rows, settings)
    ]
    yield Step("choosing widths")
    best = [
        validation.best(
            replace(validated.candidate, widths=widths, rank=rank)
            for widths in narrow
            for rank in sorted({ranks[-1], validated.candidate.rank})
        )
        for validated in best
    ]
    yield Step("choosing the rank and Gaussian components")
    first, *others = sorted(best, key=_score, reverse=True)[:_FINALISTS]
    chosen = _best_rank(validation, first, settings)
    for other in others:
        chosen = max(chosen, _best_rank(validation, other, settings, chosen), key=_stack_score)
    stack = stacked(validation.held_out(chosen.trains), settings.random_state)
    if settings.systems == SYSTEMS["queries"] and _can_be_rotated(rows):
        # for a warning: the loss is told where it is large
        for rank in ranks:
            validation.validated(Candidate(*ROTATION, widths, rank))
    return chosen.trains, validation.tried, stack


class _Ranked(NamedTuple):
    """Trains of some rank with components beside them, and the scores of all ranks so far."""

    trains: Validated
    score: float
    by_rank: dict[int, float]


def _best_rank(
    validation: Validation,
    first: Validated,
    settings: TrainSettings,
    ahead: _Ranked | None = None,
) -> _Ranked:
    """Return the best of ascending ranks, up to where two larger ones gain next to nothing.

    Components stand beside the trains: where they have nearly all of the density, larger ranks are
    of no use.

    Parameters
    ----------
    validation : Validation
        Held-out log-densities.
    first : Validated
        Trains that the components are chosen beside.
    settings : TrainSettings
        Settings with the ranks.
    ahead : _Ranked, optional
        Best rank of other coordinates. Those here are given up at a rank from which on twice the
        gain of the others would not be enough.
    """
    stack = stacked(validation.held_out(first), settings.random_state)
    by_rank: dict[int, float] = {}
    for rank in settings.ranks:
        trains = validation.validated(replace(first.candidate, rank=rank))
        by_rank[rank] = stack.beside(validation.held_out(trains)).score
        scores = list(by_rank.values())
        if len(scores) > _LARGER and max(scores[-_LARGER:]) < scores[-_LARGER - 1] + LEAST_GAIN:
            break
        if ahead is not None and rank in ahead.by_rank:
            gain = ahead.score - ahead.by_rank[rank]
            if by_rank[rank] + _CATCHING_UP * gain < ahead.score:
                break
    best = max(by_rank, key=lambda rank: by_rank[rank])
    trains = validation.validated(replace(first.candidate, rank=best))
    return _Ranked(trains, by_rank[best], by_rank)


def _stack_score(ranked: _Ranked) -> float:
    """Return the mean log-density of held-out rows under trains and components."""
    return ranked.score


def _can_be_rotated(rows: PilotRows) -> bool:
    """Return True if there are complete rows of variables to rotate."""
    return len(rows.rotatable) > 1 and rows.is_complete


def _score(validated: Validated) -> float:
    """Return the mean log-density of held-out rows."""
    return validated.score


def possible_systems(rows: PilotRows, settings: TrainSettings) -> tuple[str, ...]:
    """Return the coordinates that these rows can have.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample, which may have missing entries.
    settings : TrainSettings
        Settings with the coordinates that are allowed.

    Raises
    ------
    DataError
        When rows with missing entries are to be rotated.
    """
    if _can_be_rotated(rows):
        return settings.systems
    simple = tuple(system for system in settings.systems if not is_rotated(system))
    if not simple and not rows.is_complete:
        raise DataError(
            f"entries are missing, and the coordinates {settings.systems[0]!r} are of complete "
            "rows: leave such rows out ("
            + Setting("missing", "omit")
            + "), or use "
            + Setting("coordinates", "queries")
        )
    # one variable has nothing to be rotated with
    return simple or settings.systems


def folds_of(rows: PilotRows, random_state: int) -> list[tuple[PilotRows, PilotRows]]:
    """Return the rows outside and inside every fold. Copies of a row are in one fold.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample to divide.
    random_state : int
        Seed of the division.
    """
    n = rows.n_distinct
    many = n >= MANY_ROWS
    count = 4 if many else min(_FOLDS, n)
    fold = shuffled_distinct_rows(rows.distinct, random_state) % count
    return [
        (rows.take(np.flatnonzero(fold != number)), rows.take(np.flatnonzero(fold == number)))
        for number in range(1 if many else 2 if n >= _SOME_ROWS else count)
    ]


def _best_step(candidate: Candidate, curves: Iterable[tuple[_HeldOutStep, ...]]) -> Validated:
    """Return the step at which the folds together have the largest held-out log-density."""
    best = Validated(candidate, 0, -np.inf)
    for step, folds in enumerate(islice(curves, MOST_STEPS + 1)):
        score = sum(fold.total for fold in folds) / sum(fold.weight for fold in folds)
        if step == 0 or score > best.score:
            best = Validated(candidate, step, score, tuple(fold.log_trains for fold in folds))
        elif step >= best.steps + _PATIENCE:
            break
    return best
