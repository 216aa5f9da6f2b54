"""Densities of one-dimensional views from histograms, smoothed component by component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, irfft, next_fast_len, rfft

from bigtensor.array_types import FloatArray
from bigtensor.features.kernels.bandwidth import component_width
from bigtensor.statistics.densities.tabulated_densities import (
    TabulatedDensities,
    add_binned,
    locate_rows,
)

TAIL = 5e-4
"""Part of the sample that may lie beyond each end of the grid before it is widened."""

KERNEL_REACH = 5.0
"""Widths at which the kernel of the smoothing is cut off: it is 4e-6 of its maximum there."""

FEW_POINTS = 20
"""Grid points with a count that ten values have, where each falls between two of them."""

ROWS_A_POINT = 10.0
"""Mean count of these points above which rows share values, and are not merely few."""

MARGIN = 0.1
"""The grid goes on by this part of its length beyond those quantiles, as far as there are rows."""


@dataclass(frozen=True, eq=False)
class Grids:
    """Regular grids over the one-dimensional views.

    Attributes
    ----------
    columns : tuple of int
        The column of every view in the values of a block.
    low, step : (views,) float64 arrays
        First grid point and distance of grid points, in the units of the data.
    bins : int
        A grid has ``bins + 1`` points.
    dtype : {"float64", "float32"}, default "float64"
        Of the log densities that rows are compared with.
    """

    columns: tuple[int, ...]
    low: FloatArray
    step: FloatArray
    bins: int
    dtype: str = "float64"

    @classmethod
    def over_sample(
        cls,
        values: NDArray[np.floating],
        columns: tuple[int, ...],
        bins: int,
        *,
        shared: bool = False,
        dtype: str = "float64",
    ) -> Grids:
        """Lay grids over a sample: far outliers share the end bins.

        Parameters
        ----------
        values : (n, features) array
            The sample.
        columns : tuple of int
            Column of every view of one feature.
        bins : int
            Number of bins of every grid.
        shared : bool, default False
            If True, all views share one grid.
        dtype : {"float64", "float32"}, default "float64"
            Of the log densities that rows are compared with.
        """
        chosen = np.asarray(values[:, list(columns)], np.float64)
        if shared and columns:
            chosen = np.tile(chosen.reshape(-1, 1), len(columns))
        inner = np.quantile(chosen, [TAIL, 1 - TAIL], axis=0)
        span = inner[1] - inner[0]
        least, most = chosen.min(axis=0), chosen.max(axis=0)
        # nearly all rows may share one value
        inner = np.where(span > 0, inner, [least, most])
        span = inner[1] - inner[0]
        low = np.maximum(inner[0] - MARGIN * span, least - 0.02 * span)
        high = np.minimum(inner[1] + MARGIN * span, most + 0.02 * span)
        return cls(columns, low, (high - low) / bins, bins, dtype)

    @property
    def length(self) -> FloatArray:
        """The length of every grid, in the units of the data: ``(views,)``."""
        return np.asarray(self.step * self.bins)

    def points(self, view: int) -> FloatArray:
        """Return the grid points of one view: ``(bins + 1,)``."""
        return np.asarray(self.low[view] + self.step[view] * np.arange(self.bins + 1))

    def quantiles(self, view: int, density: FloatArray, levels: FloatArray) -> FloatArray:
        """Return the quantiles of densities on the grid of one view: ``(components, levels)``.

        Parameters
        ----------
        view : int
            Position of the view.
        density : (bins + 1, components) float64 array
            Densities at the grid points.
        levels : (m,) float64 array
            Between 0 and 1.
        """
        # a grid point has the density of half a bin on either side
        edges = self.low[view] + self.step[view] * (np.arange(self.bins + 2) - 0.5)
        cumulative = np.zeros((density.shape[1], self.bins + 2))
        np.cumsum(density.T, axis=1, out=cumulative[:, 1:])
        cumulative /= np.maximum(cumulative[:, -1:], np.finfo(np.float64).tiny)
        return np.stack([np.interp(levels, column, edges) for column in cumulative])

    def tabulate(self, densities: FloatArray, floor: float) -> TabulatedDensities:
        """Return log densities with a floor, relative to the lengths of the grids.

        Parameters
        ----------
        densities : (views, bins + 1, components) float64 array
            Densities at the grid points, in the units of the data.
        floor : float
            Relative to the largest density of the same view and component.
        """
        relative = densities * self.length[:, None, None]
        least = floor * relative.max(axis=1, keepdims=True)
        log_tables = np.log(np.maximum(relative, np.maximum(least, np.finfo(np.float64).tiny)))
        return TabulatedDensities(
            self.columns,
            self.low,
            self.step,
            log_tables,
            self.dtype,
            log_volume=float(np.log(self.length).sum()),
        )

    def flat(self, n_components: int) -> TabulatedDensities:
        """Return tables that tell nothing, for a pass whose posteriors come from elsewhere."""
        shape = (len(self.columns), self.bins + 1, n_components)
        return TabulatedDensities(self.columns, self.low, self.step, np.zeros(shape), self.dtype)

    def histograms(self, values: NDArray[np.floating], responsibilities: FloatArray) -> FloatArray:
        """Bin a sample linearly, weighted by responsibilities.

        Parameters
        ----------
        values : (n, features) array
            The sample.
        responsibilities : (n, components) array
            Weight of every row in every component.

        Returns
        -------
        (views, bins + 1, components) float64 array
            Weighted counts.
        """
        chosen = np.ascontiguousarray(values[:, list(self.columns)].T, np.float64)
        point, share = np.empty(chosen.shape, np.int32), np.empty_like(chosen)
        locate_rows(chosen, self.low, self.step, self.bins, point, share)
        counts = np.zeros((len(self.columns), self.bins + 1, responsibilities.shape[1]))
        add_binned(point, share, np.ascontiguousarray(responsibilities), counts)
        return counts


def histogram_bandwidths(histograms: FloatArray, step: FloatArray) -> FloatArray:
    """Return the rule-of-thumb width of every view and component.

    The width is ``max(0.9 min(sd, IQR / 1.34) N_h^(-1/5), 0.75 step)`` of the component's own
    histogram (Silverman 1986, sec. 3.4.2). If a view has few values, such as 0 and 1, it is
    ``0.75 step`` for all components: at such a value a narrower density would be larger, whatever
    the share of the value in the component.

    Parameters
    ----------
    histograms : (views, bins + 1, components) float64 array
        Weighted counts.
    step : (views,) float64 array
        Distance of grid points, in the units of the data.

    Returns
    -------
    (views, components) float64 array
        In the units of the data.
    """
    bandwidths = np.empty(histograms.shape[::2])
    for view, columns in enumerate(histograms):
        counts = np.ascontiguousarray(columns.T)
        mass = np.maximum(counts.sum(axis=1), np.finfo(np.float64).tiny)
        spread = 0 * mass if _has_few_values(counts) else _spread(counts, mass)
        bandwidths[view] = component_width(spread, mass, 1.0) * step[view]
    return bandwidths


def _has_few_values(counts: FloatArray) -> bool:
    """Return True if many rows share few values: ``counts`` is (components, bins + 1)."""
    of_points = counts.sum(axis=0)
    points = np.count_nonzero(of_points)
    return bool(points <= FEW_POINTS and of_points.sum() >= ROWS_A_POINT * points)


def smooth_histograms(
    histograms: FloatArray, step: FloatArray, bandwidths: FloatArray
) -> FloatArray:
    """Turn histograms into densities with a width for every view and component.

    Parameters
    ----------
    histograms : (views, bins + 1, components) float64 array
        Weighted counts.
    step : (views,) float64 array
        Distance of grid points, in the units of the data.
    bandwidths : (views, components) float64 array
        In the units of the data.

    Returns
    -------
    (views, bins + 1, components) float64 array
        Each density sums to ``1 / step``.
    """
    densities = np.empty_like(histograms)
    for view, columns in enumerate(histograms):
        counts = np.ascontiguousarray(columns.T)
        smoothed = _smoothed(counts, bandwidths[view] / step[view])
        total = np.maximum(smoothed.sum(axis=1), np.finfo(np.float64).tiny)
        densities[view] = (smoothed / (total * step[view])[:, None]).T
    return densities


def _smoothed(counts: FloatArray, widths: FloatArray) -> FloatArray:
    """Convolve every row with a Gaussian of its own width in bins, nothing beyond the ends.

    The cost of Fourier transforms does not depend on the widths. The padding does not either, so
    that a component has the same bits beside any others. Round-off is at most 1e-12 of the maximum
    of a row. A recursive filter was as fast, but its errors of 2e-3 and more reach the tails.
    """
    bins = counts.shape[1]
    half = next_fast_len(bins, real=True)
    distinct, of_row = np.unique(widths, return_inverse=True)
    distance = np.arange(half + 1.0) / distinct[:, None]
    inside = distance <= KERNEL_REACH + 0.5 / distinct[:, None]
    # the transform of a symmetric sequence of length 2 half, from the first half of it
    transfer = dct(np.exp(-0.5 * distance**2) * inside, type=1)
    smoothed = irfft(rfft(counts, 2 * half) * transfer[of_row], 2 * half)[:, :bins]
    return np.asarray(np.maximum(smoothed, 0.0))


def _spread(counts: FloatArray, mass: FloatArray) -> FloatArray:
    """Return ``min(sd, IQR / 1.34)`` of every component's histogram, in bins."""
    points = np.arange(counts.shape[1], dtype=np.float64)
    mean = (counts * points).sum(axis=1) / mass
    squares = (points - mean[:, None]) ** 2
    deviation = np.sqrt(np.maximum((counts * squares).sum(axis=1) / mass, 0.0))
    cumulative = np.cumsum(counts, axis=1) / mass[:, None]
    quartiles = [_quantile(cumulative, share) for share in (0.25, 0.75)]
    interquartile = (quartiles[1] - quartiles[0]) / 1.34
    return np.asarray(np.where(interquartile > 0, np.minimum(deviation, interquartile), deviation))


def _quantile(cumulative: FloatArray, share: float) -> FloatArray:
    """Return where every row of a cumulative distribution reaches a share, in bins."""
    last = cumulative.shape[1] - 1
    before = np.clip((cumulative <= share).sum(axis=1) - 1, 0, last - 1)
    low, high = np.take_along_axis(cumulative, np.stack([before, before + 1], axis=1), axis=1).T
    rise = np.where(high > low, high - low, 1.0)
    return np.asarray(before + np.clip((share - low) / rise, 0.0, 1.0))
