"""Densities of one-dimensional views from histograms, smoothed component by component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz
from scipy.ndimage import gaussian_filter1d

from bigtensor.features.bandwidth import component_width
from bigtensor.statistics.tabulated_densities import TabulatedDensities

FloatArray = NDArray[np.float64]

TAIL = 5e-4
"""Part of the sample that may lie beyond each end of the grid before it is widened."""

_FEW_COLUMNS = 8
"""Fewer columns of one width are smoothed one by one."""

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
        columns : tuple of int
        bins : int
        shared : bool, default False
            Whether all views get one and the same grid.
        dtype : {"float64", "float32"}, default "float64"
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

    def tabulate(self, densities: FloatArray, floor: float) -> TabulatedDensities:
        """Return log densities with a floor, relative to the lengths of the grids.

        Parameters
        ----------
        densities : (views, bins + 1, components) float64 array
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
        responsibilities : (n, components) array

        Returns
        -------
        (views, bins + 1, components) float64 array
        """
        counts = np.zeros((len(self.columns), self.bins + 1, responsibilities.shape[1]))
        for view, column in enumerate(self.columns):
            place = (np.asarray(values[:, column], np.float64) - self.low[view]) / self.step[view]
            place = np.clip(place, 0, self.bins)
            left = np.minimum(place.astype(np.intp), self.bins - 1)
            share = (place - left)[:, None]
            np.add.at(counts[view], left, (1 - share) * responsibilities)
            np.add.at(counts[view], left + 1, share * responsibilities)
        return counts


def smooth_histograms(
    histograms: FloatArray, step: FloatArray, widths: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Turn histograms into densities with a width for every view and component.

    The width is ``max(0.9 min(sd, IQR / 1.34) N_h^(-1/5), 0.75 step)`` of the component's own
    histogram (Silverman 1986, sec. 3.4.2), and no less than is asked for.

    Parameters
    ----------
    histograms : (views, bins + 1, components) float64 array
        Weighted counts.
    step : (views,) float64 array
    widths : (views,) float64 array, optional
        Least width of the densities of every view, in the units of the data.

    Returns
    -------
    densities : (views, bins + 1, components) float64 array
        Each sums to ``1 / step``.
    bandwidths : (views, components) float64 array
        In the units of the data.
    """
    densities, bandwidths = np.empty_like(histograms), np.empty(histograms.shape[::2])
    for view, counts in enumerate(histograms):
        mass = np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny)
        fine = component_width(_spread(counts, mass), mass, 1.0)
        least = 0.0 if widths is None else float(widths[view] / step[view])
        chosen = np.maximum(fine, least)
        for width in np.unique(chosen):
            alike = chosen == width
            smoothed = _smoothed(counts[:, alike], float(width))
            total = np.maximum(smoothed.sum(axis=0), np.finfo(np.float64).tiny)
            densities[view][:, alike] = smoothed / (total * step[view])
        bandwidths[view] = chosen * step[view]
    return densities, bandwidths


def _smoothed(counts: FloatArray, width: float) -> FloatArray:
    """Convolve every column with a Gaussian of a width in bins, nothing beyond the ends.

    Many columns of one width, as broad densities have it, are one product with a banded matrix.
    """
    if counts.shape[1] < _FEW_COLUMNS:
        return np.asarray(gaussian_filter1d(counts, width, axis=0, mode="constant", truncate=5.0))
    reach = int(5.0 * width + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    band = np.zeros(max(len(counts), reach + 1))
    band[: reach + 1] = weights[reach:] / weights.sum()
    return np.asarray(toeplitz(band[: len(counts)]) @ counts)


def _spread(counts: FloatArray, mass: FloatArray) -> FloatArray:
    """Return ``min(sd, IQR / 1.34)`` of every component's histogram, in bins."""
    points = np.arange(len(counts), dtype=np.float64)[:, None]
    mean = (counts * points).sum(axis=0) / mass
    deviation = np.sqrt(np.maximum((counts * (points - mean) ** 2).sum(axis=0) / mass, 0.0))
    cumulative = np.cumsum(counts, axis=0) / mass
    quartiles = [
        np.array([np.interp(share, column, points[:, 0]) for column in cumulative.T])
        for share in (0.25, 0.75)
    ]
    interquartile = (quartiles[1] - quartiles[0]) / 1.34
    return np.asarray(np.where(interquartile > 0, np.minimum(deviation, interquartile), deviation))
