"""Weighted k-means of a sample that fits in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.descending_order import descending_order
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.row_loops import row_loop

_TILE_ROWS = 2048
"""Rows whose products with all centres are in memory at once."""

MAX_ITERATIONS = 100
"""Bound of Lloyd's iterations from one initialisation."""

_TOLERANCE = 1e-5
"""Relative decrease of the inertia below which an iteration is the last."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """Centres of clusters with the cluster of every row.

    Attributes
    ----------
    centres : (n_clusters, d) float64 array
        Sorted by their first coordinate, then by the others.
    labels : (n,) integer array
        The nearest centre of every row.
    inertia : float
        The weighted sum of squared distances of the rows to their centres.
    """

    centres: FloatArray
    labels: IndexArray
    inertia: float


class _Rows(Protocol):
    """Rows to cluster: everything that needs to know how many coordinates there are."""

    values: FloatArray
    weight: FloatArray

    def assign(self, centres: FloatArray) -> tuple[IndexArray, FloatArray]:
        """Return the nearest centre of every row and the squared distance to it."""
        ...

    def step(self, centres: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the weight and the sum of the rows of every centre, and the inertia."""
        ...


def kmeans(
    values: NDArray[Any],
    n_clusters: int,
    random_state: int,
    *,
    weight: NDArray[Any] | None = None,
    n_starts: int = 4,
    max_iter: int = MAX_ITERATIONS,
) -> Clustering:
    """Cluster rows by k-means: the best of several initialisations by k-means++.

    A cluster that loses all its rows starts again at the row that is farthest from its centre.
    Rows of one coordinate are sorted once, so that an iteration costs a search for the midpoints
    between centres.

    Parameters
    ----------
    values : (n, d) array
        Rows to cluster.
    n_clusters : int
        Number of clusters.
    random_state : int
        The result is a function of the arguments.
    weight : (n,) array, optional
        Weights of the rows, not negative; None stands for ones.
    n_starts : int, default 4
        Number of initialisations by k-means++. The result of the least inertia is returned.
    max_iter : int, default 100
        Largest number of Lloyd's iterations. With 0 the seeds of k-means++ are the centres.

    Raises
    ------
    ParameterError
        When ``n_clusters`` or ``n_starts`` is less than one.
    DataError
        When fewer rows have a positive weight than clusters are asked for, or values are not
        finite.

    References
    ----------
    Arthur and Vassilvitskii (2007), "k-means++: the advantages of careful seeding".
    """
    rows = np.array(values, np.float64, ndmin=2)
    if n_clusters < 1 or n_starts < 1:
        raise ParameterError(
            f"k-means needs at least one cluster and one initialisation, got {n_clusters} and "
            f"{n_starts}"
        )
    weights = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    usable = int(np.count_nonzero(weights > 0))
    if usable < n_clusters or not np.isfinite(rows).all():
        raise DataError(
            f"k-means of {usable} rows with a positive weight into {n_clusters} clusters: more "
            "rows than clusters are needed, and only finite values"
        )
    centre = np.average(rows, axis=0, weights=weights)
    rows -= centre
    sample: _Rows = _Sorted(rows, weights) if rows.shape[1] == 1 else _Wide(rows, weights)
    best, best_inertia = rows[:0], np.inf
    for seed in np.random.SeedSequence(random_state).spawn(n_starts):
        seeds = _plus_plus(rows, weights, n_clusters, np.random.default_rng(seed))
        start = rows[seeds]
        centres, inertia = _lloyd(sample, start, max_iter)
        if inertia < best_inertia:
            best, best_inertia = centres, inertia
    best = best[np.lexsort(best.T[::-1])]
    labels, distances = sample.assign(best)
    return Clustering(best + centre, labels, float(weights @ distances))


def plus_plus_rows(values: NDArray[Any], count: int, random_state: int) -> IndexArray:
    """Choose rows by the seeding of k-means++: each by its squared distance to those before it.

    Every row is the best of a few that are drawn, the one that leaves the least sum of squared
    distances.

    Parameters
    ----------
    values : (n, d) array
        Rows to choose from.
    count : int
        At most the number of distinct rows.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    (count,) integer array
        Positions of the chosen rows.

    References
    ----------
    Arthur and Vassilvitskii (2007), "k-means++: the advantages of careful seeding", sec. 2.2; the
    several candidates are a remark in sec. 7.
    """
    rows = np.array(values, np.float64, ndmin=2)
    rows -= rows.mean(axis=0)
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    return _plus_plus(rows, np.ones(len(rows)), count, rng)


class _Wide:
    """Rows of several coordinates: distances by matrix products, tile by tile."""

    def __init__(self, values: FloatArray, weight: FloatArray) -> None:
        self.values = values
        self.weight = weight
        # the comparison of centres needs few digits, and values are centred
        scale = float(np.abs(values).max()) or 1.0
        self._augmented = np.hstack([values / scale, np.ones((len(values), 1))]).astype(np.float32)
        self._scale = scale

    def assign(self, centres: FloatArray) -> tuple[IndexArray, FloatArray]:
        labels = self._nearest(centres)
        difference = self.values - centres[labels]
        return labels, np.einsum("ij,ij->i", difference, difference)

    def step(self, centres: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        weight, sums, inertia = np.zeros(len(centres)), np.zeros_like(centres), np.zeros(1)
        labels = self._nearest(centres)
        _add_to_clusters(self.values, self.weight, labels, centres, weight, sums, inertia)
        return weight, sums, float(inertia[0])

    def _nearest(self, centres: FloatArray) -> IndexArray:
        """Return the nearest centre of every row."""
        labels = np.empty(len(self.values), np.intp)
        scaled = centres / self._scale
        factor = np.vstack([-2 * scaled.T, (scaled**2).sum(1)]).astype(np.float32)
        products = np.empty((_TILE_ROWS, len(centres)), np.float32)
        for start in range(0, len(labels), _TILE_ROWS):
            rows = self._augmented[start : start + _TILE_ROWS]
            tile = products[: len(rows)]
            np.matmul(rows, factor, out=tile)
            np.argmin(tile, axis=1, out=labels[start : start + _TILE_ROWS])
        return labels


@row_loop
def _add_to_clusters(
    values: FloatArray,
    weight: FloatArray,
    labels: IndexArray,
    centres: FloatArray,
    weights: FloatArray,
    sums: FloatArray,
    inertia: FloatArray,
) -> None:
    """Add every row, times its weight, to its cluster, and its squared distance to the inertia."""
    for row in range(values.shape[0]):
        cluster, times, distance = labels[row], weight[row], 0.0
        for column in range(values.shape[1]):
            value = values[row, column]
            sums[cluster, column] += times * value
            distance += (value - centres[cluster, column]) ** 2
        weights[cluster] += times
        inertia[0] += times * distance


class _Sorted:
    """Rows of one coordinate, in ascending order: clusters are ranges of rows."""

    def __init__(self, values: FloatArray, weight: FloatArray) -> None:
        self.values = values
        self.weight = weight
        order = np.argsort(values[:, 0], kind="stable")
        self._sorted = values[order, 0]
        powers = np.stack([np.ones(len(values)), self._sorted, self._sorted**2])
        self._cumulative = np.zeros((3, len(values) + 1))
        np.cumsum(powers * weight[order], axis=1, out=self._cumulative[:, 1:])

    def assign(self, centres: FloatArray) -> tuple[IndexArray, FloatArray]:
        order = np.argsort(centres[:, 0], kind="stable")
        midpoints = _midpoints(centres[order, 0])
        labels = order[np.searchsorted(midpoints, self.values[:, 0])]
        return labels, ((self.values - centres[labels]) ** 2)[:, 0]

    def step(self, centres: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        order = np.argsort(centres[:, 0], kind="stable")
        ascending = centres[order, 0]
        inner = np.searchsorted(self._sorted, _midpoints(ascending), side="right")
        bounds = np.concatenate([[0], inner, [len(self._sorted)]])
        ranges: FloatArray = np.diff(self._cumulative[:, bounds], axis=1)
        weight, first, second = ranges
        inertia = float((second - 2 * ascending * first + ascending**2 * weight).sum())
        weights, sums = np.empty_like(weight), np.empty_like(centres)
        weights[order], sums[order, 0] = weight, first
        return weights, sums, inertia


def _midpoints(ascending: FloatArray) -> FloatArray:
    """Return the points between neighbouring centres."""
    return np.asarray(0.5 * (ascending[1:] + ascending[:-1]))


def _lloyd(rows: _Rows, centres: FloatArray, max_iter: int) -> tuple[FloatArray, float]:
    """Move the centres to the means of their rows until the inertia settles."""
    previous = np.inf
    for _ in range(max_iter):
        weight, sums, inertia = rows.step(centres)
        filled = weight > 0
        centres = np.where(filled[:, None], sums / np.where(filled, weight, 1)[:, None], centres)
        if not filled.all():
            centres = _reseed(rows, centres, np.flatnonzero(~filled))
        elif previous - inertia <= _TOLERANCE * inertia:
            break
        previous = inertia
    return centres, rows.step(centres)[2]


def _reseed(rows: _Rows, centres: FloatArray, empty: IndexArray) -> FloatArray:
    """Put every empty cluster at one of the rows that are farthest from their centres."""
    _, distances = rows.assign(centres)
    farthest = descending_order(distances * (rows.weight > 0))[: len(empty)]
    moved = centres.copy()
    moved[empty] = rows.values[farthest]
    return moved


def _plus_plus(
    values: FloatArray, weight: FloatArray, n_clusters: int, rng: np.random.Generator
) -> IndexArray:
    """Choose rows as centres, each the best of a few drawn by their squared distance."""
    trials = 2 + int(np.log(n_clusters))
    squares = np.einsum("ij,ij->i", values, values)
    chosen = [_draw(weight, 1, rng)[0]]
    nearest = _squared_distances(values, squares, chosen)[0]
    for _ in range(n_clusters - 1):
        candidates = _draw(weight * nearest, trials, rng)
        distances = _squared_distances(values, squares, candidates)
        np.minimum(distances, nearest, out=distances)
        best = int(np.argmin(distances @ weight))
        chosen.append(candidates[best])
        nearest = distances[best]
    return np.array(chosen, np.intp)


def _squared_distances(
    values: FloatArray, squares: FloatArray, chosen: IndexArray | list[np.intp]
) -> FloatArray:
    """Return the squared distance of every row to every chosen row: ``(chosen, n)``."""
    if values.shape[1] == 1:
        differences: FloatArray = values[chosen] - values.T
        return np.square(differences, out=differences)
    products: FloatArray = values[chosen] @ values.T
    products *= -2
    products += squares
    products += squares[chosen][:, None]
    return np.maximum(products, 0, out=products)


def _draw(mass: FloatArray, count: int, rng: np.random.Generator) -> IndexArray:
    """Draw rows with probabilities proportional to ``mass``; uniformly when there is none."""
    cumulative = np.cumsum(mass)
    if not cumulative[-1] > 0:
        return rng.integers(len(mass), size=count)
    drawn = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, len(mass) - 1))
