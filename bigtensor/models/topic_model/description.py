"""Description of fitted topics: their likely words, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bigtensor.errors import ParameterError, Setting
from bigtensor.models.description import Facts, Line, ModelDescription
from bigtensor.models.faults import verdict_words
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE

WORDS = 8
"""Likely words of a topic that are told."""


class TopicDescription(ModelDescription):
    """Facts and words on topics."""

    def facts(self, model: Any) -> Facts:
        """Return facts as JSON holds them.

        Parameters
        ----------
        model : fitted or prepared model
        """
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["n_topics"] = len(model.doc_concentration_)
            facts["doc_concentration"] = model.doc_concentration_.tolist()
            facts["topic_weights"] = model.topic_weights_.tolist()
            facts["top_words"] = model.top_words(WORDS)
        return facts

    def size(self, facts: Any) -> str:
        """Return the number of topics in words.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        k = facts.get("n_topics")
        return "" if k is None else f"{k} topics"

    def fit_lines(self, model: Any) -> Iterator[Line]:
        """Return names and words for the result of a fit.

        Parameters
        ----------
        model : fitted model
        """
        yield from outcome_in_words(model)
        for topic, words in enumerate(model.top_words(WORDS)):
            yield f"topic {topic}", f"{model.topic_weights_[topic]:.3f}  {' '.join(words)}"

    def row_outputs(
        self,
        model: Any,  # noqa: ARG002
        level: str | None = None,
        *,
        probabilities: bool = False,
    ) -> tuple[str, ...]:
        """Return the name of the shares.

        Parameters
        ----------
        model : fitted model
        level, probabilities
            Of mixtures alone.

        Raises
        ------
        ParameterError
            When a level or probabilities are asked for.
        """
        if level is not None or probabilities:
            raise ParameterError(
                "shares of topics have neither levels nor probabilities: leave "
                + (Setting("level") if level is not None else Setting("probabilities"))
                + " out"
            )
        return (TOPIC_SHARE,)


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    passes = found.get("polish_passes", 0)
    return [
        (
            "topics",
            f"{len(model.doc_concentration_)} from triples of words, then {passes} passes of "
            "expectation maximisation",
        ),
        ("prior", f"concentration {model.doc_concentration_.sum():.3g}"),
        ("verdict", verdict_words(found["verdict"])),
    ]
