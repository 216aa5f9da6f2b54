"""Passes that a fit may ask for, planned with statistics of the sizes to come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.decomposition.merging.component_merging import LEVELS
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import default_kernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.maps import FeatureMap
from bigtensor.features.plain_maps import MOST_CATEGORIES, OneHot
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.kernel_mixture.choices.alternative_initialisations import (
    AT_ONCE,
    has_alternatives,
    trial_pass,
)
from bigtensor.models.kernel_mixture.choices.bandwidth import (
    candidate_names,
    held_out_scores,
    training_moments,
)
from bigtensor.models.kernel_mixture.choices.replicates import replicates_nbytes
from bigtensor.models.kernel_mixture.groups import Groups
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.settings import DELTA, KernelMixtureSettings
from bigtensor.models.kernel_mixture.stages import (
    LEAST_CANDIDATES,
    Stage,
    longest_stages,
    moments_pass,
    moments_windows,
)
from bigtensor.models.kernel_mixture.view_features import VIEWS_AT_ONCE
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.view_densities import EmbeddedDensities, MixtureDensities


def planned_preparation(settings: KernelMixtureSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the moments."""
    largest = settings.if_dependent or settings
    sample = pilot_pass(largest, least_candidates=LEAST_CANDIDATES)
    nbytes = max(_sample_nbytes(settings), _sample_nbytes(largest))
    planned = [PlannedPass(sample, driver_nbytes=nbytes)]
    if settings.spectral and settings.bandwidth == "cross-validation":
        names, windows = candidate_names(), moments_windows(settings)
        moments = training_moments(dict.fromkeys(names, _blank_groups(settings)), 0)
        scores = held_out_scores(dict.fromkeys(names, blank_mixture(settings)), 0)
        planned += [
            PlannedPass(Pass("cross-validation moments", moments, windows)),
            PlannedPass(Pass("cross-validation scores", scores, windows)),
        ]
    return planned


def planned_refinement(settings: KernelMixtureSettings) -> list[PlannedPass]:
    """Return upper bounds of the moments and the posterior passes."""
    rows, planned = settings.shape.rows, list[PlannedPass]()
    if settings.spectral:
        moments = moments_pass(_blank_groups(settings), moments_windows(settings))
        planned.append(PlannedPass(moments))
    stages = [
        PlannedPass(_blank_posterior(stage, settings), stage.most)
        for stage in longest_stages(settings)
    ]
    if has_alternatives(settings):
        trial = trial_pass(settings)
        # the driver computes the same sums over the rows that it holds
        sizes = [one.size(rows) for one in (*planned, *stages)]
        at_work = AT_ONCE * max(size.state_nbytes + size.work_nbytes for size in sizes)
        nbytes = trial.statistic.state_nbytes() + at_work
        planned.append(PlannedPass(trial, driver_nbytes=nbytes))
    planned += stages
    merged = settings.if_dependent
    if merged is not None:
        last = _blank_posterior(longest_stages(merged)[-1], merged)
        planned[-1] = replace(planned[-1], instead=last)
    merging = settings if settings.n_populations is not None else merged
    if merging is not None and merging.merging == LEVELS:
        nbytes = replicates_nbytes(merging, _held_rows(merging))
        planned[-1] = replace(planned[-1], driver_nbytes=nbytes)
    return planned


def _sample_nbytes(settings: KernelMixtureSettings) -> int:
    """Return an upper bound of the bytes that the driver derives from the sample, in float64.

    The features of all views lie there once by view and once beside each other in groups, with two
    more for every view that is evaluated at the time. Held-out scores hold six numbers a row and
    component.
    """
    features = 0
    if settings.spectral:
        features = 2 * (len(settings.shape.views) + VIEWS_AT_ONCE) * settings.n_landmarks
    columns = 4 * len(settings.shape.features) + max(features, 6 * settings.n_components)
    return 8 * _held_rows(settings) * columns


def _held_rows(settings: KernelMixtureSettings) -> int:
    """Return the largest number of rows of the sample after rows are repeated by their weights."""
    return min(settings.pilot_rows, settings.shape.most_occurrences)


def _blank_posterior(stage: Stage, settings: KernelMixtureSettings) -> Pass[Any]:
    """Return a posterior pass of the right sizes."""
    mixture, maps = blank_mixture(settings), blank_embedded_maps(settings)
    statistic = PosteriorSums(
        mixture,
        maps,
        co_posterior=stage.co_posterior,
        products=settings.merges_by_products,
    )
    return Pass(stage.name, statistic, stage.windows)


def _blank_map(view: str, n_features: int, settings: KernelMixtureSettings) -> FeatureMap:
    """Return a feature map of the right size and no meaning."""
    kind, dtype = settings.kernels[view], settings.feature_dtype
    if kind == DELTA:
        return OneHot(
            np.arange(float(MOST_CATEGORIES)), np.zeros((MOST_CATEGORIES, n_features)), dtype
        )
    p, width = settings.n_landmarks, len(dict(settings.shape.views)[view])
    return Nystroem(
        # so far apart that nothing of them can be tabulated: the larger workspace
        np.linspace(0, 1e9, p)[:, None] * np.ones(width),
        default_kernel(kind, np.ones(width)),
        np.zeros(width),
        np.zeros((p, n_features)),
        dtype,
    )


def _blank_groups(settings: KernelMixtureSettings) -> Groups:
    """Return groups of feature maps of the right sizes."""
    names = [name for name, _ in settings.shape.views]
    # the data choose the groups: two of one view leave the largest third
    members = settings.groups or (tuple(names[:-2]), (names[-2],), (names[-1],))
    first, second, third = (
        GroupMap(group, tuple(_blank_map(name, settings.n_directions, settings) for name in group))
        for group in members
    )
    return first, second, third


def blank_embedded_maps(settings: KernelMixtureSettings) -> dict[str, FeatureMap]:
    """Return feature maps of the right sizes for the embedded views."""
    return {name: _blank_map(name, settings.n_landmarks, settings) for name in settings.embedded}


def blank_mixture(settings: KernelMixtureSettings) -> MixtureDensities:
    """Return a mixture of the right size."""
    k = settings.n_components
    columns = settings.tabulated_columns
    low, step = np.zeros(len(columns)), np.ones(len(columns))
    grids = Grids(columns, low, step, settings.bins, settings.feature_dtype)
    embedded = tuple(
        EmbeddedDensities(name, feature_map, np.zeros((feature_map.n_features, k)), np.ones(k))
        for name, feature_map in blank_embedded_maps(settings).items()
    )
    return MixtureDensities(np.full(k, 1 / k), grids.flat(k) if columns else None, embedded)
