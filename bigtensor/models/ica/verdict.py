"""Judgement of fitted sources: what should worry, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.decomposition.independent_components import PrincipalAxes
from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import ConditioningWarning, Message, RefinementWarning, Setting
from bigtensor.models.faults import Fault, with_verdict
from bigtensor.models.ica.settings import ICASettings
from bigtensor.models.independent_sources.components import IndependentComponents
from bigtensor.models.independent_sources.faults import (
    constant_features,
    dependent_features,
    fewer_sources,
    rows_out_of_reach,
)
from bigtensor.models.script import Solved

GAUSSIAN_DEVIATION = 0.3535
"""Standard deviation of y tanh(y) + tanh(y)^2 of a Gaussian y, once its variance is made one."""

_LEAST_DEVIATIONS = 3.0

_NOT_SETTLED = 0.05
"""Mean sine of the turn by the last pass, above which the sources have not settled."""


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
    remedy = Message("")
    if settings.method != "cumulant":
        remedy = " For more sources than axes, use " + Setting("method", "cumulant") + "."
    k = components.n_components
    faults = [
        *constant_features(settings, axes.varying.tolist()),
        *dependent_features(settings, int(axes.varying.sum()), axes.rank, remedy),
        *rows_out_of_reach(diagnostics["rows_out_of_reach"]),
        *_gaussian(components, diagnostics),
        *_unsettled(diagnostics),
    ]
    if diagnostics["method"] == "cumulant":
        faults += fewer_sources(settings, axes.rank, k)
    praise = f"{k} source{'s' * (k > 1)}, at most one of them Gaussian."
    return with_verdict(components, faults, praise, {"rank": axes.rank, **diagnostics})


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
