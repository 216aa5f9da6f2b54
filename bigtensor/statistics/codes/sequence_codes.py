"""Codes of all rows, and their sequences in an order that does not depend on the data's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.codes.triple_counts import TripleCounts, goes_on
from bigtensor.statistics.sequences.entries import EntryStatistic


@dataclass(frozen=True, eq=False)
class SequenceCodesResult:
    """Codes of all rows, in the order of the rows.

    Attributes
    ----------
    codes : (rows,) int16 array
        Negative for a missing one.
    weight : (rows,) float64 array
        Weights of the rows.
    followed : (rows,) bool array
        True where the next row is of the same sequence.
    """

    codes: NDArray[np.int16]
    weight: FloatArray
    followed: NDArray[np.bool_]

    def by_content(self, places: IntArray, random_state: int) -> Block:
        """Return the distinct sequences, each with the sum of its weights, in a random order.

        The order follows from the codes of the sequences alone. It is the same for any order of
        the sequences and any names of the categories, and for copies in place of weights.

        Parameters
        ----------
        places : (categories,) int64 array
            Place of every category by its content.
        random_state : int
            Seed of the order.
        """
        codes = np.append(places, -1)[np.maximum(self.codes, -1)].astype(np.int16)
        ends = np.flatnonzero(~self.followed) + 1
        starts = np.append(0, ends[:-1])
        weights = dict[bytes, FloatArray]()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            weight = self.weight[start:end]
            if not weight.any():
                continue
            content = codes[start:end].tobytes()
            weights[content] = weights[content] + weight if content in weights else weight
        contents = sorted(weights)
        order = np.random.default_rng(random_state).permutation(len(contents))
        ordered = [contents[place] for place in order.tolist()]
        sizes = [len(weights[content]) for content in ordered]
        at_places = np.frombuffer(b"".join(ordered), np.int16)
        return Block(
            np.append(np.argsort(places), -1)[at_places][:, None],
            {"code": slice(0, 1)},
            0,
            sum(sizes),
            np.concatenate([np.zeros(0), *(weights[content] for content in ordered)]),
            np.repeat(np.arange(len(sizes)), sizes),
        )


@dataclass(frozen=True)
class SequenceCodes(EntryStatistic[SequenceCodesResult]):
    """Codes and weights of all rows, which have to be few.

    Parameters
    ----------
    most_entries : int
        Largest number of rows.
    """

    most_entries: int
    block_rows: ClassVar[int] = TripleCounts.block_rows
    halo: ClassVar[int] = 1

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of one row."""
        return {
            "index": ((), "int64"),
            "code": ((), "int16"),
            "weight": ((), "float64"),
            "followed": ((), "bool"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Add the rows of one block."""
        if not block.rows:
            return
        rows: dict[str, Any] = {
            "index": block.row_index(),
            "code": np.maximum(block.dense_values[: block.rows, 0], -1),
            "weight": block.row_weights(),
            "followed": goes_on(block, np.arange(block.rows)),
        }
        self.append(state, rows)

    def finalize(self, state: State) -> SequenceCodesResult:
        """Sort by the row index."""
        order = np.argsort(state["index"])
        return SequenceCodesResult(*(state[name][order] for name in ("code", "weight", "followed")))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the arrays of the rows, before they are added."""
        return 4 * 8 * rows
