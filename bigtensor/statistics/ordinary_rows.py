"""Rule of outlying rows: how far ordinary rows lie from the middle of a sample.

Every model of measured data asks this rule, and no other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.statistics.within_reach import Reach

FACTOR = 10.0
"""Distance from the median from which a value is outlying, in distances of the farthest others.

Values of a source with heavy tails, or of a rare event, differ less than this from each other.
"""

SHARE = 0.005
"""Largest share of rows that are outliers. More of them are a population."""

FEW, SHARE_OF_FEW = 5, 0.1
"""Number of rows that may be outliers in small samples, and their share in still smaller ones.

Without this number, one value of a million in 600 rows would be part of the scale that it is
measured by.
"""

CROWD = 3.0
"""Least distance over all features together, where there are many, in the same sense."""


def reach_of_ordinary_rows(
    values: NDArray[np.floating],
    columns: tuple[tuple[int, int], ...],
    *,
    weight: NDArray[np.float64] | None = None,
    ignored: tuple[int, ...] = (),
) -> Reach:
    """Return the reach of the rows of a sample that are not outliers.

    A row is outlying if one of its values is more than ten times as far from the median of its
    feature as the values of all rows but one in two hundred, or but five. Several features add up:
    the distance of a row in a group of columns is the root of the sum of squares.

    Parameters
    ----------
    values : (n, d) array
        Rows of the sample. NaN is missing.
    columns : tuple of (start, stop)
        Groups of columns, each of which has a reach of its own.
    weight : (n,) float64 array, optional
        How often the rows occur; None stands for once.
    ignored : tuple of int
        Columns that say nothing about distances, such as codes of categories.
    """
    if not len(values):
        return Reach.unbounded(columns)
    spared = most_outliers(len(values) if weight is None else weight.sum())
    points, scales, distances = [], [], []
    for start, stop in columns:
        # a line for every feature: quantiles take half the time
        lines = np.ascontiguousarray(values[:, start:stop].T, np.float64)
        point = _medians(lines, weight)
        deviations = np.abs(lines - point[:, None])
        deviations[np.isnan(deviations)] = 0.0
        scale = FACTOR * _largest_but(deviations, spared, weight)
        # nearly all rows share one value: there is no unit in which another one is far
        scale[scale == 0] = np.inf
        scale[[column - start for column in ignored if start <= column < stop]] = np.inf
        deviations /= scale[:, None]
        norms = np.hypot.reduce(deviations, axis=0)
        points.append(point)
        scales.append(scale)
        distances.append(max(1.0, CROWD * float(_largest_but(norms[None], spared, weight)[0])))
    return Reach(columns, tuple(points), tuple(scales), tuple(distances))


def most_outliers(rows: float) -> int:
    """Return the largest number of rows of a sample that may be outliers.

    Parameters
    ----------
    rows : float
    """
    return max(int(SHARE * rows), min(FEW, int(SHARE_OF_FEW * rows)))


def _medians(lines: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the median of every line, zero for a line without a value."""
    medians = np.zeros(len(lines))
    for number, line in enumerate(lines):
        present = ~np.isnan(line)
        if not present.any():
            continue
        own = None if weight is None else weight[present]
        total = float(np.count_nonzero(present)) if own is None else own.sum()
        ranks = np.ceil(total / 2) - 1, np.floor(total / 2)
        medians[number] = np.mean([_ranked(line[None, present], rank, own)[0] for rank in ranks])
    return medians


def _largest_but(
    lines: NDArray[np.float64], spared: int, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the largest value of every line, but for some larger ones."""
    total = lines.shape[1] if weight is None else weight.sum()
    return _ranked(lines, total - 1 - spared, weight)


def _ranked(
    lines: NDArray[np.float64], rank: float, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the value of every line that so many occurrences of smaller ones come before."""
    if weight is None:
        return np.array(np.partition(lines, int(rank), axis=1)[:, int(rank)])
    order = np.argsort(lines, axis=1, kind="stable")
    beyond = np.cumsum(weight[order], axis=1) > rank
    # rounding of a sum may leave the last row short of the total
    beyond[:, -1] = True
    place = np.argmax(beyond, axis=1)
    return np.take_along_axis(lines, np.take_along_axis(order, place[:, None], 1), 1)[:, 0]
