"""Judgement of fitted topics: what should worry, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.decomposition.topics.topic_moments import TWO_TOPICS
from bigtensor.errors import ConditioningWarning, Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.topic_model.settings import MOST_TOPICS, TopicSettings
from bigtensor.models.topic_model.solution import Topics
from bigtensor.models.words.faults import Fault, as_warnings, confirmation_before_notes

ALIKE = 0.2
"""Distance of two topics, from 0 to 2, below which they are one."""

FEW_WORDS = 100
"""A topic of fewer words is not told from chance."""

SHORT = 10
"""Mean length of documents below which triples of words are few."""


RARE = 0.1
"""Words of a topic, over the median of all topics, below which it may be of a few odd documents."""

APART = 1.8
"""Distance of a topic from all others together, from 0 to 2, above which it shares few words."""


def judged(topics: Topics, settings: TopicSettings, diagnostics: dict[str, Any]) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    topics : Topics
        The fitted topics.
    settings : TopicSettings
        Resolved parameters of the fit.
    diagnostics : dict
        With ``short_documents``, ``words_that_occur`` and ``whole_counts``, and with
        ``gain_over_one_topic`` and ``noise_of_gain`` after judged passes.
    """
    k = topics.n_components
    faults = [
        *(_no_topics(k, diagnostics) or [*_alike(topics), *_small(topics)]),
        *_apart(topics),
        *_broken_counts(diagnostics),
        *_unknown_concentration(k, diagnostics),
        *_lengths(topics, diagnostics),
        *_words(settings, diagnostics),
        *_most(settings, k),
    ]
    confirmation = f"{k} topics, no two alike and none almost empty."
    diagnostics = {"n_components": k, **diagnostics, "mean_length": topics.mean_length}
    return with_verdict(
        topics, confirmation_before_notes(faults, confirmation), confirmation, diagnostics
    )


def _no_topics(k: int, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on topics that neither pairs of words nor held-out words speak for."""
    if diagnostics.get("spectrum", {}).get("count") == 1:
        return as_warnings(
            "Pairs of words tell no two topics apart, and 2 is the smallest number. Give more or "
            "longer documents."
        )
    gain = diagnostics.get("gain_over_one_topic")
    if gain is None or gain > diagnostics["noise_of_gain"]:
        return []
    sentence = Message(
        f"Held-out words are no more probable with {k} topics than with one ({gain:+.4f} nats a "
        "word), so that these documents may have no topics. "
    )
    fewer = "Use fewer topics (" + Setting("n_components") + "), or give" if k > 2 else "Give"
    return as_warnings(sentence + fewer + " more or longer documents.")


def _broken_counts(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on counts that are not whole numbers."""
    if diagnostics["whole_counts"]:
        return []
    return as_warnings(
        "Counts are not whole numbers, so that the passes that make topics precise were left out, "
        "and the topics may be wrong. Give counts before any transformation, and round expected "
        "counts."
    )


def _unknown_concentration(k: int, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on moments that do not tell the concentration."""
    followed = bool(diagnostics.get("n_iter"))
    if not diagnostics.get("no_concentration") or (k == TWO_TOPICS and followed):
        return []
    sentence = Message(
        "With two topics, every concentration of the prior explains the moments equally well, with "
        "different topics"
        if k == TWO_TOPICS
        else "No concentration of the prior agrees with the moments of so many topics, as where "
        "words come in bursts"
    )
    if followed:
        return [(None, sentence + "; the passes that followed have estimated it.")]
    remedy = Message(": give ") + Setting("doc_concentration")
    if diagnostics["whole_counts"]:
        passes = " out, so that passes over the documents estimate it"
        remedy = remedy + ", or leave " + Setting("max_iter") + passes
    return as_warnings(sentence + remedy + ".")


def _alike(topics: Topics) -> list[Fault]:
    """Return a sentence on the first two topics that have the same words."""
    k = topics.n_components
    for a in range(k):
        distance = np.abs(topics.topics[:, a + 1 :] - topics.topics[:, [a]]).sum(axis=0)
        near = np.flatnonzero(distance < ALIKE)
        if near.size:
            b = a + 1 + int(near[0])
            return [
                (
                    ConditioningWarning,
                    Message(
                        f"Topics {a} and {b} have nearly the same words (distance "
                        f"{distance[near[0]]:.2f} of 2). Use fewer topics ("
                    )
                    + Setting("n_components")
                    + ").",
                )
            ]
    return []


def _small(topics: Topics) -> list[Fault]:
    """Return a sentence on topics of hardly any word."""
    few = int(np.count_nonzero(topics.words < FEW_WORDS))
    if not few:
        return []
    return [
        (
            ConditioningWarning,
            Message(
                f"{few} of {topics.n_components} topics have fewer than {FEW_WORDS} words in all "
                "documents. Use fewer topics ("
            )
            + Setting("n_components")
            + "), or more documents.",
        )
    ]


def _apart(topics: Topics) -> list[Fault]:
    """Return a note on a topic of few documents with words of their own."""
    k, last = topics.n_components, topics.words[-1]
    if k == 1 or not FEW_WORDS <= last < RARE * np.median(topics.words):
        return []
    others = topics.topics[:, :-1] @ (topics.words[:-1] / topics.words[:-1].sum())
    if np.abs(topics.topics[:, -1] - others).sum() < APART:
        return []
    documents = max(1, round(last / topics.mean_length))
    share = 100 * last / topics.words.sum()
    sentence = (
        f"Topic {k - 1} has {share:.1g} % of all words, as many as {documents:,} documents, and "
        "other topics hardly share these words. Look at its documents: a few of another kind, such "
        "as of another language, may have taken the place of a topic."
    )
    return [(None, sentence)]


def _lengths(topics: Topics, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return sentences on short documents."""
    faults: list[Fault] = []
    if topics.mean_length < SHORT:
        faults.append(
            (
                None,
                f"Documents have {topics.mean_length:.1f} words on average: triples of words are "
                "few, and the first topics are noisy.",
            )
        )
    if diagnostics["short_documents"]:
        faults.append(
            (
                None,
                "The moments leave out documents of fewer than three words "
                f"({diagnostics['short_documents']:,}).",
            )
        )
    return faults


def _words(settings: TopicSettings, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on words that never occur."""
    never = settings.n_words - diagnostics["words_that_occur"]
    if not never:
        return []
    return [(None, f"{never:,} of {settings.n_words:,} words do not occur.")]


def _most(settings: TopicSettings, k: int) -> list[Fault]:
    """Return a sentence on a number of topics that ends at the largest one."""
    if settings.n_components != "auto" or k < MOST_TOPICS:
        return []
    return [
        (
            None,
            Message(f"Pairs of words tell {MOST_TOPICS} topics apart, and perhaps more: for more, ")
            + "give "
            + Setting("n_components")
            + ".",
        )
    ]
