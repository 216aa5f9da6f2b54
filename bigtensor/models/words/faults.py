"""Faults of a fitted model, in words: some are warnings, others notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigtensor.errors import BigtensorWarning, ConditioningWarning, Message

Fault = tuple[type[BigtensorWarning] | None, Message | str]
"""A sentence, and the warning that it is; None for a note."""


def after_praise(faults: Sequence[Fault], praise: str) -> list[Fault]:
    """Return faults, behind a sentence of praise if all of them are notes."""
    if any(category is not None for category, _ in faults):
        return list(faults)
    return [(None, praise), *faults]


def verdict_words(verdict: dict[str, Any]) -> str:
    """Return the sentences of a verdict."""
    return " ".join(verdict["sentences"])


def as_warnings(*sentences: Message | str) -> list[Fault]:
    """Return sentences as faults that are warned of."""
    return [(ConditioningWarning, sentence) for sentence in sentences]
