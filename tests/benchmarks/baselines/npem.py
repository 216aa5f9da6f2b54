"""npEM: posterior probabilities and weighted kernel densities in turn.

Benaglia, Chauveau and Hunter 2009, *An EM-like algorithm for semi- and nonparametric estimation in
multivariate mixtures*, sec. 3. Their densities are sums over all rows; here the rows are first
counted in fine bins, so that an iteration costs no more than a look-up for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

FloatArray = NDArray[np.float64]
Width = Literal["pooled", "component"]

BINS = 4096
LEAST_DENSITY = 1e-300
SETTLED = 1e-6
"""Largest change of a weight that ends the iterations early."""


@dataclass(frozen=True)
class BinnedView:
    """The rows of one view, shared linearly between the two nearest of evenly spaced points.

    The points reach half the range beyond the data on either side: there the kernels of the
    outermost rows fade away.
    """

    points: FloatArray
    left: NDArray[np.intp]
    share: FloatArray

    @classmethod
    def of(cls, column: FloatArray) -> BinnedView:
        """Return a column in bins."""
        low, spread = column.min(), np.ptp(column)
        points = np.linspace(low - 0.5 * spread, low + 1.5 * spread, BINS)
        position = (column - points[0]) / (points[1] - points[0])
        left = position.astype(np.intp)
        return cls(points, left, position - left)

    def counts(self, weights: FloatArray) -> FloatArray:
        """Return the weight of every component at every point; `weights` is (rows, k)."""
        return np.stack(
            [
                np.bincount(self.left, weight * (1.0 - self.share), BINS)
                + np.bincount(self.left + 1, weight * self.share, BINS)
                for weight in weights.T
            ],
            axis=1,
        )

    def smoothed(self, counts: FloatArray, widths: FloatArray) -> FloatArray:
        """Return counts of every component convolved with a Gaussian of its width, of mass one."""
        step = self.points[1] - self.points[0]
        frequency = 2.0 * np.pi * np.fft.rfftfreq(BINS, step)
        kernels = np.exp(-0.5 * (frequency[:, None] * widths) ** 2)
        density = np.fft.irfft(np.fft.rfft(counts, axis=0) * kernels, BINS, axis=0)
        return np.asarray(np.maximum(density, 0.0) / (step * counts.sum(axis=0)))

    def at_rows(self, density: FloatArray) -> FloatArray:
        """Return densities that are given at the points at every row, (rows, k)."""
        below, above = density[self.left], density[self.left + 1]
        return below + self.share[:, None] * (above - below)


def silverman_widths(points: FloatArray, counts: FloatArray) -> FloatArray:
    """Return ``0.9 min(sd, IQR / 1.34) n^(-1/5)`` of every column of counts.

    Silverman 1986, sec. 3.4.2. Never below three quarters of a bin, which the bins need.
    """
    size = counts.sum(axis=0)
    mean = points @ counts / size
    deviation = np.sqrt(((points[:, None] - mean) ** 2 * counts).sum(axis=0) / size)
    levels = np.cumsum(counts, axis=0) / size
    quartiles = [
        [np.interp(level, levels[:, h], points) for h in range(counts.shape[1])]
        for level in (0.25, 0.75)
    ]
    spread = np.minimum(deviation, (np.array(quartiles[1]) - quartiles[0]) / 1.34)
    widths = 0.9 * spread * np.maximum(size, 1.0) ** -0.2
    return np.asarray(np.maximum(widths, 0.75 * (points[1] - points[0])))


def npem_densities(
    values: NDArray[Any],
    n_components: int,
    grids: Sequence[FloatArray],
    width: Width,
    iterations: int = 60,
) -> list[FloatArray]:
    """Fit by npEM from k-means clusters; return the component densities of every column.

    Parameters
    ----------
    values : (rows, views) array
    n_components : int
    grids : sequence of (points,) arrays
    width : {"pooled", "component"}
        One kernel width for all components of a view, Silverman's rule on all its rows, as in the
        paper; or one for every component, the rule on its own rows, anew in every iteration.
    iterations : int, default 60
        At most so many.
    """
    posterior = _clusters(values, n_components)
    views = [BinnedView.of(column) for column in np.asarray(values, np.float64).T]
    pooled = [
        np.repeat(
            silverman_widths(view.points, view.counts(np.ones((len(values), 1)))), n_components
        )
        for view in views
    ]
    densities = _densities(views, posterior, pooled, width)
    weights = posterior.mean(axis=0)
    for _ in range(iterations):
        posterior = _posterior(views, densities, weights)
        densities = _densities(views, posterior, pooled, width)
        previous, weights = weights, posterior.mean(axis=0)
        if np.abs(weights - previous).max() < SETTLED:
            break
    return [
        np.stack([np.interp(grid, view.points, part, left=0.0, right=0.0) for part in density.T], 1)
        for view, density, grid in zip(views, densities, grids, strict=True)
    ]


def _clusters(values: NDArray[Any], n_components: int) -> FloatArray:
    """Return k-means clusters of the standardised columns as posterior probabilities."""
    standardised = (values - values.mean(axis=0)) / values.std(axis=0)
    labels = KMeans(n_components, n_init=10, random_state=0).fit_predict(standardised)
    return np.asarray(np.eye(n_components)[labels])


def _densities(
    views: Sequence[BinnedView],
    posterior: FloatArray,
    pooled: Sequence[FloatArray],
    width: Width,
) -> list[FloatArray]:
    """Return the weighted kernel densities at the points of every view."""
    densities = []
    for view, widths in zip(views, pooled, strict=True):
        counts = view.counts(posterior)
        if width == "component":
            widths = silverman_widths(view.points, counts)
        densities.append(view.smoothed(counts, widths))
    return densities


def _posterior(
    views: Sequence[BinnedView], densities: Sequence[FloatArray], weights: FloatArray
) -> FloatArray:
    """Return the probability of every component given a row."""
    logarithm = np.log(weights) + sum(
        np.log(np.maximum(view.at_rows(density), LEAST_DENSITY))
        for view, density in zip(views, densities, strict=True)
    )
    logarithm -= logarithm.max(axis=1, keepdims=True)
    posterior = np.exp(logarithm)
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))
