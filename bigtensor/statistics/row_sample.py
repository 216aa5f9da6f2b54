"""Uniform sample of rows, independent of the chunking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import State, Statistic, Workspace
from bigtensor.statistics.row_copies import distinct_rows, independent_rows, original_rows
from bigtensor.statistics.row_keys import block_keys, keys_at

_PURPOSE = "sample"
"""What the keys of the rows are drawn for."""

_PER_ROW = ("key", "index", "values", "weight")
"""Arrays of the state that have one entry for every kept row."""


@dataclass(frozen=True)
class Sample:
    """Rows drawn without replacement, by ascending row index where it is drawn.

    Attributes
    ----------
    values : (m, features) array
        The features of all views.
    index : (m,) int64 array
        Global row indices.
    weight : (m,) float64 array, optional
        Sample weights; None when none were asked for.
    """

    values: NDArray[np.floating]
    index: IntArray
    weight: FloatArray | None

    @cached_property
    def originals(self) -> IndexArray:
        """Number of every row among the original rows, of which others are copies: ``(m,)``."""
        return original_rows(self.values)

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return int(distinct_rows(self.values).max(initial=-1)) + 1

    @property
    def independent_share(self) -> float:
        """Independent rows per unit of weight, 1 without copies and weights.

        Weights that are counts become copies before, see `by_occurrence`.
        """
        weight = self.row_weights()
        if not weight.any():
            return 1.0
        return min(1.0, independent_rows(self.originals, weight) / float(weight.sum()))

    def row_weights(self) -> FloatArray:
        """Return the weight of every row: ``(m,)`` float64, ones without any."""
        return np.ones(len(self.values)) if self.weight is None else self.weight

    def take(self, rows: NDArray[np.bool_] | NDArray[np.integer]) -> Sample:
        """Return some rows of the sample.

        Parameters
        ----------
        rows : (m,) bool array or integer array
            Mask or positions of the rows.
        """
        return replace(
            self,
            values=self.values[rows],
            index=self.index[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def smaller(self, size: int, random_state: int) -> Sample:
        """Return the rows that a sample of this size and seed holds, if it has fewer rows.

        Parameters
        ----------
        size : int
            Largest number of rows.
        random_state : int
            Seed of the keys that this sample was drawn by.
        """
        if len(self.index) <= size:
            return self
        keys = keys_at(random_state, _PURPOSE, self.index)
        return self.take(_smallest(keys, self.index, size))

    def by_occurrence(self, most: int) -> Sample:
        """Return rows of about equal weight: a row of weight w becomes about w rows.

        Statistics without weights, such as quantiles, then hold for the weighted rows. Rows whose
        weights are counts become what they count, each with the weight one.

        Parameters
        ----------
        most : int
            Largest number of rows, unless there are more already. If the weights add up to more,
            all numbers of rows are reduced in proportion.
        """
        if self.weight is None:
            return self
        rows = occurrences(self.weight, most)
        repeated = self.take(rows)
        assert repeated.weight is not None
        return replace(
            repeated,
            index=np.arange(len(rows)),
            weight=repeated.weight / np.bincount(rows)[rows],
        )

    def block(self, slices: Mapping[str, slice]) -> Block:
        """Return the sample as a block, with the weights of the rows.

        Parameters
        ----------
        slices : mapping of str to slice
            The columns of every view.
        """
        return Block(self.values, slices, 0, len(self.values), self.weight, index=self.index)


@dataclass(frozen=True)
class RowSample(Statistic[Sample]):
    """The rows with the smallest keys, a uniform sample without replacement.

    The key of a row depends on ``random_state`` and its global index alone. Rows of weight zero are
    not part of the data and are left out.

    Parameters
    ----------
    size : int
        Rows to keep.
    n_features : int
        Features of all views together.
    dtype : str, default "float32"
        Of the kept values.
    random_state : int, default 0
        Seed of the keys.
    has_weight : bool, default False
        If True, keep the sample weights. Rows without a weight have weight one.

    Raises
    ------
    ParameterError
        When ``size`` is not positive.
    """

    size: int
    n_features: int
    dtype: str = "float32"
    random_state: int = 0
    has_weight: bool = False

    block_rows: ClassVar[int] = 16384

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ParameterError(f"a row sample needs size >= 1, got {self.size}")

    def init(self) -> State:
        """Return the sample of zero rows."""
        state: State = {
            "key": np.empty(0, np.uint64),
            "index": np.empty(0, np.int64),
            "values": np.empty((0, self.n_features), self.dtype),
        }
        if self.has_weight:
            state["weight"] = np.empty(0)
        return state

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Keep the rows of the block that have smaller keys than kept ones."""
        if not block.rows:
            return
        keys = block_keys(self.random_state, _PURPOSE, block)
        if state["key"].size < self.size:
            chosen = np.arange(block.rows)
        else:
            # equal keys are settled below, by the row index
            chosen = np.flatnonzero(keys <= state["key"].max())
        if block.weight is not None:
            chosen = chosen[block.weight[chosen] != 0]
        if chosen.size:
            self._add(state, self._rows(block, keys, chosen))

    def combine(self, left: State, right: State) -> State:
        """Return the smallest keys of both."""
        merged = {
            name: np.concatenate([left[name], right[name]]) for name in left if name in _PER_ROW
        }
        kept = _smallest(merged["key"], merged["index"], self.size)
        return {
            **{name: array[kept] for name, array in merged.items()},
        }

    def finalize(self, state: State) -> Sample:
        """Sort by the row index."""
        order = np.argsort(state["index"])
        return Sample(
            values=state["values"][order],
            index=state["index"][order],
            weight=state["weight"][order] if self.has_weight else None,
        )

    def state_nbytes(self) -> int:
        """Return the bytes of a full sample."""
        per_row = 8 + 8 + self.n_features * np.dtype(self.dtype).itemsize + 8 * self.has_weight
        return self.size * per_row + 8

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the keys of a block, a bound on what is chosen, and their merge."""
        per_row = 4 * 8 + self.n_features * np.dtype(self.dtype).itemsize
        return rows * per_row + (rows + self.size) * 4 * 8

    def _rows(self, block: Block, keys: NDArray[np.uint64], chosen: IntArray) -> State:
        """Return copies of the chosen rows of a block, named like the state."""
        rows: State = {
            "key": keys[chosen],
            "index": chosen + block.start if block.index is None else block.index[chosen],
            "values": block.dense_values[chosen].astype(self.dtype, copy=False),
        }
        if self.has_weight:
            rows["weight"] = np.ones(chosen.size) if block.weight is None else block.weight[chosen]
        return rows

    def _add(self, state: State, rows: State) -> None:
        """Put rows into the free places, then into the places of rows with larger keys."""
        free = self.size - state["key"].size
        for name in rows if free else ():
            state[name] = np.concatenate([state[name], rows[name][:free]])
        if rows["key"].size <= free:
            return
        later = {name: array[free:] for name, array in rows.items()}
        kept = _smallest(
            np.concatenate([state["key"], later["key"]]),
            np.concatenate([state["index"], later["index"]]),
            self.size,
        )
        stays = np.zeros(self.size + later["key"].size, bool)
        stays[kept] = True
        places = np.flatnonzero(~stays[: self.size])
        comers = np.flatnonzero(stays[self.size :])
        for name, array in later.items():
            state[name][places] = array[comers]


def occurrences(weight: FloatArray, most: int) -> IndexArray:
    """Return positions of rows, every row as often as its weight says, but at least once.

    Parameters
    ----------
    weight : (n,) float64 array
        A row of weight zero does not occur.
    most : int
        Largest number of positions, unless there are more rows already. If the weights add up to
        more, the numbers of occurrences are reduced in proportion.

    Returns
    -------
    (m,) integer array
        Ascending.
    """
    least = (weight > 0).astype(np.intp)
    copies = np.maximum(least, np.rint(weight))
    if copies.sum() > most:
        room = max(0, most - least.sum())
        copies = np.maximum(least, np.floor(weight * (room / weight.sum())))
    return np.repeat(np.arange(len(weight)), copies.astype(np.intp))


def _smallest(keys: NDArray[np.uint64], index: IntArray, size: int) -> IntArray:
    """Return the positions of the ``size`` smallest (key, index) pairs, in ascending position."""
    if keys.size <= size:
        return np.arange(keys.size)
    largest = np.partition(keys, size - 1)[size - 1]
    kept = keys < largest
    equal = np.flatnonzero(keys == largest)
    kept[equal[np.argsort(index[equal])[: size - np.count_nonzero(kept)]]] = True
    return np.flatnonzero(kept)
