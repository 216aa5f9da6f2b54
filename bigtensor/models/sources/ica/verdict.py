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
    nearly_parallel,
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
        *nearly_parallel(diagnostics, "Use " + Setting("method", "whitened") + ", or more rows."),
        *unsettled(diagnostics),
    ]
    if diagnostics["method"] == "cumulant":
        rows = max(settings.shape.rows, settings.shape.all_rows)
        faults += _impossible_kurtosis(components.kurtosis, rows)
        faults += fewer_sources(settings, axes.rank, k)
    confirmation = f"{k} source{'s' * (k > 1)}, at most one of them Gaussian."
    return with_verdict(
        components, faults, confirmation, {"n_components": k, "rank": axes.rank, **diagnostics}
    )


def _impossible_kurtosis(kurtosis: FloatArray, rows: float) -> list[Fault]:
    """Return a sentence on sources whose columns came out too short.

    Parameters
    ----------
    kurtosis : (k,) float64 array
        Excess kurtosis of the sources.
    rows : float
        Number of rows, or of the rows that they stand for, whichever is larger. The kurtosis of
        values never exceeds their number.
    """
    impossible = (kurtosis < LEAST_KURTOSIS) | (kurtosis > rows)
    if not impossible.any():
        return []
    low, high = float(kurtosis.min()), float(kurtosis.max())
    # slightly wrong lengths are common beside right directions
    is_far = low < _FAR_KURTOSIS or high > rows
    bounds = f"above {rows:,.0f}, the number of rows" if high > rows else "below -2"
    return [
        (
            ConditioningWarning if is_far else None,
            Message(
                f"The excess kurtosis of {np.count_nonzero(impossible)} of the {len(kurtosis)} "
                f"sources is {bounds}, which is impossible (from {low:.1f} to {high:,.1f}). "
                "Kurtoses and lengths of columns (kurtosis_, mixing_) are wrong, as where noise "
                "depends between features. Use the directions of the columns alone, which hold "
                "under any Gaussian noise."
            ),
        )
    ]
