"""Drift of the medians of features along the acquisition of every sample."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from bigtensor.array_types import FloatArray, FloatingArray, IntArray
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views

PARTS = 20
"""Parts of equal numbers of rows that a sample is divided into along time."""

MOST_ROWS = 500
"""Rows of a part that its medians come from."""

FEWEST_ROWS = 25
"""Rows of a part below which medians are too uncertain to be shown."""

MOST_VALUES = 16_000_000
"""Values that are held at most (64 MB)."""

MATTERS = 0.1
"""Distance of the median of a part from the middle of the sample, as a share of its rows, from
which on a drift matters: a quarter of a standard deviation of a normal distribution."""

CHANCE = 0.01
"""Probability that any feature of any sample is flagged if all rows are in random order."""

_BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Drift:
    """Medians along the acquisition.

    Attributes
    ----------
    samples, features : tuple of str
        Names of the samples and features.
    medians : (samples, features, parts) float64 array
        Median of every part, in the units of the features.
    places : (samples, features, parts) float64 array
        Share of the rows of the sample that lie below the median of the part, minus one half.
    rows : int
        Rows of a part at most.
    threshold : float
        Absolute place above which a feature of a sample is flagged.
    by_time : bool
        True if rows are in the order of a time channel, and not in the order of the data.
    """

    samples: tuple[str, ...]
    features: tuple[str, ...]
    medians: FloatArray
    places: FloatArray
    rows: int
    threshold: float
    by_time: bool

    @property
    def largest(self) -> FloatArray:
        """Place of the part that is farthest from the middle: ``(samples, features)``."""
        farthest = np.abs(self.places).argmax(axis=2)
        return np.take_along_axis(self.places, farthest[..., None], axis=2)[..., 0]

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """True for the features of samples that drift: ``(samples, features)``."""
        return np.asarray(np.abs(self.largest) > self.threshold)

    def worst(self, most: int) -> list[tuple[int, int]]:
        """Return samples and features that are flagged, the largest drift first.

        Parameters
        ----------
        most : int
            Number of pairs at most.
        """
        order = np.argsort(-np.abs(self.largest), axis=None, kind="stable")
        pairs = [divmod(int(place), len(self.features)) for place in order]
        return [pair for pair in pairs if self.flagged[pair]][:most]


def drift_along_time(samples: Samples, sizes: IntArray) -> Drift | None:
    """Return the drift of all features in every sample, from one pass over the rows.

    Evenly spaced rows of every sample are kept and divided into parts of equal numbers of rows in
    the order of time. The median of a part is given its rank among the kept rows of the sample.
    Equal values are ranked at random. If the rows are in random order, the rank of a median of n
    rows has the beta distribution of the median of n uniform numbers, whatever the distribution of
    the feature. The threshold is its quantile, with Bonferroni's correction for all parts, features
    and samples, and is at least `MATTERS`.

    Parameters
    ----------
    samples : Samples
        Measured rows with groups.
    sizes : (groups,) int64 array
        Rows of every group, or fewer.

    Returns
    -------
    Drift or None
        None if no sample has enough rows. Samples with too few rows are left out.
    """
    assert samples.groups is not None
    features = samples.views.feature_names
    kept = _KeptRows(sizes, len(features) + 1)
    time = _time_column(samples)
    shown = samples if time is None else samples.with_views(_with_column(samples, time))
    edges = (*samples.offsets, samples.rows)
    ranges = [(start, stop) for start, stop in pairwise(edges) if stop > start]
    for block in shown.blocks(ranges, _BLOCK_ROWS):
        if block.group is not None:
            kept.add(block.dense_values[: block.rows], block.group[: block.rows])
    return _drift(kept, samples.groups.names, features, by_time=time is not None)


class _KeptRows:
    """Evenly spaced rows of every sample, collected block by block."""

    def __init__(self, sizes: IntArray, columns: int) -> None:
        room = MOST_VALUES // max(len(sizes) * columns * PARTS, 1)
        most = PARTS * min(MOST_ROWS, room)
        self._spacing = np.maximum(sizes // max(most, 1), 1)
        self._seen = np.zeros(len(sizes), np.int64)
        self._filled = np.zeros(len(sizes), np.int64)
        self._rows = [np.empty((min(int(size), most), columns), np.float32) for size in sizes]

    def add(self, values: FloatingArray, group: IntArray) -> None:
        """Add consecutive rows with the samples that they are of, negative for none."""
        for number in np.unique(group[group >= 0]).tolist():
            members = np.flatnonzero(group == number)
            first = -self._seen[number] % self._spacing[number]
            self._seen[number] += len(members)
            chosen = values[members[first :: self._spacing[number]]]
            chosen = chosen[np.isfinite(chosen).all(axis=1)]
            target = self._rows[number][self._filled[number] :]
            taken = chosen[: len(target)]
            target[: len(taken), : taken.shape[1]] = taken
            self._filled[number] += len(taken)

    def rows_of(self, number: int) -> NDArray[np.float32]:
        """Return the kept rows of one sample."""
        return self._rows[number][: self._filled[number]]


def _time_column(samples: Samples) -> int | None:
    """Return the column of the time channel, if the data have just one."""
    if samples.roles is None:
        return None
    columns = [column for column, role in enumerate(samples.roles) if role == "time"]
    used = {column for members in samples.views.columns for column in members}
    return columns[0] if len(columns) == 1 and columns[0] not in used else None


def _with_column(samples: Samples, column: int) -> Views:
    """Return the views of the samples and one more, of one column."""
    views, name = samples.views, samples.features[column]
    return Views((*views.features, (name, (name,))), (*views.columns, (column,)))


def _drift(
    kept: _KeptRows, names: tuple[str, ...], features: tuple[str, ...], *, by_time: bool
) -> Drift | None:
    """Return the drift of the kept rows."""
    chosen, medians, places, fewest, most = [], [], [], MOST_ROWS, 0
    for number, name in enumerate(names):
        rows = kept.rows_of(number)
        size = len(rows) // PARTS
        if size < FEWEST_ROWS:
            continue
        if by_time:
            rows = rows[np.argsort(rows[:, -1], kind="stable")]
        parts = rows[: size * PARTS, : len(features)].reshape(PARTS, size, len(features))
        chosen.append(name)
        medians.append(np.median(parts, axis=1).T)
        places.append(np.median(_ranks(parts), axis=1).T - 0.5)
        fewest, most = min(fewest, size), max(most, size)
    if not chosen:
        return None
    tests = len(chosen) * len(features) * PARTS
    threshold = max(MATTERS, _quantile_of_medians(fewest, CHANCE / tests))
    return Drift(
        tuple(chosen),
        features,
        np.array(medians, np.float64),
        np.array(places),
        most,
        threshold,
        by_time,
    )


def _ranks(parts: NDArray[np.float32]) -> FloatArray:
    """Return the ranks of all rows by feature, between 0 and 1. Ties are broken at random."""
    flat = parts.reshape(-1, parts.shape[2])
    ties = np.random.default_rng(0).random(len(flat))
    ranks = np.empty(flat.shape)
    for feature in range(flat.shape[1]):
        order = np.lexsort((ties, flat[:, feature]))
        ranks[order, feature] = (np.arange(len(flat)) + 0.5) / len(flat)
    return ranks.reshape(parts.shape)


def _quantile_of_medians(rows: int, probability: float) -> float:
    """Return the distance from one half that a median of uniform numbers rarely exceeds."""
    shape = (rows + 1) / 2
    return float(betaincinv(shape, shape, 1 - probability / 2) - 0.5)
