"""Ids of sequences that come back after another sequence, counted on a sample of the ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import State, Statistic, Workspace
from bigtensor.statistics.codes.triple_counts import first_rows

MOST_IDS = 2048
"""Ids that are kept: 48 KiB."""

# constants of SplitMix64 (Steele, Lea and Flood 2014)
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SHIFTS = (30, 27, 31)
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class SequenceIdsResult:
    """Ids of sequences, of data that may have more than are kept.

    Attributes
    ----------
    n_ids : int
        Ids that were kept: all of them where there are fewer than `most`.
    returning : int
        Kept ids that start a sequence more than once within one data set.
    most : int
        Largest number of ids that are kept.
    """

    n_ids: int
    returning: int
    most: int

    @property
    def complete(self) -> bool:
        """True if all ids were kept."""
        return self.n_ids < self.most


@dataclass(frozen=True)
class SequenceIds(Statistic[SequenceIdsResult]):
    """Number of runs of the ids with the smallest hashes (bottom-k sample; Cohen and Kaplan 2007).

    The runs of a kept id are counted exactly: an id that is among the smallest of all rows is among
    the smallest of every part. Memory does not depend on the number of sequences. Where ids are
    left out, a few that come back may be missed, and none is reported wrongly.

    Parameters
    ----------
    most : int, default `MOST_IDS`
        Ids that are kept.
    """

    most: int = MOST_IDS
    block_rows: ClassVar[int] = 32_768
    halo: ClassVar[int] = 1

    def init(self) -> State:
        """Return empty lists."""
        return {"hash": np.zeros(0, np.uint64), "runs": np.zeros(0, np.int64)}

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Add the sequences that start in one block."""
        if block.sequence is None or not block.rows:
            return
        self.add(state, block.sequence[first_rows(block)], block.source_start)

    def add(self, state: State, first: NDArray[np.generic], source_start: int) -> None:
        """Add sequences that start, by the ids of their first rows.

        Parameters
        ----------
        state : dict
            Hashes and runs of the kept ids. Changed in place.
        first : (n,) integer array
            Id of the first row of every sequence.
        source_start : int
            Global index of the first row of their data set.
        """
        hashes = _hashed(first, source_start)
        if len(state["hash"]) == self.most:
            hashes = hashes[hashes <= state["hash"][-1]]
        if len(hashes):
            added, runs = np.unique(hashes, return_counts=True)
            state.update(self.combine(state, {"hash": added, "runs": runs}))

    def combine(self, left: State, right: State) -> State:
        """Add the runs of equal ids, and keep the ids with the smallest hashes."""
        both = np.concatenate([left["hash"], right["hash"]])
        hashes, place = np.unique(both, return_inverse=True)
        runs = np.zeros(len(hashes), np.int64)
        np.add.at(runs, place, np.concatenate([left["runs"], right["runs"]]))
        return {"hash": hashes[: self.most], "runs": runs[: self.most]}

    def finalize(self, state: State) -> SequenceIdsResult:
        """Return the number of kept ids, and of those that come back."""
        returning = int(np.count_nonzero(state["runs"] > 1))
        return SequenceIdsResult(len(state["hash"]), returning, self.most)

    def state_nbytes(self) -> int:
        """Return the bytes of the largest number of ids, and of their union with others."""
        return 2 * self.most * 16

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the hashes of sequences of one row."""
        return 4 * 8 * (rows + self.halo)


def _hashed(ids: NDArray[np.generic], source_start: int) -> NDArray[np.uint64]:
    """Return well mixed numbers, different for equal ids of different data sets (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = ids.astype(np.int64).view(np.uint64) + np.uint64(
            (source_start + 1) * _GOLDEN % 2**64
        )
        for shift, mixer in zip(_SHIFTS, _MIXERS, strict=False):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(mixer)
        return np.asarray(mixed ^ (mixed >> np.uint64(_SHIFTS[-1])))
