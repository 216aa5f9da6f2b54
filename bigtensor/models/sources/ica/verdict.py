"""Judgement of fitted sources: what should worry, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import PrincipalAxes
from bigtensor.errors import ConditioningWarning, Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.pilot.outliers import outlier_faults
from bigtensor.models.sources.components import IndependentComponents
from bigtensor.models.sources.faults import (
    constant_features,
    dependent_features,
    fewer_sources,
    gaussian_among,
    sources_in_noise,
    unsettled,
)
from bigtensor.models.sources.ica.method_choice import LEAST_KURTOSIS
from bigtensor.models.sources.ica.settings import ICASettings
from bigtensor.models.words.faults import Fault

_FAR_KURTOSIS = 2 * LEAST_KURTOSIS
"""Excess kurtosis that is a warning: no source has it unless its column is a fifth too short."""


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
        The sources.
    settings : ICASettings
        Resolved parameters of the fit.
    axes : PrincipalAxes
        Of all rows.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    """
    remedy = Message("")
    if settings.method != "cumulant":
        remedy = " For more sources than axes, use " + Setting("method", "cumulant") + "."
    k = components.n_components
    faults = [
        *constant_features(settings, axes.varying.tolist()),
        *dependent_features(settings, int(axes.varying.sum()), axes.rank, remedy),
        *outlier_faults(diagnostics),
        *gaussian_among(diagnostics, k),
        *sources_in_noise(diagnostics, k),
        *unsettled(diagnostics),
        *_impossible_kurtosis(components.kurtosis),
    ]
    if diagnostics["method"] == "cumulant":
        faults += fewer_sources(settings, axes.rank, k)
    confirmation = f"{k} source{'s' * (k > 1)}, at most one of them Gaussian."
    return with_verdict(
        components, faults, confirmation, {"n_components": k, "rank": axes.rank, **diagnostics}
    )


def _impossible_kurtosis(kurtosis: FloatArray) -> list[Fault]:
    """Return a sentence on sources whose columns came out too short."""
    impossible = int(np.count_nonzero(kurtosis < LEAST_KURTOSIS))
    if not impossible:
        return []
    # slightly wrong lengths are common beside right directions
    far = kurtosis.min() < _FAR_KURTOSIS
    return [
        (
            ConditioningWarning if far else None,
            Message(
                f"The excess kurtosis of {impossible} of the {len(kurtosis)} sources is below -2, "
                f"which no source has (smallest: {kurtosis.min():.1f}). Kurtoses and lengths of "
                "columns (kurtosis_, mixing_) are wrong, as where noise depends between features. "
                "Use the directions of the columns alone, which hold under any Gaussian noise."
            ),
        )
    ]
