"""Passes that a fit of a linear mixture may ask for, with statistics of the sizes to come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.decomposition.sample_tensors.discovery import most_contractions
from bigtensor.decomposition.sample_tensors.gauss_newton import most_steps
from bigtensor.models.contract.script import PlannedMethod, PlannedPass
from bigtensor.models.gaussian.em_iterations import EmIterate, SharedCovarianceEm
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.declared_parameters import METHODS
from bigtensor.models.linear_mixture.from_formed_tensor import (
    compressed_pass,
    explicit_pass,
    pairs_pass,
)
from bigtensor.models.linear_mixture.from_passes import raw_tensor, within_pass
from bigtensor.models.linear_mixture.method_choice import (
    PUBLISHED_PASSES,
    full_reads,
    n_starts,
    obstacle,
    operations,
    tensor_entries,
)
from bigtensor.models.linear_mixture.pilot_search import label_pass
from bigtensor.models.linear_mixture.script import ORDERS
from bigtensor.models.linear_mixture.search import UPDATES
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor, contraction_pass
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.within_reach import Reach, ResultWithin

_INITIALISATIONS = 4
"""Columns a component that the driver contracts at once while it finds the components."""


def planned_preparation(settings: LinearSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    d = len(settings.shape.features)
    sample = 8 * settings.pilot_rows * d * 4
    columns = 8 * _INITIALISATIONS * settings.n_components * (d + 3) * 8
    grams = 8 * 8 * (_INITIALISATIONS * settings.n_components) ** 2
    planned = [PlannedPass(pilot_pass(settings), driver_nbytes=sample + columns + grams)]
    if settings.shape.groups:
        planned.append(PlannedPass(label_pass(settings, np.zeros(d))))
    return planned


def planned_refinement(settings: LinearSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    k, d = settings.n_components, len(settings.shape.features)
    tensor = blank_tensor(settings)
    planned = _planned_method(settings, tensor)
    if settings.max_iter:
        blank = GaussianComponents(
            np.full(k, 1 / k),
            np.zeros((k, d)),
            np.eye(d),
            settings.shape.views,
            settings.shape.dtype,
        )
        iterate = EmIterate(blank, TotalMoments(np.zeros(d), np.eye(d)))
        iteration = SharedCovarianceEm(tensor.within).posterior_pass(iterate)
        planned.append(PlannedPass(iteration, settings.max_iter))
    return planned


def _planned_method(settings: LinearSettings, tensor: SampleTensor) -> list[PlannedPass]:
    """Return upper bounds of the passes of a method before EM iterations."""
    k, columns = settings.n_components, _INITIALISATIONS * settings.n_components
    grams = 8 * 16 * (k if settings.method == "sample" else columns) ** 2
    if settings.method == "compressed":
        narrow = tuple(np.zeros((size, k + 1)) for size in tensor.sizes)
        by_columns = 8 * (k + 1) ** 2 * (k + 1 + 2 * columns)
        steps = settings.gauss_newton_steps
        return [
            PlannedPass(pairs_pass(tensor)),
            PlannedPass(compressed_pass(tensor, narrow), driver_nbytes=grams + by_columns),
            *([PlannedPass(_contraction(tensor, k, {}), steps + 1)] if steps else []),
        ]
    if settings.method == "explicit":
        by_columns = 8 * 2 * columns * max(tensor.sizes) ** 2
        entries = 8 * 2 * tensor_entries(settings)
        return [PlannedPass(explicit_pass(tensor), driver_nbytes=grams + by_columns + entries)]
    if settings.method == "sample":
        total = {"total": tensor.covariances()}
        steps = settings.gauss_newton_steps
        return [PlannedPass(_contraction(tensor, k, total), steps + 1, driver_nbytes=grams)]
    many = n_starts(settings)
    if settings.method == "power":
        raw = raw_tensor(tensor)
        return [
            PlannedPass(_contraction(raw, many, {}), PUBLISHED_PASSES, driver_nbytes=grams),
            PlannedPass(pairs_pass(raw)),
        ]
    return [
        PlannedPass(
            _contraction(tensor, many, {}),
            most_contractions(UPDATES) + most_steps(),
            driver_nbytes=grams,
        ),
        PlannedPass(within_pass(tensor)),
    ]


def _contraction(
    tensor: SampleTensor, n_columns: int, beside: dict[str, Any]
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return a pass of contractions with so many columns."""
    factors = tuple(np.zeros((size, n_columns)) for size in tensor.sizes)
    return contraction_pass(tensor, factors, beside)


def planned_methods(settings: LinearSettings) -> list[PlannedMethod]:
    """Return the cost of every method, unless labels are an initialisation."""
    if settings.shape.groups:
        return []
    least = min(len(members) for _, members in settings.shape.views)
    methods = []
    for method in METHODS[1:]:
        if method == "compressed" and settings.n_components > least:
            continue
        is_taken = method == settings.method
        reason = "asked for"
        if settings.chooses_method:
            reason = "no other costs clearly less" if method == "sample" else "clearly less"
        methods.append(
            PlannedMethod(
                "method",
                method,
                planned_refinement(replace(settings, method=method)),
                operations(method, settings),
                full_reads(method, settings) + settings.max_iter,
                is_taken,
                reason if is_taken else obstacle(method, settings),
            )
        )
    return methods


def blank_tensor(settings: LinearSettings) -> SampleTensor:
    """Return a tensor of the right sizes, whatever its numbers."""
    points = tuple(np.zeros(stop - start) for start, stop in settings.columns)
    ones = tuple(np.ones(stop - start) for start, stop in settings.columns)
    everywhere = Reach.unbounded(settings.columns)
    return SampleTensor(
        settings.columns, ORDERS, points, np.ones(3), everywhere, settings.shape.dtype, ones
    )
