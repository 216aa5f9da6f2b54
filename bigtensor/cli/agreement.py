"""How well labels agree with the truth, from a table of counts that is filled block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor.data.stores import open_whole_group, read_rows

BLOCK_ROWS = 1_048_576


@dataclass(frozen=True, eq=False)
class Agreement:
    """True populations and the components matched with them.

    Components are matched with populations one to one so that most rows agree (Hungarian method).

    Attributes
    ----------
    counts : (populations, components) int64 array
        Rows of every pair; columns are in the order of the populations they are matched with.
    components : (populations,) int64 array
        The component matched with every population.
    """

    counts: NDArray[np.int64]
    components: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Share of rows whose component is matched with their population."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of every population that has its component."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of every matched component that is of its population."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall of every population."""
        return _ratio(2 * np.diag(self.counts), self.counts.sum(axis=0) + self.counts.sum(axis=1))

    @property
    def adjusted_rand(self) -> float:
        """Adjusted Rand index (Hubert and Arabie 1985): 1 is the same partition, 0 chance."""
        together = _pairs(self.counts).sum()
        rows, columns = (_pairs(self.counts.sum(axis=axis)).sum() for axis in (1, 0))
        chance = rows * columns / _pairs(self.counts.sum())
        most = (rows + columns) / 2
        return 1.0 if most == chance else float((together - chance) / (most - chance))


def agreement(data: Path, labels: Path, n_components: int) -> Agreement:
    """Compare the labels of a store with the true ones of the data.

    Parameters
    ----------
    data, labels : Path
        Zarr stores with a variable ``label``; rows of either label below 0 do not count.
    n_components : int
        Number of true populations, and of components.

    Returns
    -------
    Agreement
    """
    k = n_components
    counts = np.zeros(k * k, np.int64)
    for true, found in zip(_label_blocks(data), _label_blocks(labels), strict=True):
        known = (true >= 0) & (found >= 0)
        counts += np.bincount(true[known].astype(np.int64) * k + found[known], minlength=k * k)
    table = counts.reshape(k, k)
    components = linear_sum_assignment(table, maximize=True)[1]
    return Agreement(table[:, components], components)


def label_counts(labels: Path) -> dict[int, int]:
    """Count the rows of every label of a store.

    Parameters
    ----------
    labels : Path
        A Zarr store with a variable ``label``.

    Returns
    -------
    dict of int to int
        Ascending labels; -1 stands for rows that were left out.
    """
    counts: dict[int, int] = {}
    for block in _label_blocks(labels):
        for label, count in zip(*np.unique(block, return_counts=True), strict=True):
            counts[int(label)] = counts.get(int(label), 0) + int(count)
    return dict(sorted(counts.items()))


def _label_blocks(store: Path) -> Iterator[NDArray[np.int32]]:
    """Read the labels of a store block by block."""
    array: Any = open_whole_group(store)["label"]
    for start in range(0, array.shape[0], BLOCK_ROWS):
        yield read_rows(array, start, min(start + BLOCK_ROWS, array.shape[0]))


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divide, with 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _pairs(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of pairs of rows in every cell."""
    n = np.asarray(counts, np.float64)
    return n * (n - 1) / 2
