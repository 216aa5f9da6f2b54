"""Sections of the report of topics: their words, a map, and topics by sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block as RowBlock
from bigtensor.models.topic_model.coherence import likely_words
from bigtensor.models.topic_model.solution import Topics
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.report_blocks import Block, Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import Curve, Curves, Heatmap, Panel
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE

WORDS = 10
"""Likely words of a topic that are shown."""

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
    """Return the table of the likely words of every topic, with their probability and lift."""
    topics, names = model.solution_.topics, model.views_.feature_names
    lift = topics / (topics @ model.topic_weights_)[:, None]
    largest = model.topic_weights_.max()
    rows = tuple(
        (
            Cell(str(topic)),
            Cell(f"{100 * weight:.1f} %", shade=float(weight / largest)),
            Cell(f"{model.doc_concentration_[topic]:.3g}"),
            Cell(
                ", ".join(
                    f"{names[word]} {topics[word, topic]:.3f} (x {lift[word, topic]:.1f})"
                    for word in own
                ),
                wide=True,
            ),
        )
        for topic, (weight, own) in enumerate(
            zip(model.topic_weights_, likely_words(topics, WORDS), strict=True)
        )
    )
    caption = (
        "Likeliest words of every topic with their probability, and in brackets the lift: how much "
        "likelier a word is in the topic than in all documents. A lift near 1 tells of a word that "
        "all topics share. The prior is the parameter of the topic in the Dirichlet distribution "
        "of shares."
    )
    table = Table(("topic", "share of words", "prior", "words"), rows, caption)
    return Section("topics", "Topics and their words", (table,), "Topics")


def map_section(model: DescribedTopics) -> Section:
    """Return the picture of how near topics are to each other."""
    roots = np.sqrt(model.solution_.topics[:, :MOST_LINES])
    # one minus the squared Hellinger distance
    likeness = np.clip(roots.T @ roots, 0, 1)
    order = _neighbours(1 - likeness)
    names = tuple(str(topic) for topic in order)
    words = (
        "Overlap of the words of two topics, from 0 for topics without a common word to 1 for the "
        "same topic (Bhattacharyya coefficient). Topics that share words stand beside each other."
    )
    heatmap = Heatmap("Overlap of topics", likeness[np.ix_(order, order)], names, names, "overlap")
    return Section("map", "Map of the topics", (Words(words), heatmap), "Map")


def _neighbours(distance: FloatArray) -> NDArray[np.intp]:
    """Return an order in which near topics follow each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distance) < 3:
        return np.arange(len(distance))
    flat = squareform((distance + distance.T) / 2, checks=False)
    return np.asarray(leaves_list(linkage(flat, "average", optimal_ordering=True)), np.intp)


def samples_section(model: DescribedTopics, rows: SampledRows) -> Iterator[Section]:
    """Return the picture of the mean shares of every sample or class, where the data have any."""
    groups = rows.sample_id or rows.truth
    if groups is None:
        return
    function = model.solution_.shares()
    n, k = int(rows.values.shape[0]), model.solution_.n_components
    out = {TOPIC_SHARE: np.empty((n, k))}
    function.evaluate(RowBlock(rows.values, {}, 0, n), out, Workspace())
    weight, means, names = np.asarray(rows.weight), [], []
    for code, name in enumerate(groups.names[:MOST_LINES]):
        own = groups.codes == code
        if weight[own].sum() > 0:
            means.append(np.average(out[TOPIC_SHARE][own], axis=0, weights=weight[own]))
            names.append(name)
    if not means:
        return
    kind = "sample" if rows.sample_id is not None else "class"
    words = f"Mean share of every topic in the documents of every {kind}, of {n:,} documents."
    columns = tuple(str(topic) for topic in range(min(k, MOST_LINES)))
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
