"""Upper bounds of what a fit will ask for, from blank statistics of the same sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels import GaussianKernel
from bigtensor.features.nystroem import Nystroem
from bigtensor.models.base import DataShape, PassSize
from bigtensor.models.kernel_mixture.groups import Groups, grouped_views
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSums
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked
from bigtensor.statistics.windows import WINDOWS, sample_windows

FloatArray = NDArray[np.float64]


def expected_passes(
    shape: DataShape,
    settings: Settings,
    sample_size: int,
    times: Mapping[str, tuple[int, int]],
) -> list[PassSize]:
    """Return upper bounds of the passes of a fit, from blank statistics of the same sizes.

    Parameters
    ----------
    shape : DataShape
    settings : Settings
    sample_size : int
    times : mapping of str to (int, int)
        How often posterior passes of this name run at most, and the rows of each.
    """
    windows = sample_windows(shape.rows, sample_size)
    seen = shape.rows if windows is None else WINDOWS * (windows[0][1] - windows[0][0])
    n_features = len(shape.features)
    sample = RowSample(sample_size, n_features, shape.dtype, 0, shape.has_weight)
    sizes = [_size("pilot", 1, seen, sample)]
    if settings.spectral:
        sizes.append(_size("moments", 1, shape.rows, TripleMoments(_blank_groups(settings))))
    posterior = PosteriorSums(_blank_mixture(settings), _blank_wide_maps(settings))
    sizes += [_size(name, most, rows, posterior) for name, (most, rows) in times.items()]
    return sizes


def _size(name: str, times: int, rows: int, statistic: Statistic[Any]) -> PassSize:
    """Return the size of a pass over a statistic."""
    checked = Checked(statistic)
    return PassSize(
        name, times, rows, checked.state_nbytes(), checked.work_nbytes(checked.block_rows)
    )


def _blank_map(width: int, n_features: int, settings: Settings) -> Nystroem:
    """Return a feature map of the right size and no meaning."""
    p = settings.n_landmarks
    kernel = GaussianKernel(np.ones(width))
    return Nystroem(
        np.zeros((p, width)),
        kernel,
        np.zeros(width),
        np.zeros((p, n_features)),
        settings.feature_dtype,
    )


def _blank_groups(settings: Settings) -> Groups:
    """Return groups of feature maps of the right sizes."""
    lengths = {name: len(members) for name, members in settings.views}
    first, second, third = (
        GroupMap(
            names,
            tuple(_blank_map(lengths[name], settings.n_directions, settings) for name in names),
        )
        for names in grouped_views(settings)
    )
    return first, second, third


def _blank_wide_maps(settings: Settings) -> dict[str, Nystroem]:
    """Return feature maps of the right sizes for the wide views."""
    lengths = {name: len(members) for name, members in settings.views}
    return {
        name: _blank_map(lengths[name], settings.n_landmarks, settings) for name in settings.wide
    }


def _blank_mixture(settings: Settings) -> MixtureDensities:
    """Return a mixture of the right size."""
    k = settings.n_components
    columns = tuple(settings.slices[name].start for name in settings.narrow)
    grids = Grids(columns, np.zeros(len(columns)), np.ones(len(columns)), settings.bins)
    embedded = tuple(
        EmbeddedDensities(name, feature_map, np.zeros((feature_map.n_features, k)), np.ones(k))
        for name, feature_map in _blank_wide_maps(settings).items()
    )
    return MixtureDensities(np.full(k, 1 / k), grids.flat(k) if columns else None, embedded)
