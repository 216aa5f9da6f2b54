"""Choice of coordinates, widths, rank and steps by validation in the pilot sample."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

from bigtensor.errors import DataError, Setting
from bigtensor.models.contract.script import Step
from bigtensor.models.tensor_train_density.sample.coordinate_systems import SHRINKAGES, is_rotated
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample.stack import LEAST_GAIN, Stack, stacked
from bigtensor.models.tensor_train_density.settings import (
    MANY_ROWS,
    RANKS,
    ROTATION,
    SYSTEMS,
    TrainSettings,
)
from bigtensor.models.tensor_train_density.validation import Candidate, Validated, Validation

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
    if settings.ranks == RANKS and rows.n_originals < MANY_ROWS:
        settings = replace(settings, ranks=RANKS[:-1])
    ranks = settings.ranks if len(settings.ranks) == 1 else _FIRST_RANKS
    widths = settings.widths[0] if len(settings.widths) == 1 else _FIRST_WIDTHS
    narrow = settings.widths if rows.n_originals >= MANY_ROWS else settings.widths[-FEW_WIDTHS:]
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
    stack = stacked(validation.held_out(chosen.trains))
    if stack.score + LEAST_GAIN < chosen.stack.score:
        # the search for components ends early, and the rank was chosen beside better ones
        stack = chosen.stack
    stack = stack.unless_useless(validation.held_out(chosen.trains))
    if settings.systems == SYSTEMS["queries"] and _can_be_rotated(rows):
        # for a warning: the loss is told where it is large
        rotated = [Candidate(*ROTATION, widths, rank) for rank in ranks]
        validation.best(rotated, least=stack.score)
    return chosen.trains, validation.tried, stack


class _Ranked(NamedTuple):
    """Trains of some rank, components beside them, and the same components at other ranks."""

    trains: Validated
    stack: Stack
    by_rank: dict[int, Stack]


def _best_rank(
    validation: Validation,
    first: Validated,
    settings: TrainSettings,
    ahead: _Ranked | None = None,
) -> _Ranked:
    """Return the best of ascending ranks, up to where two larger ones gain next to nothing.

    Of ranks with equal scores, the components beside the best one have the largest share.

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
    stack = stacked(validation.held_out(first))
    by_rank: dict[int, Stack] = {}
    for rank in settings.ranks:
        trains = validation.validated(replace(first.candidate, rank=rank))
        by_rank[rank] = stack.beside(validation.held_out(trains))
        scores = [of_rank.score for of_rank in by_rank.values()]
        if len(scores) > _LARGER and max(scores[-_LARGER:]) < scores[-_LARGER - 1] + LEAST_GAIN:
            break
        if ahead is not None and rank in ahead.by_rank:
            gain = ahead.stack.score - ahead.by_rank[rank].score
            if scores[-1] + _CATCHING_UP * gain < ahead.stack.score:
                break
    # the loop may have ended before the rank of the first trains
    by_rank.setdefault(first.candidate.rank, stack)
    highest = max(of_rank.score for of_rank in by_rank.values())
    equal = [rank for rank in by_rank if by_rank[rank].score > highest - LEAST_GAIN]
    # of equal scores, the largest share of components: beyond most rows they keep the dependence
    # of the variables, which trains of few states lose
    best = max(equal, key=lambda rank: (round(by_rank[rank].share, 1), by_rank[rank].score))
    trains = validation.validated(replace(first.candidate, rank=best))
    return _Ranked(trains, by_rank[best], by_rank)


def _stack_score(ranked: _Ranked) -> float:
    """Return the mean log-density of held-out rows under trains and components."""
    return ranked.stack.score


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
