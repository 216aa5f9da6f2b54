"""Judgement of fitted sources: what should worry, in words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bigtensor.decomposition.independent_components import PrincipalAxes
from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import (
    BigtensorWarning,
    ConditioningWarning,
    ConstantFeatureWarning,
    Message,
    RefinementWarning,
    Setting,
)
from bigtensor.models.ica.settings import ICASettings
from bigtensor.models.ica.solution import IndependentComponents
from bigtensor.models.script import Solved

GAUSSIAN_DEVIATION = 0.3535
"""Standard deviation of y tanh(y) + tanh(y)^2 of a Gaussian y, once its variance is made one."""

_LEAST_DEVIATIONS = 3.0

_NOT_SETTLED = 0.05
"""Mean sine of the turn by the last pass, above which the sources have not settled."""

_MOST_NAMES = 6

Fault = tuple[type[BigtensorWarning] | None, Message]
"""A sentence, and the warning that it is; None for a note."""


def gaussian_sources(distances: FloatArray, weight: float) -> int:
    """Return the number of sources that are Gaussian within the noise.

    The rotation looks for the largest distances, which are larger the more directions there are.

    Parameters
    ----------
    distances : (k,) array
        Mean of y tanh(y) less the mean slope of tanh.
    weight : float
        Of the rows.
    """
    deviations = _LEAST_DEVIATIONS + np.sqrt(len(distances))
    most = deviations * GAUSSIAN_DEVIATION / np.sqrt(weight)
    return int(np.count_nonzero(np.abs(distances) <= most))


def judged(
    components: IndependentComponents,
    settings: ICASettings,
    axes: PrincipalAxes,
    diagnostics: dict[str, Any],
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    components : IndependentComponents
    settings : ICASettings
    axes : PrincipalAxes
        Of all rows.
    diagnostics : dict
    """
    faults = [
        *_constant(settings, axes),
        *_rank(settings, axes),
        *_out_of_reach(diagnostics),
        *_fewer(components, settings, axes, diagnostics),
        *_gaussian(components, diagnostics),
        *_unsettled(diagnostics),
    ]
    for category, sentence in faults:
        if category is not None:
            warnings.warn(sentence, category, stacklevel=6)
    k = components.n_components
    sentences = [str(sentence) for _, sentence in faults]
    verdict = {
        "good": all(category is None for category, _ in faults),
        "sentences": sentences or [f"{k} source{'s' * (k > 1)}, at most one of them Gaussian."],
    }
    told = {"n_components": k, "rank": axes.rank, **diagnostics, "verdict": verdict}
    return Solved(components, told)


def _constant(settings: ICASettings, axes: PrincipalAxes) -> list[Fault]:
    """Return a sentence on features without variance."""
    named = zip(settings.features, axes.varying, strict=True)
    names = [name for name, varying in named if not varying]
    if not names:
        return []
    listed = ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." * (len(names) > _MOST_NAMES))
    plural = "s" * (len(names) > 1)
    return [
        (
            ConstantFeatureWarning,
            Message(
                f"Feature{plural} {listed} ha{'ve' if plural else 's'} one value only, and no part "
                "in any source."
            ),
        )
    ]


def _rank(settings: ICASettings, axes: PrincipalAxes) -> list[Fault]:
    """Return a sentence on features that depend linearly on others."""
    varying = int(np.count_nonzero(axes.varying))
    asked = settings.n_components
    if axes.rank >= varying or (asked is not None and asked <= axes.rank):
        return []
    remedy, category = Message(""), None if asked is None else ConditioningWarning
    if asked is not None and settings.method != "cumulant":
        remedy = " For more sources than axes, use " + Setting("method", "cumulant") + "."
    return [
        (
            category,
            f"The {varying} features that vary depend linearly on each other and have the rank "
            f"{axes.rank}: there are at most {axes.rank} sources without noise." + remedy,
        )
    ]


def _out_of_reach(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on outliers."""
    left_out = diagnostics["rows_out_of_reach"]
    if not left_out:
        return []
    return [
        (
            ConditioningWarning,
            Message(
                f"{left_out:,} row{'s' * (left_out > 1)} far from all others had no part in the "
                "sums: a single such row would make up a source. Their sources are answered all "
                "the same. Transform features with heavy tails if the rows are good."
            ),
        )
    ]


def _fewer(
    components: IndependentComponents,
    settings: ICASettings,
    axes: PrincipalAxes,
    diagnostics: dict[str, Any],
) -> list[Fault]:
    """Return a sentence on sources that were asked for and not found."""
    asked = settings.n_components or axes.rank
    found = components.n_components
    if diagnostics["method"] == "whitened" or found >= asked:
        return []
    return [
        (
            None if settings.n_components is None else ConditioningWarning,
            f"{found} of {asked} sources stand out from Gaussian noise in the fourth cumulant, and "
            "only these are returned. Use " + Setting("n_components", found) + ", or more rows.",
        )
    ]


def _gaussian(components: IndependentComponents, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on sources that no rotation tells apart."""
    gaussian = diagnostics.get("gaussian_sources", 0)
    if gaussian < 2:
        return []
    # few of many are common in real data
    most = 2 * gaussian >= components.n_components
    return [
        (
            ConditioningWarning if most else None,
            Message(
                f"{gaussian} of the {components.n_components} sources are Gaussian within the "
                "noise, and Gaussian sources cannot be told apart: any rotation of them is as good."
            ),
        )
    ]


def _unsettled(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on iterations that ended too early."""
    turns = diagnostics.get("turns", [])
    if not turns or turns[-1] <= _NOT_SETTLED or diagnostics["gaussian_sources"] >= 2:
        return []
    return [
        (
            RefinementWarning,
            f"The last pass turned the sources by {turns[-1]:.2f} radians: they have not settled. "
            "Use more passes ("
            + Setting("polish_passes")
            + ") or a larger sample ("
            + Setting("pilot_rows")
            + ").",
        )
    ]


def verdict_words(verdict: dict[str, Any]) -> str:
    """Return the sentences of a verdict.

    Parameters
    ----------
    verdict : dict
    """
    return " ".join(verdict["sentences"])
