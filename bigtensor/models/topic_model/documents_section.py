"""Section of the report of topics on their most typical documents."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block as RowBlock
from bigtensor.models.topic_model.solution import Topics
from bigtensor.models.words.report_blocks import Cell, Section, Table, Words
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE

DOCUMENTS = 3
"""Typical documents of every topic."""

MOST_TOPICS = 60
"""Topics in the table."""

WORDS_SHOWN = 8
"""Words of a document that are shown."""

SHORT = 50
"""Words of a document at which its share of a topic counts half. Shares of a few words are guesses,
and would otherwise come first."""


def document_shares(solution: Topics, rows: SampledRows) -> FloatArray:
    """Return the shares of the topics in sampled documents.

    Parameters
    ----------
    solution : Topics
        Fitted topics.
    rows : SampledRows
        Documents.

    Returns
    -------
    (n, k) float64 array
        Shares that sum to one.
    """
    n = int(rows.values.shape[0])
    return outputs_in_memory(solution.shares(), RowBlock(rows.values, {}, 0, n))[TOPIC_SHARE]


def documents_section(
    solution: Topics, words: tuple[str, ...], rows: SampledRows, shares: FloatArray
) -> Section:
    """Return the table of the most typical documents of every topic.

    Parameters
    ----------
    solution : Topics
        Fitted topics.
    words : tuple of str
        Names of the words.
    rows : SampledRows
        Documents.
    shares : (n, k) float64 array
        From `document_shares`.
    """
    counts = sp.csr_array(rows.values)
    lengths = np.asarray(counts.sum(axis=1)).ravel().astype(np.float64)
    typical = shares * (lengths / (lengths + SHORT))[:, None]
    lines = []
    for topic in range(min(solution.n_components, MOST_TOPICS)):
        for place in np.argsort(-typical[:, topic], kind="stable")[:DOCUMENTS]:
            own = _typical_words(counts, int(place), solution.topics[:, topic])
            lines.append(
                (
                    Cell(str(topic)),
                    Cell(rows.row_name(int(place))),
                    Cell(f"{100 * shares[place, topic]:.0f} %", float(shares[place, topic])),
                    Cell(f"{lengths[place]:,.0f}"),
                    Cell(", ".join(words[word] for word in own), wide=True),
                )
            )
    lead = Words(
        f"Long documents with a large share of every topic, of {len(lengths):,} documents. Of n "
        f"words, the share counts n / (n + {SHORT}) times, because shares of a few words are "
        "uncertain. Words are those of the document that the topic makes most likely."
        + ("" if rows.names is not None else " Documents are numbered from 0.")
    )
    table = Table(("topic", "document", "share", "words", "words of the topic in it"), tuple(lines))
    return Section("documents", "Typical documents", (lead, table), "Documents")


def _typical_words(counts: sp.csr_array, place: int, topic: FloatArray) -> list[int]:
    """Return the words of a document with the largest counts times probabilities in a topic."""
    start, stop = counts.indptr[place], counts.indptr[place + 1]
    own, times = counts.indices[start:stop], counts.data[start:stop]
    order = np.argsort(-times * topic[own], kind="stable")[:WORDS_SHOWN]
    return [int(word) for word in own[order]]
