"""Names of populations from the markers that they are positive or negative for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.relative_levels import UNCLEAR

BINS = 200
"""Bins between the .001 and .999 quantiles of a marker."""

BANDWIDTH = 0.06
"""Width of the smoothing kernel in standard deviations within populations and between them.

A mode is then no artefact of the bins, and modes of positive and negative cells, which lie one to
three standard deviations apart, stay apart.
"""

DEEPEST_VALLEY = 0.75
"""Largest density at a threshold, in parts of the lower one of the two modes."""

LEAST_SHARE = 0.02
"""Smallest share of the density above and below a threshold. Populations count by the root of their
weights, so that a population of one row in two thousand can be a mode."""

CLEAR_SHARE = 0.7
"""Smallest share of the rows of a population above a threshold that makes it positive, and below it
that makes it negative. Between the two, the population has no sign."""

MOST_UNCLEAR = 0.25
"""Largest share of the populations without a sign for a marker that is used in names.

The counts of a mass cytometer have a mode at zero and one beside it in cells of one kind. A
threshold between the two divides most populations, and says nothing of them.
"""

FEWEST_SIGNS = 3
"""Signs that a name has at least, if the population is positive for as many markers."""

_FEWEST_KEPT = 2
"""Signs of a name that stay when negative ones are left out."""

_UNCLEAR_PART = 0.1
"""Value of a split between populations with and without a sign, in parts of one by signs."""


@dataclass(frozen=True)
class Threshold:
    """Value between the two modes of a marker.

    Attributes
    ----------
    value : float
        Cells above it are positive.
    depth : float
        Density at the threshold in parts of the lower mode: 0 for modes that are apart.
    """

    value: float
    depth: float


def marker_threshold(values: FloatArray, weight: FloatArray) -> Threshold | None:
    """Return the lowest point between the two modes of a marker, or None for one mode.

    Parameters
    ----------
    values : (rows,) float64 array
        Values of the marker.
    weight : (rows,) float64 array
        Weights of the rows.
    """
    low, high = _quantiles(values, weight, (0.001, 0.999))
    if not high > low:
        return None
    density, edges = np.histogram(values, BINS, (low, high), weights=weight)
    points = (edges[:-1] + edges[1:]) / 2
    mean = np.average(values, weights=weight)
    spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
    width = max(1.0, 2 * BANDWIDTH * spread / (points[1] - points[0]))
    smooth = gaussian_filter1d(density.astype(np.float64), width, mode="constant")
    best, threshold = DEEPEST_VALLEY, None
    share = np.cumsum(density) / density.sum()
    for left, right in _neighbours(smooth):
        valley = left + int(np.argmin(smooth[left : right + 1]))
        # the highest modes on both sides decide, because small modes beside them are noise
        depth = smooth[valley] / min(smooth[:valley].max(), smooth[valley:].max())
        if LEAST_SHARE <= share[valley] <= 1 - LEAST_SHARE and depth < best:
            best, threshold = float(depth), Threshold(float(points[valley]), float(depth))
    return threshold


def _neighbours(smooth: FloatArray) -> list[tuple[int, int]]:
    """Return the places of modes that lie next to each other."""
    padded = np.concatenate([[-1.0], smooth, [-1.0]])
    modes, _ = find_peaks(padded)
    return list(pairwise((modes - 1).tolist()))


def _quantiles(values: FloatArray, weight: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Return weighted quantiles."""
    order = np.argsort(values)
    mass = np.cumsum(weight[order])
    return np.asarray(values[order][np.searchsorted(mass, np.array(shares) * mass[-1])])


def marker_signs(shares: FloatArray) -> NDArray[np.int8]:
    """Return 1 for positive, -1 for negative, and 0 for neither.

    Parameters
    ----------
    shares : (markers, populations) float64 array
        Share of the rows of a population above the threshold of a marker.
    """
    return (shares >= CLEAR_SHARE).astype(np.int8) - (shares <= 1 - CLEAR_SHARE).astype(np.int8)


def names_by_markers(
    signs: NDArray[np.int8], depths: Sequence[float], markers: Sequence[str]
) -> tuple[str, ...]:
    """Return names of populations, such as ``"CD3+ CD4+ CD69-"``.

    Populations are divided by one marker after the other, as by gates, until every one is alone.
    The signs on its way are its name, positive ones first. Positive signs of few other populations
    are added to short names, and negative signs that exclude no population are left out.

    Parameters
    ----------
    signs : (markers, populations) int8 array
        See `marker_signs`.
    depths : sequence of float
        Depth of the threshold of every marker.
    markers : sequence of str
        Names of the markers. The first of several that divide equally well is taken.

    Returns
    -------
    tuple of str
        Populations that no marker divides have the same name. Empty names if no marker can be used.
    """
    populations = int(signs.shape[1])
    divides = [
        marker
        for marker, row in enumerate(signs)
        if np.mean(row == 0) <= MOST_UNCLEAR and {1, -1} <= {*row.tolist()}
    ]
    if not divides:
        return ("",) * populations
    ways: list[list[int]] = [[] for _ in range(populations)]
    _divide(list(range(populations)), divides, signs, 1 - np.asarray(depths, np.float64), ways)
    for population, way in enumerate(ways):
        _lengthen(way, 0, signs[:, population], signs, divides)
        _shorten(way, population, signs)
        _lengthen(way, FEWEST_SIGNS, signs[:, population], signs, divides)
    names = [
        " ".join(
            f"{markers[marker]}{mark}"
            for sign, mark in ((1, "+"), (-1, "-"))
            for marker in way
            if signs[marker, population] == sign
        )
        for population, way in enumerate(ways)
    ]
    return tuple(name or UNCLEAR for name in names)


def _divide(
    members: list[int],
    markers: list[int],
    signs: NDArray[np.int8],
    clarity: FloatArray,
    ways: list[list[int]],
) -> None:
    """Divide populations by the marker that divides them best, and then every part."""
    if len(members) < 2:
        return
    values = []
    for marker in markers:
        counts = Counter(signs[marker, members].tolist())
        value = counts[1] * counts[-1] + _UNCLEAR_PART * counts[0] * (counts[1] + counts[-1])
        values.append(value * clarity[marker])
    if not max(values, default=0.0):
        return
    best = markers[int(np.argmax(values))]
    for sign in (1, -1, 0):
        part = [member for member in members if signs[best, member] == sign]
        if sign:
            for member in part:
                ways[member].append(best)
        _divide(part, [marker for marker in markers if marker != best], signs, clarity, ways)


def _lengthen(
    way: list[int],
    fewest: int,
    own: NDArray[np.int8],
    signs: NDArray[np.int8],
    markers: list[int],
) -> None:
    """Add positive signs of few other populations, until there is one, and so many signs."""
    positive = [marker for marker in markers if marker not in way and own[marker] == 1]
    positive.sort(key=lambda marker: int((signs[marker] == 1).sum()))
    for marker in positive:
        if len(way) >= fewest and any(own[other] == 1 for other in way):
            return
        way.append(marker)


def _shorten(way: list[int], population: int, signs: NDArray[np.int8]) -> None:
    """Leave out negative signs, the last ones first, that exclude no further population."""
    own = signs[:, population]

    def consistent(markers: list[int]) -> int:
        """Return the number of populations with the signs of this one."""
        return int((signs[markers] == own[markers, None]).all(axis=0).sum())

    count = consistent(way)
    for marker in [marker for marker in reversed(way) if own[marker] < 0]:
        rest = [other for other in way if other != marker]
        if len(rest) >= _FEWEST_KEPT and consistent(rest) == count:
            way.remove(marker)
