"""Judgement of a fitted linear mixture: what should worry, in words."""

from __future__ import annotations

import warnings
from typing import Any

from bigtensor.errors import ConditioningWarning, Setting
from bigtensor.models.gaussian_components import GaussianComponents
from bigtensor.models.outlier_words import outlier_words
from bigtensor.models.script import Solved

MOST_LEFT = 0.7
"""Weight of what is left of the tensor, over the median component, above which one is missing."""


def judged(components: GaussianComponents, asked: int, diagnostics: dict[str, Any]) -> Solved:
    """Return a solution with the verdict on it, and warn of a fault.

    Parameters
    ----------
    components : GaussianComponents
    asked : int
        Number of components that were asked for.
    diagnostics : dict
    """
    k = components.n_components
    faults = _more(diagnostics, asked) if asked > 1 else []
    faults = faults or _fewer(k, asked)
    if asked > 1 and not faults:
        faults = _sum(diagnostics)
    faults += outlier_words(diagnostics["rows_out_of_reach"], diagnostics["rows_seen"])
    sentences = faults or [f"{k} component{'s' * (k > 1)}; no further one stands out."]
    for sentence in faults:
        warnings.warn(sentence, ConditioningWarning, stacklevel=6)
    verdict = {"good": not faults, "sentences": sentences}
    return Solved(components, {**diagnostics, "verdict": verdict})


def _fewer(found: int, asked: int) -> list[str]:
    """Return a sentence on components that were asked for and not found."""
    if found >= asked:
        return []
    return [
        f"{found} of the {asked} components asked for stand out from the noise, and only these are "
        "returned. Use more rows, or fewer components (" + Setting("n_components", found) + ")."
    ]


def _more(diagnostics: dict[str, Any], asked: int) -> list[str]:
    """Return a sentence on components beyond those that were asked for."""
    seen = diagnostics["pilot"]["components_seen"]
    if seen > asked:
        return [
            f"The sample has more components that stand out from the noise than the {asked} asked "
            "for, and only the heaviest are returned. Use more components ("
            + Setting("n_components")
            + ")."
        ]
    left = diagnostics["pilot"]["left_weight"]
    if left is None or left < MOST_LEFT:
        return []  # power updates as they were published do not look for more
    return [
        "The sample has components beyond those asked for, with "
        f"{left:.1f} times the median weight. Use more components ("
        + Setting("n_components")
        + ")."
    ]


def _sum(diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on weights that do not add up."""
    total = diagnostics["weight_sum"]
    if 0.8 <= total <= 1.25:
        return []
    return [
        f"The weights of the components add up to {total:.2f} in place of 1: rows far from all "
        "components, dependent views, or too few components."
    ]
