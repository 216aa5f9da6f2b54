"""Verdict on a fitted model: its faults are warnings, and all sentences are diagnostics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from bigtensor.models.contract.script import Solved
from bigtensor.models.words.faults import Fault


def with_verdict(
    fitted: Any,
    faults: Sequence[Fault],
    praise: str,
    diagnostics: Mapping[str, Any],
    evidence: Mapping[str, Any] | None = None,
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    fitted : dataclass
        The solution.
    faults : sequence of Fault
        Sentences on faults, which become warnings, and notes.
    praise : str
        Sentence if there are no faults and no notes.
    diagnostics : mapping
        Diagnostics of the fit. The verdict is added to them.
    evidence : mapping, optional
        Numbers behind the verdict, JSON-serialisable.
    """
    for category, sentence in faults:
        if category is not None:
            warnings.warn(sentence, category, stacklevel=7)
    verdict = {
        "good": all(category is None for category, _ in faults),
        "sentences": [sentence for _, sentence in faults] or [praise],
        **(evidence or {}),
    }
    return Solved(fitted, {**diagnostics, "verdict": verdict})
