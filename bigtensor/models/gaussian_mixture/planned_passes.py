"""Passes that a fit of a Gaussian mixture may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.gaussian.em_iterations import posterior_pass
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance_components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance_iterations import own_covariance_pass
from bigtensor.models.gaussian_mixture.populations import population_pass
from bigtensor.models.gaussian_mixture.script import SETTLING_ITERATIONS, label_pass
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.windows import settling_windows
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
    if settings.own_covariances:
        return _planned_own(settings)
    k, d = settings.n_components, settings.n_features
    covariance = np.eye(d) if settings.tied else np.ones(d)
    blank = GaussianComponents(
        np.full(k, 1 / k), np.zeros((k, d)), covariance, settings.shape.views, settings.shape.dtype
    )
    reach = Reach.unbounded(settings.columns)
    iteration = posterior_pass(blank, reach, with_total=True)
    planned = [PlannedPass(iteration, settings.max_iter)]
    if settings.n_populations is not None:
        planned.append(PlannedPass(population_pass(blank, reach)))
    return planned


def _planned_own(settings: GaussianSettings) -> list[PlannedPass]:
    """Return the sums for components that have a covariance each."""
    blank, reach = _blank(settings), Reach.unbounded(settings.columns)
    ridge = np.zeros(settings.n_features)
    planned = [PlannedPass(own_covariance_pass(blank, ridge, reach), settings.max_iter)]
    windows = settling_windows(settings.shape.rows)
    if windows is not None:
        settling = own_covariance_pass(blank, ridge, reach, windows)
        planned.insert(0, PlannedPass(settling, SETTLING_ITERATIONS))
    if settings.n_populations is not None:
        planned.append(PlannedPass(population_pass(blank, reach)))
    return planned


def _blank(settings: GaussianSettings) -> OwnCovarianceComponents:
    """Return components of the sizes to come."""
    k, d = settings.n_components, settings.n_features
    covariances = {
        "full": np.repeat(np.eye(d)[None], k, axis=0),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }[settings.covariance_type]
    scaling = np.eye(d) if settings.covariance_type == "full" else np.ones(d)
    return OwnCovarianceComponents(
        np.full(k, 1 / k),
        np.zeros((k, d)),
        covariances,
        Frame(np.zeros(d), scaling),
        settings.shape.views,
        # products of float64 need most memory
        "float64",
    )
