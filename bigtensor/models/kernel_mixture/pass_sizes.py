"""Upper bounds of what a fit will ask for, from blank statistics of the same sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernel_choice import default_kernel
from bigtensor.features.maps import FeatureMap
from bigtensor.features.nystroem import Nystroem
from bigtensor.features.plain_maps import MOST_CATEGORIES, OneHot
from bigtensor.models.base import DataShape, PassSize
from bigtensor.models.kernel_mixture.bandwidth_choice import (
    candidate_names,
    held_out_scores,
    training_moments,
)
from bigtensor.models.kernel_mixture.groups import Groups
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.rival_starts import rivals_of
from bigtensor.models.kernel_mixture.settings import DELTA, Settings
from bigtensor.models.kernel_mixture.stages import (
    Stage,
    longest_stages,
    moments_windows,
    pilot_windows,
    settling_windows,
)
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSums
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked

FloatArray = NDArray[np.float64]


def expected_passes(
    shape: DataShape, settings: Settings, stages: Sequence[Stage]
) -> list[PassSize]:
    """Return upper bounds of the passes of a fit, from blank statistics of the same sizes.

    Parameters
    ----------
    shape : DataShape
    settings : Settings
    stages : sequence of Stage
        The posterior passes.
    """
    sizes, starts = preparation_sizes(shape, settings), 1
    if settings.spectral:
        windows = moments_windows(settings, shape.rows)
        rivals = rivals_of(settings, shape.rows) if any(stage.settle for stage in stages) else ()
        starts += len(rivals)
        rows = _rows_in(windows, shape.rows)
        moments = TripleMoments(_blank_groups(settings))
        sizes.append(pass_size("moments", 1, rows, moments))
        for number, (_, multiple) in enumerate(rivals, 2):
            read = None if windows is None else settling_windows(shape.rows, multiple)
            rows = _rows_in(read, shape.rows)
            sizes.append(pass_size(f"moments, start {number}", 1, rows, moments))
    mixture, maps = _blank_mixture(settings), _blank_embedded_maps(settings)
    for stage in stages:
        posterior = PosteriorSums(mixture, maps, stage.co_posterior)
        rows = _rows_in(stage.windows, shape.rows)
        times = stage.most * (starts if stage.settle else 1)
        sizes.append(pass_size(stage.name, times, rows, posterior))
    other = settings.if_dependent
    if other is not None:
        merged = expected_passes(shape, other, longest_stages(other, shape.rows))
        sizes[-1] = _larger(sizes[-1], merged[-1])
    return sizes


def _larger(size: PassSize, other: PassSize) -> PassSize:
    """Return a pass that may hold what another one holds."""
    return replace(
        size,
        state_nbytes=max(size.state_nbytes, other.state_nbytes),
        work_nbytes=max(size.work_nbytes, other.work_nbytes),
    )


def preparation_sizes(shape: DataShape, settings: Settings) -> list[PassSize]:
    """Return upper bounds of the passes before the moments."""
    seen = _rows_in(pilot_windows(shape.rows, settings.sample_size), shape.rows)
    n_features = len(shape.features)
    sample = RowSample(settings.sample_size, n_features, shape.dtype, 0, shape.has_weight)
    pilot = pass_size("pilot", 1, seen, sample)
    sizes = [replace(pilot, driver_nbytes=_sample_nbytes(shape, settings))]
    if settings.spectral and settings.bandwidth == "cross-validation":
        rows = _rows_in(moments_windows(settings, shape.rows), shape.rows)
        sizes += _cross_validation_sizes(rows, settings)
    return sizes


def _sample_nbytes(shape: DataShape, settings: Settings) -> int:
    """Return an upper bound of what the driver makes of the sample, in float64.

    The features of all views lie there once by view and once beside each other in groups, with two
    more while a view is evaluated. Held-out scores hold six numbers a row and component.
    """
    features = 0
    if settings.spectral:
        features = (2 * len(settings.views) + 2) * settings.n_landmarks
    columns = 4 * len(shape.features) + max(features, 6 * settings.n_components)
    return 8 * min(settings.sample_size, shape.rows) * columns


def _rows_in(windows: tuple[tuple[int, int], ...] | None, rows: int) -> int:
    """Return the rows in some windows, or all rows."""
    return rows if windows is None else sum(stop - start for start, stop in windows)


def _cross_validation_sizes(rows: int, settings: Settings) -> list[PassSize]:
    """Return upper bounds of the two passes of cross-validation."""
    names = candidate_names()
    moments = training_moments(dict.fromkeys(names, _blank_groups(settings)), 0)
    scores = held_out_scores(dict.fromkeys(names, _blank_mixture(settings)), 0)
    return [
        pass_size("cross-validation moments", 1, rows, moments),
        pass_size("cross-validation scores", 1, rows, scores),
    ]


def pass_size(name: str, times: int, rows: int, statistic: Statistic[Any]) -> PassSize:
    """Return the size of a pass over a statistic."""
    checked = Checked(statistic)
    return PassSize(
        name, times, rows, checked.state_nbytes(), checked.work_nbytes(checked.block_rows)
    )


def _blank_map(view: str, n_features: int, settings: Settings) -> FeatureMap:
    """Return a feature map of the right size and no meaning."""
    kind, dtype = settings.kernels[view], settings.feature_dtype
    if kind == DELTA:
        return OneHot(
            np.arange(float(MOST_CATEGORIES)), np.zeros((MOST_CATEGORIES, n_features)), dtype
        )
    p, width = settings.n_landmarks, len(dict(settings.views)[view])
    return Nystroem(
        # so far apart that nothing of them can be tabulated: the larger workspace
        np.linspace(0, 1e9, p)[:, None] * np.ones(width),
        default_kernel(kind, np.ones(width)),
        np.zeros(width),
        np.zeros((p, n_features)),
        dtype,
    )


def _blank_groups(settings: Settings) -> Groups:
    """Return groups of feature maps of the right sizes."""
    names = [name for name, _ in settings.views]
    # the data choose the groups: two of one view leave the largest third
    members = settings.groups or (tuple(names[:-2]), (names[-2],), (names[-1],))
    first, second, third = (
        GroupMap(group, tuple(_blank_map(name, settings.n_directions, settings) for name in group))
        for group in members
    )
    return first, second, third


def _blank_embedded_maps(settings: Settings) -> dict[str, FeatureMap]:
    """Return feature maps of the right sizes for the embedded views."""
    return {name: _blank_map(name, settings.n_landmarks, settings) for name in settings.embedded}


def _blank_mixture(settings: Settings) -> MixtureDensities:
    """Return a mixture of the right size."""
    k = settings.n_components
    columns = tuple(settings.slices[name].start for name in settings.tabulated)
    low, step = np.zeros(len(columns)), np.ones(len(columns))
    grids = Grids(columns, low, step, settings.bins, settings.feature_dtype)
    embedded = tuple(
        EmbeddedDensities(name, feature_map, np.zeros((feature_map.n_features, k)), np.ones(k))
        for name, feature_map in _blank_embedded_maps(settings).items()
    )
    return MixtureDensities(np.full(k, 1 / k), grids.flat(k) if columns else None, embedded)
