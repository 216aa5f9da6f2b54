"""Distribution of one variable, smoothed by kernels that are wider where rows are few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from bigtensor.array_types import FloatArray, IndexArray

FACTORS = np.geomspace(0.02, 1.0, 12)
"""Widths of kernels where the density is average, in standard deviations, to choose from."""

_ROWS_OF_CHOICE = 500
"""Rows in which the width is chosen; widths of more rows follow from the rate ``n^(-1/5)``."""

_OUTERMOST = 40
"""Rows at either end that have kernels of their own in a large sample."""

_GROUPS = 400
"""Groups of neighbouring rows between them, with one kernel each."""

_RULE = 0.9
"""Factor of the rule of thumb for the width of a kernel of n rows, times ``n^(-1/5)``."""

_LEAST_LOCAL, _LARGEST_LOCAL = 0.2, 5.0
"""Bounds of the local factor of a width."""

_SURROUNDINGS = 2.0
"""Standard deviation of the kernel about all rows, in those of the rows."""


@dataclass(frozen=True, eq=False)
class AdaptiveKernel:
    """Gaussian kernels about the rows of one variable.

    The width of a kernel is inversely proportional to the square root of a first estimate of the
    density (Abramson 1982, Annals of Statistics 10, 1217-1223). Neighbouring rows of large samples
    share a kernel. One more kernel about all rows, with the share of one row, keeps gaps between
    rows from having no density.

    Attributes
    ----------
    centres : (m,) float64 array
        Ascending.
    widths : (m,) float64 array
        Standard deviations.
    shares : (m,) float64 array
        With a sum of one.
    n_rows : int
        Rows that the kernels stand for.
    """

    centres: FloatArray
    widths: FloatArray
    shares: FloatArray
    n_rows: int

    @classmethod
    def of_sample(cls, column: FloatArray, width: float, least: float) -> AdaptiveKernel:
        """Return the kernels of a sample.

        Parameters
        ----------
        column : (n,) float64 array
            Sample with a standard deviation of about one; NaN is missing.
        width : float
            Standard deviation of a kernel where the density is average.
        least : float
            Smallest standard deviation.
        """
        ascending = np.sort(column[~np.isnan(column)])
        centres, counts = _grouped(ascending)
        shares = counts / counts.sum()
        widths = np.maximum(width * _local_factors(centres, shares, len(ascending)), least)
        return cls(centres, widths, shares, len(ascending))

    def distribution(self, values: FloatArray) -> FloatArray:
        """Return the distribution function at some values, (v,)."""
        of_rows = ndtr((values[:, None] - self.centres) / self.widths) @ self.shares
        mean, deviation = self._surroundings
        around = ndtr((values - mean) / deviation)
        return np.asarray((self.n_rows * of_rows + around) / (self.n_rows + 1))

    def density(self, values: FloatArray) -> FloatArray:
        """Return the density at some values, (v,)."""
        of_rows = _density(values, self.centres, self.widths, self.shares)
        mean, deviation = self._surroundings
        around = np.exp(-0.5 * np.square((values - mean) / deviation))
        around /= deviation * np.sqrt(2 * np.pi)
        return np.asarray((self.n_rows * of_rows + around) / (self.n_rows + 1))

    @property
    def _surroundings(self) -> tuple[float, float]:
        """Mean and standard deviation of the kernel about all rows."""
        mean = float(self.shares @ self.centres)
        variance = float(self.shares @ np.square(self.centres - mean))
        return mean, _SURROUNDINGS * max(np.sqrt(variance), float(self.widths.min()))

    @property
    def excess_below(self) -> float:
        """Mean distance of the smallest rows from the smallest of the others."""
        return _mean_excess(-self.centres[::-1], self.shares[::-1], self.n_rows)

    @property
    def excess_above(self) -> float:
        """Mean distance of the largest rows from the largest of the others."""
        return _mean_excess(self.centres, self.shares, self.n_rows)


def chosen_width(column: FloatArray, least: float, originals: IndexArray) -> float:
    """Return the best width of twelve by the likelihood of rows, each left out with its copies.

    Rows with one value explain each other: kernels of a sample with many ties are as narrow as they
    may be.

    Parameters
    ----------
    column : (n,) float64 array
        Sample with a standard deviation of about one; NaN is missing.
    least : float
        Smallest standard deviation of a kernel.
    originals : (n,) integer array
        Number of every row among the original rows.
    """
    rows = np.flatnonzero(~np.isnan(column))
    kept = np.unique(originals[rows])
    n = len(kept)
    if n > _ROWS_OF_CHOICE:
        kept = np.random.default_rng(0).permutation(kept)[:_ROWS_OF_CHOICE]
        rows = rows[np.isin(originals[rows], kept)]
    present = column[rows]
    values, value, counts = np.unique(present, return_inverse=True, return_counts=True)
    _, first, copies = np.unique(originals[rows], return_index=True, return_counts=True)
    own = value[first]
    local = _local_factors(values, counts / counts.sum(), len(kept))
    centred = (values - present.mean()) / (_SURROUNDINGS * max(float(present.std()), least))
    surroundings = np.exp(-0.5 * np.square(centred)) / len(kept)
    squares = np.square(values[:, None] - values)
    others = np.maximum(len(present) - copies, 1)
    scores = []
    for factor in FACTORS:
        widths = np.maximum(factor * local, least)
        kernels = np.exp(squares * (-0.5 / np.square(widths)))
        of_others = np.maximum((kernels @ (counts / widths))[own] - copies / widths[own], 0)
        scores.append(copies @ np.log(of_others / others + surroundings[own]))
    rate = (n / len(kept)) ** -0.2
    return float(FACTORS[int(np.argmax(scores))] * rate)


def _grouped(ascending: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values and their rows; of many, means of neighbours but for the outermost rows."""
    inner = len(ascending) - 2 * _OUTERMOST
    values, occurrences = np.unique(ascending, return_counts=True)
    if len(values) <= _GROUPS + 2 * _OUTERMOST:
        return values, occurrences.astype(np.float64)
    bounds = np.concatenate(
        [
            np.arange(_OUTERMOST),
            _OUTERMOST + np.arange(_GROUPS) * inner // _GROUPS,
            len(ascending) - _OUTERMOST + np.arange(_OUTERMOST),
        ]
    )
    counts = np.asarray(np.diff(np.append(bounds, len(ascending))), np.float64)
    return np.add.reduceat(ascending, bounds) / counts, counts


def _local_factors(centres: FloatArray, shares: FloatArray, n_rows: int) -> FloatArray:
    """Return the factors of widths, with a geometric mean of one before they are bounded."""
    width = np.full(len(centres), _RULE * n_rows**-0.2)
    logs = np.log(np.maximum(_density(centres, centres, width, shares), np.finfo(np.float64).tiny))
    factors = np.exp(-0.5 * (logs - shares @ logs))
    return np.clip(factors, _LEAST_LOCAL, _LARGEST_LOCAL)


def _density(
    values: FloatArray, centres: FloatArray, widths: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return the density of a mixture of normal distributions."""
    heights = np.exp(-0.5 * np.square((values[:, None] - centres) / widths))
    return np.asarray(heights @ (shares / widths) / np.sqrt(2 * np.pi))


def _mean_excess(ascending: FloatArray, shares: FloatArray, n_rows: int) -> float:
    """Return the mean distance of the largest values from the largest of the others."""
    least = min(max(3 / n_rows, 0.02), 0.2)
    above = np.cumsum(shares[::-1])[::-1] <= least
    above[-1] = True
    threshold = ascending[max(len(ascending) - int(above.sum()) - 1, 0)]
    weights = shares[above] / shares[above].sum()
    return float(weights @ (ascending[above] - threshold))
