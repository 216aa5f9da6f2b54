"""Spectral estimation from histograms of three views: the discretisation of Kasahara and Shimotsu.

*Non-parametric identification and estimation of the number of components in multivariate mixtures*,
2014: a view becomes the indicators of the bins that its values fall into, and the moments of three
views are a table of joint frequencies. It is decomposed by the same code as kernel features are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from bigtensor.errors import IdentifiabilityError

FloatArray = NDArray[np.float64]

MOST_BINS = 60


def n_bins(rows: int, n_components: int) -> int:
    """Return the number of bins: twice the cube root of the rows, within k + 2 and 60."""
    return int(np.clip(round(2 * rows ** (1 / 3)), n_components + 2, MOST_BINS))


def indicator_moments(frequencies: FloatArray, rows: int) -> AugmentedMoments:
    """Return the moments of bin indicators from the (B, B, B) table of joint frequencies."""
    bins = len(frequencies)
    triple = np.empty((bins + 1,) * 3)
    for corner in np.ndindex(2, 2, 2):
        inside = tuple(slice(1, None) if kept else 0 for kept in corner)
        summed = tuple(axis for axis, kept in enumerate(corner) if not kept)
        triple[inside] = frequencies.sum(axis=summed)
    seconds = []
    for view in range(3):
        shares = np.moveaxis(triple, view, 0)[1:, 0, 0]
        second = np.diag(np.concatenate(([1.0], shares)))
        second[0, 1:] = second[1:, 0] = shares
        seconds.append(second)
    return AugmentedMoments(triple, (seconds[0], seconds[1], seconds[2]), rows)


def histogram_spectral_densities(
    values: NDArray[Any], n_components: int, grids: Sequence[FloatArray]
) -> list[FloatArray] | None:
    """Fit histograms by their joint moments; return the component densities of all three columns.

    Negative frequencies become zero. None where the table has fewer than k clear directions.
    """
    bins = n_bins(len(values), n_components)
    counts, edges = np.histogramdd(values, bins)
    moments = indicator_moments(counts / len(values), len(values))
    try:
        mixture = solve_multiview_mixture(moments, n_components, [np.ones(bins)] * 3)
    except IdentifiabilityError:
        return None
    return [
        _steps(np.asarray(edge), shares, grid)
        for edge, shares, grid in zip(edges, mixture.embeddings, grids, strict=True)
    ]


def _steps(edges: FloatArray, shares: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the step functions of estimated shares of bins, of mass one, on a grid."""
    positive = np.maximum(shares, 0.0)
    heights = positive / positive.sum(axis=0) / np.diff(edges)[:, None]
    place = np.clip(np.searchsorted(edges, grid, side="right") - 1, 0, len(heights) - 1)
    inside = (grid >= edges[0]) & (grid <= edges[-1])
    return np.where(inside[:, None], heights[place], 0.0)
