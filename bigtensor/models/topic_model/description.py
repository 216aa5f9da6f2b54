"""Description of fitted topics: their likely words, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.topic_model.documents_section import document_shares, documents_section
from bigtensor.models.topic_model.sections import (
    DescribedTopics,
    diagnostic_blocks,
    map_section,
    samples_section,
    words_section,
)
from bigtensor.models.words.description import Facts, Line, ModelDescription
from bigtensor.models.words.faults import verdict_notice, verdict_words
from bigtensor.models.words.report_blocks import ReportParts, Section
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.models.words.summary_table import SummaryTable
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE

WORDS = 8
"""Likely words of a topic that are told."""


class TopicDescription(ModelDescription[DescribedTopics]):
    """Facts and words on topics."""

    row_answer = TOPIC_SHARE

    def outcome(self, model: DescribedTopics) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        passes = diagnostics.get("n_iter", 0)
        return [
            (
                "topics",
                f"{len(model.doc_concentration_)} from triples of words, then {passes} passes of "
                "expectation maximisation",
            ),
            ("prior", f"concentration {model.doc_concentration_.sum():.3g}"),
            ("verdict", verdict_words(diagnostics["verdict"])),
        ]

    def facts(self, model: DescribedTopics) -> Facts:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["n_components"] = len(model.doc_concentration_)
            facts["doc_concentration"] = model.doc_concentration_.tolist()
            facts["topic_weights"] = model.topic_weights_.tolist()
            facts["top_words"] = model.top_words(WORDS)
        return facts

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the number of topics in words.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        k = facts.get("n_components")
        return "" if k is None else f"{k} topics"

    def table(self, facts: Mapping[str, Any]) -> SummaryTable:
        """Return the weight and the likely words of every topic."""
        pairs = zip(facts["topic_weights"], facts["top_words"], strict=True)
        rows = [
            (str(topic), weight, " ".join(words)) for topic, (weight, words) in enumerate(pairs)
        ]
        return SummaryTable(("topic", "weight", "likely words"), rows)

    def report(self, model: DescribedTopics, rows: SampledRows | None) -> ReportParts:
        """Return notices, sentences and sections of the report."""
        diagnostics = model.diagnostics_
        of_rows: list[Section] = []
        if rows is not None:
            shares = document_shares(model.solution_, rows)
            names = model.views_.feature_names
            of_rows.append(documents_section(model.solution_, tuple(names), rows, shares))
            of_rows += samples_section(model, rows, shares)
        return ReportParts(
            notices=(verdict_notice(diagnostics["verdict"]),),
            headline=(("topics", str(len(model.doc_concentration_))),),
            method=tuple(method_in_words(model)),
            axes=("documents", "words"),
            sections=(words_section(model), *of_rows, map_section(model)),
            diagnostics=diagnostic_blocks(diagnostics),
        )


def method_in_words(model: DescribedTopics) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    diagnostics = model.diagnostics_
    yield (
        "Every document is a mixture of topics, which are distributions over words; the order of "
        "words does not count."
    )
    yield "The topics were found in the moments of pairs and triples of words of the same document."
    passes = diagnostics.get("n_iter", 0)
    if passes:
        yield (
            f"{passes} passes of Monte Carlo expectation maximisation over all documents followed."
        )
    of_moments = diagnostics["moment_concentration"]
    if of_moments is not None:
        yield (
            f"The moments agree with a concentration of {of_moments:.3g}; that of the model is "
            f"{model.doc_concentration_.sum():.3g}."
        )
