"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.ica.settings import ICASettings
from bigtensor.models.independent_sources.passes import (
    blank_reach,
    contrast_pass,
    moments_pass,
    pilot_pass,
)
from bigtensor.models.independent_sources.whitened_tensor import WhitenedTensor
from bigtensor.models.sample_tensor import contraction_pass
from bigtensor.models.script import PlannedPass

_COPIES = 5
"""Copies of the sample that the driver holds: as read, in float64, whitened, and halves."""

_STARTS = 4
"""Columns a source that the driver contracts at once."""


def planned_preparation(settings: ICASettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    d, k = settings.n_features, settings.most_components
    sample = 8 * _COPIES * settings.pilot_rows * d
    columns = 8 * _STARTS * k * (d + _STARTS * k) * 8
    return [PlannedPass(pilot_pass(settings), driver_nbytes=sample + columns)]


def planned_refinement(settings: ICASettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    d, k = settings.n_features, settings.most_components
    mean, counted = np.zeros(d), blank_reach(d)
    # products may be in float64 where features depend on each other
    tensor = WhitenedTensor.about(mean, np.zeros((d, d)), counted, "float64")
    contractions = contraction_pass(tensor, (np.zeros((d, k)),), {})
    width = min(k, d) if settings.method != "cumulant" else 0
    unmixing = np.zeros((d, width))
    moments = PlannedPass(moments_pass(settings, mean, unmixing, counted))
    steps = settings.gauss_newton_steps + 1
    if settings.method == "cumulant":
        return [moments, PlannedPass(contractions, steps)]
    contrast = contrast_pass(unmixing, mean, counted, "float64")
    if settings.method == "whitened":
        polish = settings.polish_passes - 1
        return [moments, PlannedPass(contrast, polish)] if polish else [moments]
    times = max(settings.polish_passes - 1, steps)
    return [moments, PlannedPass(contrast, times, instead=contractions)]
