"""Passes that a fit of a linear mixture may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.gaussian_components import GaussianComponents, posterior_pass
from bigtensor.models.linear_mixture.pilot_search import label_pass
from bigtensor.models.linear_mixture.script import ORDERS, pilot_pass
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.sample_tensor import SampleTensor, contraction_pass
from bigtensor.models.script import PlannedPass
from bigtensor.statistics.covariances import Covariances

_STARTS = 4
"""Columns a component that the driver contracts at once while it finds the components."""


def planned_preparation(settings: LinearSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    d = sum(len(members) for _, members in settings.views)
    sample = 8 * settings.pilot_rows * d * 4
    columns = 8 * _STARTS * settings.n_components * (d + 3) * 8
    grams = 8 * 8 * (_STARTS * settings.n_components) ** 2
    planned = [PlannedPass(pilot_pass(settings), driver_nbytes=sample + columns + grams)]
    if settings.labels:
        planned.append(PlannedPass(label_pass(settings, np.zeros(d))))
    return planned


def planned_refinement(settings: LinearSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    k, d = settings.n_components, sum(len(members) for _, members in settings.views)
    tensor = blank_tensor(settings)
    factors = tuple(np.zeros((size, k)) for size in tensor.sizes)
    grams = 8 * k * k * 16
    first = contraction_pass(
        tensor, factors, {"total": Covariances(settings.columns, np.zeros(d), settings.dtype)}
    )
    planned = [PlannedPass(first, settings.gauss_newton_steps + 1, driver_nbytes=grams)]
    if settings.em_iterations:
        blank = GaussianComponents(
            np.full(k, 1 / k), np.zeros((k, d)), np.eye(d), settings.views, settings.dtype
        )
        planned.append(PlannedPass(posterior_pass(blank, tensor.within), settings.em_iterations))
    return planned


def blank_tensor(settings: LinearSettings) -> SampleTensor:
    """Return a tensor of the right sizes, whatever its numbers."""
    points = tuple(np.zeros(stop - start) for start, stop in settings.columns)
    ones = tuple(np.ones(stop - start) for start, stop in settings.columns)
    return SampleTensor(
        settings.columns, ORDERS, points, np.ones(3), (1.0,) * 3, settings.dtype, ones
    )
