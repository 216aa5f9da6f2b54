"""Passes that a fit of a Gaussian mixture may ask for, with statistics of the sizes to come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.gaussian.em_iterations import EmIterate
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.component_choice import Components
from bigtensor.models.gaussian_mixture.own_covariance.initialisations import with_own_covariances
from bigtensor.models.gaussian_mixture.populations import population_pass
from bigtensor.models.gaussian_mixture.regularisation import Regularisation
from bigtensor.models.gaussian_mixture.script import (
    SETTLING_ITERATIONS,
    em_step,
    label_pass,
    settling_step,
)
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, is_wide
from bigtensor.statistics.within_reach import Reach

_INITIALISATIONS = 4
"""Columns a component that the driver contracts at once while it finds the components."""


def planned_preparation(settings: GaussianSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    k, d = settings.n_components, settings.n_features
    sample = 8 * settings.pilot_rows * (4 * d + 2)
    columns = 8 * _INITIALISATIONS * k * (d + 1) * 8
    grams = 8 * 8 * (_INITIALISATIONS * k) ** 2
    planned = [PlannedPass(pilot_pass(settings), driver_nbytes=sample + columns + grams)]
    if settings.shape.groups:
        planned.append(PlannedPass(label_pass(settings, np.zeros(d))))
    return planned


def planned_refinement(settings: GaussianSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    blank, reach = _blank(settings), Reach.unbounded(settings.columns)
    iterate: EmIterate[Any] = EmIterate(blank)
    step = em_step(settings, reach, Regularisation(np.zeros(settings.n_features)))
    planned = [PlannedPass(step.posterior_pass(iterate), settings.max_iter)]
    settling = settling_step(settings, step)
    if settling is not None:
        planned.insert(0, PlannedPass(settling.posterior_pass(iterate), SETTLING_ITERATIONS))
    if settings.n_populations is not None:
        planned.append(PlannedPass(population_pass(blank, reach)))
    return planned


def _blank(settings: GaussianSettings) -> Components:
    """Return components of the sizes to come."""
    k, d = settings.n_components, settings.n_features
    shared = GaussianComponents(
        np.full(k, 1 / k),
        np.zeros((k, d)),
        np.eye(d) if settings.tied else np.ones(d),
        settings.shape.views,
        settings.shape.dtype,
    )
    if not settings.own_covariances:
        return shared
    scaling = np.eye(d) if settings.covariance_type == "full" else np.ones(d)
    own = with_own_covariances(shared, Frame(np.zeros(d), scaling), settings)
    # products of float64 need most memory, but for rows that would be wide in float64 alone
    wide = settings.covariance_type == "full" and is_wide(k, d, "float64")
    return own if wide else replace(own, dtype="float64")
