"""Sections of the report of topics: their words, a map, and topics by sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.topic_model.coherence import likely_words
from bigtensor.models.topic_model.solution import Topics
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.report_blocks import Block, Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import Curve, Curves, Heatmap, Panel
from bigtensor.models.words.sample_figures import SampleMap
from bigtensor.models.words.sampled_rows import SampledRows

WORDS = 10
"""Likely words, and distinctive words, of a topic that are shown."""

WORDS_OF_NAME = 2
"""Distinctive words that name a topic in figures."""

MOST_LINES = 60
"""Topics, and samples, that a picture shows."""


class DescribedTopics(DescribedModel, Protocol):
    """Attributes of a topic model that its description uses."""

    topic_weights_: NDArray[np.float64]
    doc_concentration_: NDArray[np.float64]

    @property
    def solution_(self) -> Topics:
        """Result of the fit."""

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """Return the names of the likeliest words of every topic, descending."""


def words_section(model: DescribedTopics) -> Section:
    """Return the table of the likely words of every topic."""
    largest = model.topic_weights_.max()
    names = model.views_.feature_names
    rows = tuple(
        (
            Cell(str(topic)),
            Cell(f"{100 * weight:.1f} %", shade=float(weight / largest)),
            Cell(", ".join(names[word] for word in likely), wide=True),
            Cell(", ".join(own), wide=True),
        )
        for topic, (weight, likely, own) in enumerate(
            zip(
                model.topic_weights_,
                likely_words(model.solution_.topics, WORDS),
                distinctive_words(model, WORDS),
                strict=True,
            )
        )
    )
    caption = (
        "The share is the part of all words that a topic explains. Likely words are the most "
        "frequent ones of a topic, which other topics may share. Distinctive words are also more "
        "frequent than in all documents together."
    )
    table = Table(("topic", "share", "likely words", "distinctive words"), rows, caption)
    return Section("topics", "Topics and their words", (table,), "Topics")


def distinctive_words(model: DescribedTopics, n_words: int) -> list[list[str]]:
    """Return the names of words that are likely in a topic and less so in all documents.

    Parameters
    ----------
    model : fitted model
        Fitted topics.
    n_words : int
        Words of every topic, the most distinctive first.
    """
    topics = model.solution_.topics
    lift = topics / np.maximum(topics @ model.topic_weights_, np.finfo(np.float64).tiny)[:, None]
    # the score of Sievert and Shirley (2014) with the weight that their readers preferred
    relevance = 0.6 * np.log(np.maximum(topics, 1e-300)) + 0.4 * np.log(np.maximum(lift, 1e-300))
    names = model.views_.feature_names
    return [[names[word] for word in own] for own in likely_words(relevance, n_words)]


def _topic_names(model: DescribedTopics) -> tuple[str, ...]:
    """Return the number of every topic with its most distinctive words."""
    words = distinctive_words(model, WORDS_OF_NAME)
    return tuple(f"{topic} {' '.join(own)}" for topic, own in enumerate(words))


def map_section(model: DescribedTopics) -> Section:
    """Return pictures of how near topics are to each other."""
    roots = np.sqrt(model.solution_.topics[:, :MOST_LINES])
    # one minus the squared Hellinger distance
    likeness = np.clip(roots.T @ roots, 0, 1)
    order = _neighbours(1 - likeness)
    names = _topic_names(model)
    words = (
        "Topics that use the same words are close to each other, and stand beside each other in "
        "the table of overlaps. An overlap of 0 is no common word, and 1 the same topic. Words "
        "that all documents use make overlaps large. The strongest colour stands for the largest "
        "overlap of two topics. Topics are named by distinctive words."
    )
    apart = likeness[~np.eye(len(likeness), dtype=bool)]
    heatmap = Heatmap(
        "Overlap of topics",
        likeness[np.ix_(order, order)],
        tuple(names[topic] for topic in order),
        tuple(str(topic) for topic in order),
        "overlap",
        float(apart.max(initial=0.0)) or 1.0,
        decimals=2,
    )
    figures: list[Block] = [heatmap]
    if roots.shape[1] > 2:
        figures.insert(0, _topic_map(roots, names))
    blocks = (Words(words), Group(tuple(figures), layout="halves"))
    return Section("map", "Map of the topics", blocks, "Map")


def _topic_map(roots: FloatArray, names: tuple[str, ...]) -> SampleMap:
    """Return topics as points, by the two directions in which they differ most."""
    left, values, _ = np.linalg.svd((roots - roots.mean(axis=1, keepdims=True)).T, False)
    squares = values**2
    return SampleMap(
        f"Map of {len(names)} topics: topics that use the same words are near each other.",
        left[:, :2] * values[:2],
        squares[:2] / max(float(squares.sum()), np.finfo(np.float64).tiny),
        names[: roots.shape[1]],
        np.full(roots.shape[1], -1, np.int64),
    )


def _neighbours(distance: FloatArray) -> NDArray[np.intp]:
    """Return an order in which near topics follow each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distance) < 3:
        return np.arange(len(distance))
    flat = squareform((distance + distance.T) / 2, checks=False)
    return np.asarray(leaves_list(linkage(flat, "average", optimal_ordering=True)), np.intp)


def samples_section(
    model: DescribedTopics, rows: SampledRows, shares: FloatArray
) -> Iterator[Section]:
    """Return the picture of the mean shares of every sample or class, where the data have any.

    Parameters
    ----------
    model : fitted model
        Fitted topics.
    rows : SampledRows
        Documents.
    shares : (n, k) float64 array
        Shares of the topics in the documents.
    """
    groups = rows.sample_id or rows.truth
    if groups is None:
        return
    n = len(shares)
    weight, means, names = np.asarray(rows.weight), [], []
    for code, name in enumerate(groups.names[:MOST_LINES]):
        own = groups.codes == code
        if weight[own].sum() > 0:
            means.append(np.average(shares[own], axis=0, weights=weight[own]))
            names.append(name)
    if not means:
        return
    kind = "sample" if rows.sample_id is not None else "class"
    words = f"Mean share of every topic in the documents of every {kind}, of {n:,} documents."
    columns = _topic_names(model)[:MOST_LINES]
    shades = np.stack(means)[:, :MOST_LINES]
    heatmap = Heatmap(
        f"Mean shares of topics by {kind}",
        shades,
        tuple(names),
        columns,
        "mean share",
        max(float(shades.max()), 1e-9),
    )
    yield Section("samples", f"Topics by {kind}", (Words(words), heatmap), f"By {kind}")


def diagnostic_blocks(diagnostics: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return figures of the prediction of held-out documents, and of the spectrum.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of a fitted model.
    """
    blocks: list[Block] = []
    scores = diagnostics.get("completion", ())
    if len(scores) > 1:
        panel = Panel(
            (Curve(range(len(scores)), scores, marker=4.0),),
            x_label="passes of expectation maximisation",
            y_label="log-probability of a word",
        )
        words = Words(
            "Mean log-probability of a word of a held-out document, in nats, given other words of "
            "it. The passes end where it settles; the last one is over all documents."
        )
        blocks.append(Group((Curves("Prediction of held-out documents", (panel,)), words)))
    if "spectrum" in diagnostics:
        values, errors = (np.array(diagnostics["spectrum"][name]) for name in ("values", "errors"))
        places = range(1, len(values) + 1)
        panel = Panel(
            (
                Curve(places, values, "covariance", marker=4.0),
                Curve(places, 4 * errors, "four standard errors", colour=None, dashed=True),
            ),
            x_label="direction",
            y_label="covariance of two words",
        )
        words = Words(
            "Covariance of two words of a document along directions that other documents have "
            "chosen. Topics are one more than the directions above four standard errors."
        )
        blocks.append(Group((Curves("Spectrum of pairs of words", (panel,)), words)))
    return (Group(tuple(blocks), layout="wide"),) if blocks else ()
