"""Moments of pairs of words in the span of columns, of groups of documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.topics.documents import (
    BLOCK_ROWS,
    Documents,
    add_words,
    document_keys,
    project,
)


@dataclass(frozen=True, eq=False)
class PairsOfGroupsResult:
    """Raw moments of words in the span of columns.

    Attributes
    ----------
    mean : (groups, r) float64 array
        M1 contracted with the columns.
    pair : (groups, r, r) float64 array
        E2 contracted with the columns twice.
    """

    mean: FloatArray
    pair: FloatArray


@dataclass(frozen=True, eq=False)
class PairsOfGroups(SumStatistic[PairsOfGroupsResult]):
    """Contractions of the moments of one and two words with columns, of groups of documents.

    The group of a document depends on its words alone.

    Parameters
    ----------
    columns : (V, r) float64 array
        Columns that the moments are contracted with.
    groups : int
        Number of groups.
    random_state : int
        Seed of the choice of groups.
    """

    columns: FloatArray
    groups: int
    random_state: int = 0

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        words, r = self.columns.shape
        return {
            "mean": ((self.groups, r), "float64"),
            "pair": ((self.groups, r, r), "float64"),
            "squares": ((self.groups, words), "float64"),
            "influence": ((self.groups,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block = block.without_halo()
        keys = document_keys(Documents.of_block(block), self.random_state, "group")
        for group in range(self.groups):
            own = block.keep(keys % np.uint64(self.groups) == group)
            if not own.rows:
                continue
            documents = Documents.of_block(own)
            shape = own.rows, self.columns.shape[1]
            projected = work.take("pairs_of_groups.projected", shape, "float64")
            weighted = work.take("pairs_of_groups.weighted", shape, "float64")
            project(documents, self.columns, projected)
            np.multiply(projected, documents.of_pair[:, None], out=weighted)
            state["pair"][group] += weighted.T @ projected
            state["mean"][group] += documents.of_word @ projected
            add_words(documents, documents.of_pair, state["squares"][group])
            state["influence"][group] += documents.influence

    def finalize(self, state: State) -> PairsOfGroupsResult:
        """Correct for equal words, and divide by the influence of the documents of every group."""
        total = np.maximum(state["influence"], np.finfo(np.float64).tiny)
        equal = [self.columns.T @ (own[:, None] * self.columns) for own in state["squares"]]
        return PairsOfGroupsResult(
            state["mean"] / total[:, None], (state["pair"] - np.stack(equal)) / total[:, None, None]
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return 8 * rows * (2 * int(self.columns.shape[1]) + 16)
