"""Passes of Monte Carlo expectation maximisation, as many as held-out documents ask for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.topics.topic_update import (
    overrelaxed_topics,
    updated_prior,
    updated_topics,
)
from bigtensor.models.contract.iteration import Iterations, iterate
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.topic_model.settings import MOST_POLISHES, TopicSettings
from bigtensor.models.topic_model.solution import Topics
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.topics.document_completion import DocumentCompletionResult
from bigtensor.statistics.topics.held_out_documents import OfDocuments
from bigtensor.statistics.topics.topic_counts import TopicCounts, TopicCountsResult

HELD_OUT = 500
"""Documents that are held out until the last passes, or a tenth of them where there are few."""

LEAST_HELD_OUT_WORDS = 1000
"""With fewer held-out words, gains of single passes are noise, and the passes are `FEW`."""

FEW = 6
"""Passes where no held-out words decide."""

CLOSING = 2
"""Last passes, over all documents and without long steps."""

PATIENCE = 2
"""Passes in a row without gain before the last passes follow: draws and long steps are noisy."""

STILL = 3e-4
"""Least gain of the log-probability of a held-out word, in nats, over the best pass before."""

RISE = 3e-3
"""Gain over the pass before, in nats a held-out word, with which passes always go on.

The first passes lose what the moments were told of held-out documents, and their scores fall below
the one after the first update. On news articles they fell by 0.01 to 0.06 and then rose by 0.03 to
0.08 a pass: 5 of 13 fits ended after this fall, with a perplexity that was 3 to 9 % too high. In
simulated documents and cells they rose by less than 0.001 a pass, and more passes gained nothing.
"""

_NOISE_OF_GAIN = 0.25
"""Gain of chance over a single topic, times the square root of the number of held-out words.

The gain is in nats a word. In 46 fits to 100 to 5,000 documents without topics it was larger once,
by a fifth; with two topics its standard deviation was a third of this. On scikit-learn's digits and
on articles it was 0.035 to 0.47, which is 23 to 257 times as much. Of 72 fits of four topics to 40
to 150 documents of 60 words without topics, 66 had a warning.
"""

LONG = 30.0
"""Largest number of words that a document counts for, in typical lengths.

Moments weigh documents alike, and the passes weigh words alike. A document with a thousand times
its counts took two or three of ten topics. With this bound, the mean error of topics was 0.07, as
without the document (0.06), and 0.06 with 10 and 0.10 with 100. For lengths with a standard
deviation of 1 in logarithms, 10 changed errors by up to a tenth in either direction, and 30 none.
"""

AGREEMENT = 1.25
"""Factor within which the concentration of moments is kept.

Topics fit the words that they were estimated from, so that the passes underestimate it a little.
"""


@dataclass(frozen=True, eq=False)
class PolishStart:
    """Topics of moments.

    Attributes
    ----------
    solution : Topics
        The estimate.
    moment_concentration : float, optional
        Sum of the parameters of the prior, where it was estimated from moments.
    typical_length : float
        Geometric mean of the lengths of the documents.
    """

    solution: Topics
    moment_concentration: float | None
    typical_length: float


def polished(
    start: PolishStart,
    settings: TopicSettings,
    conclude: Callable[[Topics, dict[str, Any]], Solved],
) -> Generator[Any, Any, Solved]:
    """Ask for passes over all documents, and update topics and prior after each.

    Every second pass takes a long step. Passes leave out the documents that judge them, but for the
    last ones, which take steps of their own length over all documents.

    Parameters
    ----------
    start : PolishStart
        The initialisation.
    settings : TopicSettings
        Resolved parameters of the fit.
    conclude : callable
        Returns the solution with the verdict on it.
    """
    first = start.solution
    # topics that moments take for rare ones must not be lost
    prior = (first.prior + first.prior.mean()) / 2
    most_words = LONG * start.typical_length
    weight_of_document = settings.shape.effective_rows / settings.shape.rows
    most = MOST_POLISHES if settings.max_iter is None else settings.max_iter
    initial = _Polished(replace(first, prior=prior), first.topics, (), max(most - CLOSING, 0), most)

    def ask(state: _Polished, number: int) -> Script:
        solution, relaxed = state.solution, number < state.closing
        counts = TopicCounts(
            *(state.topics, solution.prior, number, settings.random_state), most_words=most_words
        )
        if settings.max_iter is None and relaxed:
            return (yield judged_pass(settings, counts, solution))
        return {"counts": (yield counts_pass(counts))}

    def update(before: _Polished, sums: dict[str, Any]) -> tuple[_Polished, float]:
        completion: DocumentCompletionResult | None = sums.get("completion")
        state = before.scored(completion, sums.get("of_one_topic"), weight_of_document)
        counts = sums["counts"]
        updated = updated_topics(counts.counts, settings.pseudo_count)
        prior = _prior_after(counts, state.solution.prior, settings)
        words = counts.counts.sum(axis=0)
        solution = Topics(updated, prior, words, first.mean_length, first.views)
        is_long = state.passes < state.closing and state.passes % 2 == 0
        topics = overrelaxed_topics(state.topics, updated) if is_long else updated
        passes = state.passes + 1
        score = np.nan if completion is None else completion.mean
        return replace(state, solution=solution, topics=topics, passes=passes), score

    def solved(iterations: Iterations[_Polished]) -> Solved:
        state = iterations.state
        diagnostics = {
            "completion": list(state.scores),
            "gain_over_one_topic": state.gain and state.gain[0],
            "noise_of_gain": state.gain and state.gain[1],
            "n_iter": state.passes,
            "n_components": first.n_components,
        }
        prior = _settled_prior(state.solution.prior, start.moment_concentration)
        return conclude(replace(state.solution, prior=prior), diagnostics)

    return solved(
        (
            yield from iterate(
                initial,
                ask,
                update,
                max_iter=most,
                stopping_rule=lambda iterations: iterations.state.passes == iterations.state.most,
                conclude=solved,
            )
        )
    )


@dataclass(frozen=True, eq=False)
class _Polished:
    """Topics after some passes.

    Attributes
    ----------
    solution : Topics
        Estimate of the last pass.
    topics : (words, k) float64 array
        Topics that the next pass starts from, beyond the estimate after a long step.
    scores : tuple of float
        Log-probability of a held-out word before every judged pass, in nats.
    gain : tuple of float, optional
        Last of these scores less that of a single topic, and its noise. None if no pass was judged.
    closing : int
        Number of the first pass that leaves out no documents.
    most : int
        Number of passes.
    passes : int
        Finished passes.
    """

    solution: Topics
    topics: FloatArray
    scores: tuple[float, ...]
    closing: int
    most: int
    passes: int = 0
    gain: tuple[float, float] | None = None

    def scored(
        self,
        completion: DocumentCompletionResult | None,
        of_one_topic: DocumentCompletionResult | None,
        weight_of_document: float,
    ) -> _Polished:
        """Return the plan of the passes after documents have been held out of one, if any."""
        if completion is None or of_one_topic is None:
            return self
        gain = None
        if completion.words:
            # a weight of two is no second document
            noise = _NOISE_OF_GAIN / np.sqrt(completion.words / max(1.0, weight_of_document))
            gain = completion.mean - of_one_topic.mean, float(noise)
        if completion.words < LEAST_HELD_OUT_WORDS:
            return replace(self, closing=FEW - CLOSING, most=FEW, gain=gain)
        scores = (*self.scores, completion.mean)
        scored = replace(self, scores=scores, gain=gain)
        if not is_settled(scores):
            return scored
        return replace(scored, closing=self.passes + 1, most=self.passes + 1 + CLOSING)


def counts_pass(counts: TopicCounts) -> Pass[TopicCountsResult]:
    """Return the pass of expected counts of all documents."""
    return Pass(_name(counts.step), counts)


def judged_pass(
    settings: TopicSettings, counts: TopicCounts, judged: Topics
) -> Pass[dict[str, Any]]:
    """Return the pass of expected counts of most documents, of which the others judge topics."""
    seed = settings.random_state
    share = max(10, settings.shape.most_rows // HELD_OUT)
    together = Together.named(
        counts=OfDocuments(counts, share, False, seed),
        completion=OfDocuments(judged.completion(seed), share, True, seed),
        of_one_topic=OfDocuments(judged.pooled().completion(seed), share, True, seed),
    )
    return Pass(_name(counts.step), together)


def _name(step: int) -> str:
    """Return the name of a pass."""
    return "topics" if not step else f"topics {step + 1}"


def is_settled(scores: Sequence[float]) -> bool:
    """Return True if held-out documents gained little by the last updates."""
    # the moments, which the first score judges, were told the words of these documents too
    before, last = scores[1:-PATIENCE], scores[-PATIENCE:]
    if not before or scores[-1] - scores[-2] > RISE:
        return False
    return max(last) - max(before) < STILL


def _prior_after(
    counts: TopicCountsResult, prior: FloatArray, settings: TopicSettings
) -> FloatArray:
    """Return the prior after a pass; a given concentration stays."""
    updated = updated_prior(
        prior, counts.slope, counts.curvature, counts.common_slope, counts.common_curvature
    )
    if settings.concentration is not None:
        updated *= settings.concentration / updated.sum()
    return updated


def _settled_prior(prior: FloatArray, of_moments: float | None) -> FloatArray:
    """Return the prior with the concentration of moments where the passes agree with it."""
    total = float(prior.sum())
    if of_moments is None or abs(np.log(of_moments / total)) > np.log(AGREEMENT):
        return prior
    return prior * (of_moments / total)
