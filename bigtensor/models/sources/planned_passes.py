"""Passes that fits of independent sources may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.moment_tensors.sample_tensor import contraction_pass
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.models.sources.passes import blank_reach
from bigtensor.models.sources.settings import SourceSettings
from bigtensor.models.sources.whitened_tensor import WhitenedTensor

_COPIES = 5
"""Copies of the sample that the driver holds: as read, in float64, whitened, and halves."""

_INITIALISATIONS = 4
"""Columns a source that the driver contracts at once."""


def planned_pilot(settings: SourceSettings) -> PlannedPass:
    """Return an upper bound of the pass that draws the sample, and of the search in it."""
    d, k = settings.n_features, settings.most_components
    sample = 8 * _COPIES * settings.pilot_rows * d
    columns = 8 * _INITIALISATIONS * k * (d + _INITIALISATIONS * k) * 8
    return PlannedPass(pilot_pass(settings), driver_nbytes=sample + columns)


def planned_contractions(settings: SourceSettings, steps: int) -> PlannedPass:
    """Return an upper bound of the passes of Gauss-Newton steps."""
    d, k = settings.n_features, settings.most_components
    # products may be in float64 where features depend on each other
    tensor = WhitenedTensor.about(np.zeros(d), np.zeros((d, d)), blank_reach(d), "float64")
    return PlannedPass(contraction_pass(tensor, (np.zeros((d, k)),), {}), steps + 1)
