"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtensor.features.kernels.kernel import default_kernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.plain_maps import Standardised
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.sources.kernel_ica.kernel_features import whole
from bigtensor.models.sources.kernel_ica.script import feature_contrast_pass, feature_moments_pass
from bigtensor.models.sources.kernel_ica.settings import LINEAR, KernelICASettings
from bigtensor.models.sources.passes import blank_reach
from bigtensor.models.sources.planned_passes import planned_pilot
from bigtensor.models.sources.whitened_passes import SampleRotation
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.sources.mapped_rows import MappedRows

_COPIES = 3
"""Copies of the kernel features of the sample that the driver holds: mapped, whitened, thinned."""

_SQUARES = 6
"""Matrices of all landmarks that the driver holds: kernels, eigenvectors, covariances."""


def planned_preparation(settings: KernelICASettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    pilot = planned_pilot(settings)
    p, q = settings.most_landmarks, settings.most_axes
    mapped = 8 * _COPIES * settings.pilot_rows * q
    statistic = MappedRows(Covariances(((0, p),), np.zeros(p)), whole(_blank_map(settings, p)))
    in_memory = statistic.work_nbytes(statistic.block_rows)
    nbytes = mapped + 8 * _SQUARES * p * p + in_memory
    return [replace(pilot, driver_nbytes=pilot.driver_nbytes + nbytes)]


def planned_refinement(settings: KernelICASettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    q, counted = settings.most_axes, blank_reach(settings.n_features)
    features = whole(_blank_map(settings, q))
    sources = SampleRotation(np.zeros(q), np.zeros((q, min(q, settings.most_components))))
    moments = PlannedPass(feature_moments_pass(features, sources, counted))
    more = settings.max_iter - 1
    contrast = feature_contrast_pass(features, sources, counted)
    return [moments, PlannedPass(contrast, more)] if more else [moments]


def _blank_map(settings: KernelICASettings, n_features: int) -> Nystroem | Standardised:
    """Return a map of the right sizes, whatever its numbers."""
    d, p = settings.n_features, settings.most_landmarks
    zeros, ones, projection = np.zeros(d), np.ones(d), np.zeros((p, n_features))
    # features may be in float64 where they hardly vary
    if settings.kernel == LINEAR:
        return Standardised(zeros, ones, projection, "float64")
    kernel = default_kernel(settings.kernel, ones)
    return Nystroem(np.zeros((p, d)), kernel, zeros, projection, "float64")
