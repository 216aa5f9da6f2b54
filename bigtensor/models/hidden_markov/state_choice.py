"""Number of states, chosen by the likelihood of held-out windows of three rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.features.category_order import sequence_places
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.script import Step
from bigtensor.models.hidden_markov.settings import MOST_STEPS
from bigtensor.models.hidden_markov.triple_estimate import TripleSettings, estimate_from_triples
from bigtensor.models.pilot.number_search import NumberSearch
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.codes.folded_triples import FoldedTriples, FoldedTriplesResult
from bigtensor.statistics.codes.sequence_codes import SequenceCodes
from bigtensor.statistics.codes.triple_counts import TripleCounts, TripleCountsResult
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.in_memory import sum_in_memory

FOLDS = 5
"""Folds of the windows: a fifth is held out at a time."""

STRETCHES = 50
"""Parts of the rows that a long sequence is cut into, each of which lies in one fold."""

FEWEST_WINDOWS = 50.0
"""Of fewer windows, none is held out."""

PATIENCE = 2
"""Numbers of states without a better likelihood after which the search ends."""

STANDARD_ERRORS = 1.5
"""Standard errors by which fewer states may be worse than the best number.

With 1, the number of 100 simulated data sets was right 65 times and too large 3 times, and
with 1.5 right 64 times and too large once. In all others it was too small: they had few rows. The
folds of that comparison also depended on the ids of sequences.
"""

UNIFORM = 0.01
"""Weight of equally probable windows in the distribution that held-out windows are judged by."""

CRITERION = (
    "fewest states within 1.5 standard errors of the largest mean log-likelihood of held-out "
    "triples"
)


@dataclass(frozen=True, eq=False)
class StateChoice:
    """Number of states, with the held-out likelihoods that led to it."""

    n_states: int
    diagnostics: dict[str, Any]


def choice_statistic(settings: TripleSettings, shape: DataShape) -> Statistic[Any]:
    """Return the statistic of the pass that counts triples.

    Beside the counts, the codes of up to 2,097,152 rows are kept, so that folds follow from the
    content of the sequences. In rounds no row is kept, and folds follow from the positions of the
    rows, as they do for more rows.

    Parameters
    ----------
    settings : TripleSettings
        Settings with the number of codes and the seed.
    shape : DataShape
        Size of the data.
    """
    if shape.in_rounds or shape.rows > MOST_STEPS:
        return _folded_triples(settings, shape.most_rows)
    return Together.named(
        counts=TripleCounts(settings.n_codes), sequences=SequenceCodes(shape.rows)
    )


def folds_of(
    result: FoldedTriplesResult | dict[str, Any], settings: TripleSettings
) -> tuple[TripleCountsResult, FoldedTriplesResult]:
    """Return the counts of all triples, and the counts by fold.

    Parameters
    ----------
    result : FoldedTriplesResult or dict
        Result of `choice_statistic`.
    settings : TripleSettings
        Settings with the number of codes and the seed.
    """
    if isinstance(result, FoldedTriplesResult):
        return result.total, result
    counts: TripleCountsResult = result["counts"]
    places = sequence_places(counts.codes, settings.n_codes, counts.weight)
    rows = result["sequences"].in_content_order(places, settings.random_state)
    return counts, sum_in_memory(_folded_triples(settings, rows.rows), rows)


def _folded_triples(settings: TripleSettings, rows: int) -> FoldedTriples:
    """Return the statistic of the windows of every fold."""
    return FoldedTriples(settings.n_codes, FOLDS, max(1, rows // STRETCHES), settings.random_state)


def choose_states(
    folds: FoldedTriplesResult, settings: TripleSettings
) -> Generator[Step, None, StateChoice]:
    """Choose the fewest states that are as good as the best on held-out windows.

    A number is as good as the best where its mean log-likelihood is less by at most
    `STANDARD_ERRORS` of the difference over the folds. Windows that overlap are dependent, so that
    the error is not taken over windows.

    Estimates of all numbers have one pseudo-count for all states together. With one for each state,
    more states are smoother, and held-out windows prefer them where there are no states: of 36 sets
    of 150 and 300 independent measurements or counts, 18 had up to 24 states.

    Parameters
    ----------
    folds : FoldedTriplesResult
        Counts of the windows of every fold.
    settings : TripleSettings
        Its number of states is the largest.
    """
    judged = [_complete(folds.counts_of_fold(fold)) for fold in range(len(folds.tables))]
    judged_by = [fold for fold, (_, weight) in enumerate(judged) if weight.sum() > 0]
    windows = sum(float(weight.sum()) for _, weight in judged)
    if windows < FEWEST_WINDOWS or len(judged_by) < 2:
        reason = f"{windows:,.0f} complete triples are too few to hold any out"
        return StateChoice(1, {"criterion": CRITERION, "reason": reason})
    scores = list[NDArray[np.float64]]()
    search = NumberSearch(PATIENCE)
    while len(scores) < settings.n_states and not search.ended:
        yield Step("choosing the number of states", len(scores) + 1, settings.n_states)
        of_number = replace(settings, n_states=len(scores) + 1, shares_smoothing=True)
        fold_scores = [
            _mean_log_likelihood(_estimated(folds.without(fold), of_number), *judged[fold])
            for fold in judged_by
        ]
        scores.append(np.array(fold_scores))
        search.means.append(float(scores[-1].mean()))
    # the search ended where it had to, and not because more states explained less
    largest = len(scores) == settings.n_states < settings.n_codes

    def loss_and_error(fewer: int) -> tuple[float, float]:
        loss = scores[search.best] - scores[fewer]
        return float(loss.mean()), STANDARD_ERRORS * float(loss.std(ddof=1) / np.sqrt(len(loss)))

    return StateChoice(
        search.fewest_as_good(loss_and_error) + 1,
        {
            "criterion": CRITERION,
            "folds": len(judged_by),
            "tried": len(scores),
            "held_out_log_likelihood": {str(k + 1): mean for k, mean in enumerate(search.means)},
            "ended_at_largest": largest and not search.ended,
        },
    )


def _estimated(counts: TripleCountsResult, settings: TripleSettings) -> MarkovParameters:
    """Return the parameters that windows determine."""
    return estimate_from_triples(counts, settings)[0].parameters


def _complete(counts: TripleCountsResult) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the windows without a missing code, and their weights."""
    complete = (counts.codes >= 0).all(axis=1)
    return counts.codes[complete], counts.weight[complete]


def _mean_log_likelihood(
    parameters: MarkovParameters, codes: NDArray[np.int32], weight: NDArray[np.float64]
) -> float:
    """Return the mean log-likelihood of windows, in nats."""
    uniform = parameters.n_symbols**-3.0
    mixed = (1 - UNIFORM) * parameters.triple_probabilities(codes) + UNIFORM * uniform
    return float(np.average(np.log(mixed), weights=weight))
