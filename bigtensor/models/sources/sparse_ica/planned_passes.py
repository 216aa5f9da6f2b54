"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.sources.passes import blank_reach, moments_pass
from bigtensor.models.sources.planned_passes import planned_contractions, planned_pilot
from bigtensor.models.sources.sparse_ica.dictionary import SparseDictionary
from bigtensor.models.sources.sparse_ica.script import codes_pass
from bigtensor.models.sources.sparse_ica.settings import SparseSettings


def planned_preparation(settings: SparseSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    return [planned_pilot(settings)]


def planned_refinement(settings: SparseSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    d, k = settings.n_features, settings.most_components
    counted = blank_reach(d)
    moments = PlannedPass(moments_pass(settings, np.zeros(d), np.zeros((d, 0)), counted))
    contractions = planned_contractions(settings, settings.gauss_newton_steps)
    if not settings.max_iter:
        return [moments, contractions]
    dictionary = SparseDictionary(np.zeros((d, k)), np.zeros(d), np.ones(d), 1.0, d, d)
    # where there are further sources, those of the cumulant are refined, and encoded once
    codes = codes_pass(dictionary.coder(settings.shape.dtype), counted)
    times = max(settings.max_iter, contractions.times + 1)
    return [moments, PlannedPass(codes, times, instead=contractions.largest)]
