"""Faults of a fitted model, in words: some are warnings, others notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bigtensor.errors import BigtensorWarning, ConditioningWarning, Message
from bigtensor.models.words.report_blocks import Notice
from bigtensor.models.words.wording import sentence_of

Fault = tuple[type[BigtensorWarning] | None, Message | str]
"""Category of the warning, or None for a note, and the sentence."""


def confirmation_before_notes(faults: Sequence[Fault], confirmation: str) -> list[Fault]:
    """Put the sentence that confirms the result first if there are only notes."""
    if any(category is not None for category, _ in faults):
        return list(faults)
    return [(None, confirmation), *faults]


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """Return the sentences of a verdict."""
    # as a message, so that parameters become options on the command line
    return Message(" ").join(map(sentence_of, verdict["sentences"]))


def verdict_notice(verdict: Mapping[str, Any]) -> Notice:
    """Return the notice of the report that tells a verdict."""
    return Notice("good" if verdict["good"] else "warning", verdict_words(verdict))


def as_warnings(*sentences: Message | str) -> list[Fault]:
    """Return sentences as faults that are warned of."""
    return [(ConditioningWarning, sentence) for sentence in sentences]
