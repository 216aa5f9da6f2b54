"""Choice of coordinates, widths, rank and steps by validation in the pilot sample."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

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
from bigtensor.models.tensor_train_density.sample.stack import HeldOut, Stack, stacked
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.models.tensor_train_density.settings import (
    MANY_ROWS,
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
"""Gain of larger ranks, in the gain of the coordinates ahead, with which others are followed."""

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
    """

    candidate: Candidate
    steps: int
    score: float


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

    def best_rank(
        self, candidate: Candidate, ranks: tuple[int, ...], ahead: Validated | None = None
    ) -> Validated:
        """Return the best of ascending ranks, up to where two larger ones gain nothing.

        Parameters
        ----------
        candidate : Candidate
            Other settings of the train.
        ranks : tuple of int
            Ascending.
        ahead : Validated, optional
            Best rank of other coordinates. Those of the candidate are given up at a rank from
            which on twice the gain of the others would not be enough.
        """
        validated: list[Validated] = []
        for rank in ranks:
            validated.append(self.validated(replace(candidate, rank=rank)))
            recent = [one.score for one in validated[-_LARGER - 1 :]]
            if len(recent) > _LARGER and max(recent[1:]) < recent[0]:
                break
            if ahead is not None and rank < ahead.candidate.rank:
                gain = ahead.score - self.validated(replace(ahead.candidate, rank=rank)).score
                if recent[-1] + _CATCHING_UP * gain < ahead.score:
                    break
        return max(validated, key=_score)

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
        for fold in range(len(self._folds)):
            problem, located, weight = self._problem(replace(validated.candidate, rank=0), fold)
            start = self._start(problem, validated.candidate, fold)
            _, tables = next(islice(problem.steps(start), validated.steps, None))
            log_density = np.empty(len(weight))
            tables.write_log_densities(located, log_density, Workspace())
            folds.append(HeldOut(problem, located, weight, log_density))
        return folds

    def _curve(self, candidate: Candidate, fold: int) -> Generator[FloatArray]:
        """Yield sum of weighted log-densities and weight of the held-out rows after every step."""
        problem, located, weight = self._problem(replace(candidate, rank=0), fold)
        log_density, work = np.empty(len(weight)), Workspace()
        for _, tables in problem.steps(self._start(problem, candidate, fold)):
            tables.write_log_densities(located, log_density, work)
            yield np.array([weight @ (log_density + located.log_slope), weight.sum()])

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
    """Choose coordinates, then widths, then the rank, then Gaussian components beside trains.

    Returns
    -------
    best : Validated
        The candidate with the largest score.
    tried : list of Validated
        All candidates that were scored.
    stack : Stack
        Gaussian components and their share.
    """
    validation = Validation(rows, settings)
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
    yield Step("choosing the rank")
    first, *others = sorted(best, key=_score, reverse=True)[:_FINALISTS]
    chosen = validation.best_rank(first.candidate, settings.ranks)
    by_rank = [validation.best_rank(other.candidate, settings.ranks, chosen) for other in others]
    chosen = max([chosen, *by_rank], key=_score)
    yield Step("choosing Gaussian components")
    stack = stacked(validation.held_out(chosen), settings.random_state)
    if settings.systems == SYSTEMS["queries"] and _can_be_rotated(rows):
        # for a warning: the loss is told where it is large
        for rank in ranks:
            validation.validated(Candidate(*ROTATION, widths, rank))
    return chosen, validation.tried, stack


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


def _best_step(candidate: Candidate, curves: Iterable[tuple[FloatArray, ...]]) -> Validated:
    """Return the step at which the folds together have the largest held-out log-density."""
    best = Validated(candidate, 0, -np.inf)
    for step, folds in enumerate(islice(curves, MOST_STEPS + 1)):
        total, weight = np.sum(folds, axis=0)
        score = float(total / weight)
        if score > best.score:
            best = Validated(candidate, step, score)
        elif step >= best.steps + _PATIENCE:
            break
    return best
