"""Script of a topic model: moments of words, then passes of expectation maximisation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.topics.topic_count import count_topics
from bigtensor.decomposition.topics.topic_moments import (
    WordMoments,
    estimated_concentration,
    solve_topics,
)
from bigtensor.decomposition.topics.topic_refinement import refined_topics
from bigtensor.decomposition.topics.word_span import (
    topic_span,
    topics_of_words,
    valid_topics,
    word_scales,
)
from bigtensor.errors import DataError, IdentifiabilityError, Message, Setting
from bigtensor.models.contract.script import Estimate, Script, Solved, Step
from bigtensor.models.topic_model.polish import PolishStart, polished
from bigtensor.models.topic_model.settings import TopicSettings
from bigtensor.models.topic_model.solution import Topics
from bigtensor.models.topic_model.verdict import judged
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.topics.document_completion import DocumentCompletion
from bigtensor.statistics.topics.documents import LARGEST_COUNT, negative_counts
from bigtensor.statistics.topics.held_out_documents import OfDocuments
from bigtensor.statistics.topics.pairs_of_groups import PairsOfGroups, PairsOfGroupsResult
from bigtensor.statistics.topics.topic_counts import TopicCounts
from bigtensor.statistics.topics.word_order import OfOrderedWords, WordOrder
from bigtensor.statistics.topics.word_pairs import WordPairs, WordPairsResult
from bigtensor.statistics.topics.word_triples import WordTriples, WordTriplesResult

GUESS = 1.0
"""Concentration of the prior before it is estimated; the span hardly depends on it."""

GROUPS = 10
"""Groups of documents whose differences tell the noise of the spectrum."""

LEAST_PROBABILITY = 1e-3
"""Of a word in a topic of moments, in units of one over the vocabulary."""

_HALF = 2
"""One document of so many chooses directions, whose values others tell."""


@dataclass(frozen=True, eq=False)
class TopicPreparation:
    """Span of the topics among all words.

    Attributes
    ----------
    settings : TopicSettings
        Resolved parameters of the fit.
    order : (V,) integer array
        Positions of the words in the order of their content, which all passes follow.
    n_components : int
        Number of components.
    span : (V, r) float64 array
        Orthonormal columns in scaled words.
    scales : (V,) float64 array
        Scale of every word.
    diagnostics : dict
        ``short_documents``, ``words_that_occur``, ``whole_counts`` and, where the number of topics
        was chosen, the ``spectrum``.
    """

    settings: TopicSettings
    order: IndexArray
    n_components: int
    span: FloatArray
    scales: FloatArray
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(Topics, TopicPreparation, TopicSettings, Together, OfDocuments),
    *(WordPairs, WordTriples, PairsOfGroups, TopicCounts, DocumentCompletion),
    *(WordOrder, OfOrderedWords),
)
"""Dataclasses that a saved topic model, prepared or fitted, is made of."""


def prepare(settings: TopicSettings) -> Script:
    """Find the order of the words, then the span of the topics by passes over pairs of words."""
    order: IndexArray = yield words_pass(settings)
    return (yield from _of_ordered_words(_spanned(settings, order), order))


def refine(preparation: TopicPreparation) -> Script:
    """Ask for triples of words, then for expected counts until held-out documents are content."""
    return (yield from _of_ordered_words(_refined(preparation), preparation.order))


def _of_ordered_words(script: Script, order: IndexArray) -> Script:
    """Show the words of all passes of a script in another order.

    Random numbers, signs of a decomposition and draws of words then depend on the order of the
    vocabulary in no step.
    """
    result = None
    while True:
        try:
            request = script.send(result)
        except StopIteration as end:
            return end.value
        result = yield ordered_pass(request, order) if isinstance(request, Pass) else request


def ordered_pass(request: Pass[Any], order: IndexArray) -> Pass[Any]:
    """Return a pass over documents whose words are in another order."""
    return replace(request, statistic=OfOrderedWords(request.statistic, order))


def _spanned(settings: TopicSettings, order: IndexArray) -> Script:
    """Return the preparation of a fit: the span of the topics."""
    diagnostics: dict[str, Any] = {}
    n_components, columns = settings.most_topics, sketch(settings, settings.most_topics)
    if settings.n_components == "auto":
        n_components, columns, diagnostics["spectrum"] = yield from _chosen(settings, columns)
    pairs = yield pairs_pass(columns, 0)
    _check_counts(pairs, settings)
    scales = word_scales(pairs.mean)
    guess = settings.concentration or GUESS
    span = topic_span(pairs.contracted, columns, pairs.mean, guess, scales)
    for step in range(1, settings.power_passes + 1):
        columns = scales[:, None] * span
        pairs = yield pairs_pass(columns, step)
        span = topic_span(pairs.contracted, columns, pairs.mean, guess, scales)
    diagnostics |= {
        "short_documents": pairs.short,
        "words_that_occur": int(np.count_nonzero(pairs.mean)),
        "whole_counts": not pairs.broken,
    }
    return TopicPreparation(settings, order, n_components, span, scales, diagnostics)


def sketch(settings: TopicSettings, n_components: int) -> FloatArray:
    """Return random columns, ``(V, r)``."""
    rng = np.random.default_rng(settings.random_state)
    return rng.normal(size=(settings.n_words, settings.columns(n_components)))


def words_pass(settings: TopicSettings) -> Pass[IndexArray]:
    """Return the pass that orders the words."""
    name_places = np.argsort(np.argsort(settings.shape.features, kind="stable"))
    return Pass("words", WordOrder(name_places))


def pairs_pass(columns: FloatArray, step: int) -> Pass[WordPairsResult]:
    """Return the pass that contracts the moment of pairs with columns."""
    return Pass("pairs" if not step else f"pairs {step + 1}", WordPairs(columns))


def half_pass(settings: TopicSettings, columns: FloatArray, step: int) -> Pass[WordPairsResult]:
    """Return `pairs_pass` over the documents that choose directions."""
    half = OfDocuments(WordPairs(columns), _HALF, True, settings.random_state)
    return Pass("half of the pairs" if not step else f"half of the pairs {step + 1}", half)


def spectrum_pass(settings: TopicSettings, columns: FloatArray) -> Pass[dict[str, Any]]:
    """Return the pass that sums pairs in the span of columns, of both halves of the documents."""
    seed = settings.random_state
    choosing = OfDocuments(PairsOfGroups(columns, 1, seed), _HALF, True, seed)
    others = OfDocuments(PairsOfGroups(columns, GROUPS, seed), _HALF, False, seed)
    return Pass("spectrum", Together.named(choosing=choosing, others=others))


def _chosen(
    settings: TopicSettings, columns: FloatArray
) -> Generator[Any, Any, tuple[int, FloatArray, dict[str, Any]]]:
    """Choose the number of topics; return it with columns to go on with, and the spectrum."""
    for step in (0, 1):
        pairs = yield half_pass(settings, columns, step)
        _check_counts(pairs, settings)
        scales = word_scales(pairs.mean)
        # without a guess of the concentration: the covariance of two words
        span = topic_span(pairs.contracted, columns, pairs.mean, np.inf, scales)
        columns = scales[:, None] * span
    estimated = yield spectrum_pass(settings, columns)
    half: PairsOfGroupsResult = estimated["choosing"]
    covariance = half.pair[0] - np.outer(half.mean[0], half.mean[0])
    counted = count_topics(covariance, estimated["others"].mean, estimated["others"].pair)
    n_components = min(max(counted.count, 2), settings.most_topics)
    diagnostics = {
        "count": counted.count,
        "values": counted.values.tolist(),
        "errors": counted.errors.tolist(),
    }
    directions = np.linalg.eigh(covariance)[1][:, ::-1]
    return n_components, columns @ directions[:, : settings.columns(n_components)], diagnostics


def _check_counts(pairs: WordPairsResult, settings: TopicSettings) -> None:
    """Refuse numbers that are no counts, and words that are fewer than topics.

    Raises
    ------
    DataError, IdentifiabilityError
    """
    if pairs.negative:
        raise negative_counts(pairs.negative)
    if pairs.large:
        raise DataError(
            f"{pairs.large:,} counts are above {LARGEST_COUNT:.0e}, and a topic model takes counts "
            "of words in documents; give counts before any transformation, or correct these"
        )
    if pairs.broken and settings.max_iter:
        raise DataError(
            f"{pairs.broken:,} counts are not whole numbers, and topics of single words cannot be "
            "drawn for them: give counts before any transformation, and round expected counts"
        )
    if pairs.broken and not pairs.influence:
        raise DataError(
            f"No document has three words: {pairs.broken:,} counts are not whole numbers, as in "
            "rows that are divided by their sums. Give counts before any transformation"
        )
    _check_documents(pairs.influence, settings)
    occurring = int(np.count_nonzero(pairs.mean))
    if settings.n_components != "auto" and occurring < settings.most_topics:
        raise IdentifiabilityError(
            Setting("n_components", settings.n_components)
            + f" exceeds the {occurring} words that occur: use fewer topics"
        )


def _check_documents(weight: float, settings: TopicSettings) -> None:
    """Raise a DataError where no document is long enough."""
    if weight > 0:
        return
    if settings.n_components == "auto":
        message = Message("half of the documents choose the number of topics, and none of them has")
        remedy = Message("more or longer documents, or ") + Setting("n_components")
    else:
        message, remedy = Message("no document has"), Message("longer documents")
    raise DataError(
        message
        + " three words and a weight above zero: topics follow from triples of words; give "
        + remedy
    )


def _refined(preparation: TopicPreparation) -> Script:
    """Return the solution of topics of moments, and of single words."""
    settings = preparation.settings
    columns = preparation.scales[:, None] * preparation.span
    triples: WordTriplesResult = yield triples_pass(columns)
    _check_documents(triples.documents, settings)
    yield Step("solving the moments")
    moments = WordMoments(triples.mean, triples.pair, triples.triple)
    concentration, diagnostics = _concentration(moments, preparation)
    estimated = solve_topics(moments, preparation.n_components, concentration)
    diagnostics = {**preparation.diagnostics, **diagnostics, "diagonality": estimated.diagonality}
    prior = estimated.prior * (concentration / estimated.prior.sum())
    axes = preparation.span, preparation.scales
    topics = topics_of_words(estimated.topics, *axes, LEAST_PROBABILITY)
    refined = refined_topics(moments, topics, prior, concentration, *axes)
    topics = valid_topics(refined, LEAST_PROBABILITY)
    words = prior * (triples.words / prior.sum())
    length = triples.words / triples.documents
    solution = Topics(topics, prior, words, length, settings.shape.views)
    solve = partial(_solved, solution, preparation, diagnostics)
    if settings.max_iter == 0 or not preparation.diagnostics["whole_counts"]:
        return solve()
    yield Estimate(solve)
    concentration_of_moments = diagnostics["moment_concentration"]
    start = PolishStart(solution, concentration_of_moments, triples.typical_length)
    return (yield from polished(start, settings, partial(_polished, preparation, diagnostics)))


def triples_pass(columns: FloatArray) -> Pass[WordTriplesResult]:
    """Return the pass of moments of triples in the span of columns."""
    return Pass("triples", WordTriples(columns))


def _concentration(
    moments: WordMoments, preparation: TopicPreparation
) -> tuple[float, dict[str, Any]]:
    """Return the concentration that is given or that moments agree with, and what is told of it."""
    concentration = preparation.settings.concentration
    if concentration is not None:
        return concentration, {"moment_concentration": None}
    try:
        estimated = estimated_concentration(moments, preparation.n_components, GUESS)
    except IdentifiabilityError:
        return GUESS, {"moment_concentration": None, "no_concentration": True}
    return estimated, {"moment_concentration": estimated}


def _polished(
    preparation: TopicPreparation,
    diagnostics: dict[str, Any],
    solution: Topics,
    polish: dict[str, Any],
) -> Solved:
    """Return the solution after passes of expectation maximisation."""
    return _solved(solution, preparation, {**diagnostics, **polish})


def _solved(solution: Topics, preparation: TopicPreparation, diagnostics: dict[str, Any]) -> Solved:
    """Return topics in their order, with the verdict on them."""
    in_data = solution.of_words(np.argsort(preparation.order))
    return judged(in_data.by_words(), preparation.settings, diagnostics)
