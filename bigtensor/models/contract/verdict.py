"""Faults of a fitted model, in words, and the verdict that they make up."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

from bigtensor.models.contract.script import Solved
from bigtensor.models.words.faults import Fault


class Components(Protocol):
    """Solution with a number of components."""

    @property
    def n_components(self) -> int:
        """Number of components."""


def with_verdict(
    components: Components, faults: Sequence[Fault], praise: str, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    components : dataclass
        The solution.
    faults : sequence of Fault
    praise : str
        The sentence where there is no fault.
    diagnostics : dict
    """
    for category, sentence in faults:
        if category is not None:
            warnings.warn(sentence, category, stacklevel=7)
    verdict = {
        "good": all(category is None for category, _ in faults),
        "sentences": [sentence for _, sentence in faults] or [praise],
    }
    told = {"n_components": components.n_components, **diagnostics, "verdict": verdict}
    return Solved(components, told)
