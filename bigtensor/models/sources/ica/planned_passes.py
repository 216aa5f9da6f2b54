"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.sources.ica.settings import ICASettings
from bigtensor.models.sources.passes import blank_reach, contrast_pass, moments_pass
from bigtensor.models.sources.planned_passes import planned_contractions, planned_pilot


def planned_preparation(settings: ICASettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    return [planned_pilot(settings)]


def planned_refinement(settings: ICASettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    d, k = settings.n_features, settings.most_components
    mean, counted = np.zeros(d), blank_reach(d)
    contractions = planned_contractions(settings, settings.gauss_newton_steps)
    width = min(k, d) if settings.method != "cumulant" else 0
    unmixing = np.zeros((d, width))
    moments = PlannedPass(moments_pass(settings, mean, unmixing, counted))
    if settings.method == "cumulant":
        return [moments, contractions]
    contrast = contrast_pass(unmixing, mean, counted, "float64")
    if settings.method == "whitened":
        polish = settings.max_iter - 1
        return [moments, PlannedPass(contrast, polish)] if polish else [moments]
    times = max(settings.max_iter - 1, contractions.times)
    return [moments, PlannedPass(contrast, times, instead=contractions.largest)]
