"""Features of a sample that are linear functions of each other, such as copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray

_SAME, _SAME_SINGLE = 1e-9, 1e-5
"""Part of a standardised feature in which copies differ: of numbers of float64 and of float32."""

_FINE = 0.03
"""Largest step of a rounded feature, in interquartile ranges, that tells a copy from correlation.

Features of a correlation of .999 differ by more than such a step in a third of the rows.
"""

_OF_STEP = 0.6
"""Part of the step by which a rounded feature differs from its standardised values at most.

Rounding makes a half, and the mean and the variance of the rounded values are not quite exact.
"""

_DECIMALS = 8
"""Most decimal places of rounded values."""

_SKETCHES, _SKETCH_ERROR = 20, 3.0
"""Random sums of each feature, and the factor by which they overstate a squared distance.

The factor is above the 99.9999 % quantile of the chi-squared distribution, divided by its mean.
"""

_BLOCK, _FIRST = 32, 100
"""Features that are standardised at once, and rows in which a pair is compared first."""


def linear_copies(values: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Return pairs of columns that are linear functions of each other, but for rounding.

    Values may be rounded after the change of unit, as degrees Celsius and Fahrenheit with one
    decimal place. The steps of both columns must be at most .03 interquartile ranges. Coarser
    values, such as whole degrees, are copies if they are exact linear functions only. Two sensors
    whose values agree to within these steps in all rows are not told from copies.

    Parameters
    ----------
    values : (n, d) array
        Rows. Columns that are constant, or have no entry, have no copy.

    Returns
    -------
    list of (int, int)
        Positions, the smaller first. Every copy of several forms a pair with the first.
    """
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    varying = np.flatnonzero(high > low)
    if len(varying) < 2:
        return []
    column = cache(lambda j: _Column.of_values(values[:, j]))
    pairs: dict[int, int] = {}
    for i, j, sign in _close_pairs(values, varying):
        if i not in pairs and j not in pairs and column(i).is_copy(column(j), sign):
            pairs[j] = i
    return [(i, j) for j, i in pairs.items()]


@dataclass(frozen=True, eq=False)
class _Column:
    """A standardised column.

    Attributes
    ----------
    standardised : (n,) float64 array
        Entries with mean zero and variance one.
    same : float
        Largest difference of a copy that is not rounded.
    rounding : float
        Largest difference by rounding, zero for values that are not rounded or coarse.
    """

    standardised: FloatArray
    same: float
    rounding: float

    @classmethod
    def of_values(cls, entries: NDArray[np.floating]) -> _Column:
        """Standardise a column that varies."""
        column = entries.astype(np.float64)
        present = np.unique(column[~np.isnan(column)])
        with np.errstate(over="ignore"):
            is_single = bool((present.astype(np.float32) == present).all())
        standardised = _standardised(entries[:, None])[:, 0]
        # the number of units of a standardised value
        unit = np.ptp(present) / np.ptp(standardised[~np.isnan(standardised)])
        step = _step(present, is_single=is_single)
        lower, upper = np.nanquantile(column, (0.25, 0.75))
        is_fine = step <= _FINE * (upper - lower)
        rounding = _OF_STEP * step / unit if is_fine else 0.0
        return cls(standardised, _SAME_SINGLE if is_single else _SAME, rounding)

    def is_copy(self, other: _Column, sign: float) -> bool:
        """Return True if a column is another one times a sign, but for rounding."""
        most = max(self.same, other.same, self.rounding + other.rounding)
        mirrored = sign * other.standardised
        # most pairs that are no copies differ in the first rows
        first = np.abs(self.standardised[:_FIRST] - mirrored[:_FIRST])
        return not (first > most).any() and np.allclose(
            self.standardised, mirrored, rtol=0, atol=most, equal_nan=True
        )


def _close_pairs(
    values: NDArray[np.floating], varying: NDArray[np.intp]
) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of columns that may be copies, by the smaller position, and their signs.

    Random sums over the rows keep distances between columns.
    """
    signs = np.random.default_rng(0).normal(size=(_SKETCHES, len(values)))
    sketches = np.hstack(
        [
            signs @ np.nan_to_num(_standardised(values[:, block]))
            for block in np.split(varying, range(_BLOCK, len(varying), _BLOCK))
        ]
    )
    sketches /= np.sqrt(_SKETCHES * len(values))
    squares = np.square(sketches).sum(axis=0)
    # two steps of the largest size, in standard deviations of a normal feature
    most = _SKETCH_ERROR * (2 * _OF_STEP * _FINE * 1.35) ** 2
    for start in range(0, len(varying), _BLOCK):
        products = sketches[:, start : start + _BLOCK].T @ sketches
        distances = squares[start : start + _BLOCK, None] + squares - 2 * np.abs(products)
        for row, column in np.argwhere(np.triu(distances <= most, start + 1)):
            sign = float(np.sign(products[row, column]))
            yield int(varying[start + row]), int(varying[column]), sign


def _standardised(columns: NDArray[np.floating]) -> FloatArray:
    """Return columns with mean zero and variance one."""
    scaled = columns.astype(np.float64)
    # squares of huge values would overflow, and those of nearly equal values would vanish
    scaled /= np.fmax.reduce(np.abs(scaled), axis=0)
    scaled -= np.fmin.reduce(scaled, axis=0)
    scaled /= np.fmax.reduce(scaled, axis=0)
    present = np.isfinite(scaled)
    count = np.count_nonzero(present, axis=0)
    scaled -= scaled.sum(axis=0, where=present) / count
    scaled /= np.sqrt(np.square(scaled).sum(axis=0, where=present) / count)
    return scaled


def _step(present: FloatArray, *, is_single: bool) -> float:
    """Return the step of rounded values, or zero.

    Parameters
    ----------
    present : (m,) float64 array
        Distinct values, ascending.
    is_single : bool
        True if float32 rounded the values.
    """
    largest = np.abs(present[[0, -1]]).max()
    for decimals in range(_DECIMALS + 1):
        scaled = present * 10.0**decimals
        error = (
            1e-3 + np.finfo(np.float32 if is_single else np.float64).eps * largest * 10.0**decimals
        )
        if error > 0.1 or largest * 10.0**decimals >= 2.0**53:
            return 0.0
        whole = np.rint(scaled)
        if (np.abs(scaled - whole) <= error).all():
            return float(np.gcd.reduce(np.diff(whole).astype(np.int64))) / 10.0**decimals
    return 0.0
