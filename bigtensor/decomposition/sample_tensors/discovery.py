"""Terms of a tensor found from the samples: power updates, joint least squares and deflation."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.decomposition.sample_tensors.joint_least_squares import requested_sweeps
from bigtensor.decomposition.sample_tensors.power_updates import distinct_terms, requested_ends
from bigtensor.decomposition.sample_tensors.requests import Requests, answered, less_terms
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms

Initialisations = Callable[[int], Factors]
"""Draws columns to start from, (d_m, L) for every factor."""

SAME_COSINE = 0.9
"""Smallest absolute cosine over the factors above which two solved terms are one."""

_LIGHT = 0.1
"""Part of the median weight below which a term is taken for noise."""

_SWEEPS = 3
"""Sweeps of joint least squares over old and new terms of a round."""

_IDLE_ROUNDS = 3
"""Rounds on end without a further term after which the search ends."""

_MOST_ROUNDS = 15
"""Bound of the rounds of a search."""

_INITIALISATIONS_PER_TERM = 3
"""Initialisations of the first round for every term that is looked for."""

_STARTS_PER_MISSING = 2
"""Initialisations of a later round for every term that is still missing."""

_MORE_INITIALISATIONS = 20
"""Further initialisations of every round, at least."""


@dataclass(frozen=True)
class DiscoverySettings:
    """Numbers of a search for terms.

    Attributes
    ----------
    n_terms : int
        Most terms to find.
    updates : int
        Power updates from every initialisation.
    cosine : float
        Smallest absolute cosine over the factors above which the ends of two initialisations are
        one term.
    """

    n_terms: int
    updates: int
    cosine: float = 0.6


@dataclass(frozen=True, eq=False)
class Discovery:
    """Terms found, and the rounds that it took.

    Attributes
    ----------
    terms : Terms
        By descending absolute weight.
    rounds : int
        Rounds of initialisations.
    """

    terms: Terms
    rounds: int


def discover(
    contract: Contract, starts: Initialisations, none: Terms, settings: DiscoverySettings
) -> Generator[int, None, Discovery]:
    r"""Find terms in rounds, each of initialisations on what the terms so far leave of the tensor.

    Power updates alone are biased and miss terms: they stop at a distance of about
    :math:`1.3 \sqrt k / d` from the columns, whatever the number of rows. The joint solution of
    all columns after every round removes the bias, and the deflation lets the next round see the
    rest.

    Parameters
    ----------
    contract : callable
        Contraction of the tensor with columns; see `terms.Contract`.
    starts : callable
        Draws columns to start from; see `Initialisations`.
    none : Terms
        The sum of no terms, which has the sizes and orders of the factors.
    settings : DiscoverySettings
        Number of terms and thresholds of the search.

    Yields
    ------
    int
        Number of terms after every round.
    """
    requests = requested_discovery(starts, none, settings)
    answer: Factors | None = None
    while True:
        try:
            item = next(requests) if answer is None else requests.send(answer)
        except StopIteration as end:
            discovery: Discovery = end.value
            return discovery
        answer = None
        if isinstance(item, int):
            yield item
        else:
            answer = contract(item)


def requested_discovery(
    starts: Initialisations, none: Terms, settings: DiscoverySettings
) -> Generator[Factors | int, Any, Discovery]:
    """Ask for the contractions of `discover`, and yield the number of terms after every round."""
    terms, idle, rounds = none, 0, 0
    n_starts = _INITIALISATIONS_PER_TERM * settings.n_terms + _MORE_INITIALISATIONS
    while idle < _IDLE_ROUNDS and rounds < _MOST_ROUNDS:
        new, heaviest = yield from _new_terms(starts(n_starts), terms, settings)
        weights = np.abs(terms.weights)
        if terms.n_terms == settings.n_terms and heaviest < weights.min():
            break
        candidates = yield from requested_sweeps(terms.join(new), _SWEEPS)
        grown = _heaviest(candidates, settings)
        idle = 0 if grown.n_terms > terms.n_terms else idle + 1
        terms, rounds = (yield from requested_sweeps(grown, 1)), rounds + 1
        yield terms.n_terms
        missing = settings.n_terms - terms.n_terms
        n_starts = _STARTS_PER_MISSING * missing + max(_MORE_INITIALISATIONS, settings.n_terms)
    return Discovery(terms, rounds)


def most_contractions(updates: int) -> int:
    """Return the largest number of contractions of a search and of a look at what it leaves.

    Parameters
    ----------
    updates : int
        Power updates from every initialisation.
    """
    return _MOST_ROUNDS * (updates + 1 + _SWEEPS + 1) + updates + 1


def _new_terms(
    starts: Factors, terms: Terms, settings: DiscoverySettings
) -> Requests[tuple[Terms, float]]:
    """Return the terms that one round of initialisations leads to, and their largest weight."""
    weights, ends = yield from less_terms(requested_ends(starts, settings.updates), terms)
    new = distinct_terms(weights, ends, terms.orders, settings.cosine)
    heaviest = float(np.abs(new.weights[0]))
    missing = settings.n_terms - terms.n_terms
    weights = np.abs(np.concatenate([terms.weights, new.weights[:missing]]))
    heavy = np.abs(new.weights) > _LIGHT * np.median(weights)
    # some more than are missing: the joint solution tells which of them are terms
    return new.take(np.flatnonzero(heavy)[: 2 * missing + _MORE_INITIALISATIONS]), heaviest


def _heaviest(terms: Terms, settings: DiscoverySettings) -> Terms:
    """Return distinct terms of solved candidates, at most as many as wanted."""
    distinct = distinct_terms(terms.weights, terms.factors, terms.orders, SAME_COSINE)
    kept = distinct.take(np.arange(min(distinct.n_terms, settings.n_terms)))
    weights = np.abs(kept.weights)
    if not weights.size:
        return kept
    return kept.take(weights > _LIGHT * np.median(weights))


def left_weight(
    contract: Contract, starts: Initialisations, terms: Terms, settings: DiscoverySettings
) -> float:
    """Return the largest weight that is found once terms are subtracted, over the median term.

    Parameters
    ----------
    contract : callable
        Contraction of the tensor with columns; see `terms.Contract`.
    starts : callable
        Draws columns to start from; see `Initialisations`.
    terms : Terms
        At least one.
    settings : DiscoverySettings
        Number of terms and updates of the search.
    """
    return answered(requested_left_weight(starts, terms, settings), contract)


def requested_left_weight(
    starts: Initialisations, terms: Terms, settings: DiscoverySettings
) -> Requests[float]:
    """Ask for the contractions of `left_weight`."""
    columns = starts(_INITIALISATIONS_PER_TERM * settings.n_terms + _MORE_INITIALISATIONS)
    weights, _ = yield from less_terms(requested_ends(columns, settings.updates), terms)
    return float(np.abs(weights).max() / np.median(np.abs(terms.weights)))
