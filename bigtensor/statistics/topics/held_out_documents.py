"""Statistics of held-out documents, or of all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import OfOtherRows, Result, State, Statistic, Workspace
from bigtensor.statistics.topics.documents import Documents, document_keys


@dataclass(frozen=True)
class OfDocuments(OfOtherRows[Result]):
    """A statistic of the documents that are held out, or of all others.

    The choice depends on the words of a document alone: equal documents are held out together.

    Parameters
    ----------
    statistic : Statistic
        Statistic of documents.
    share : int
        One document of so many is held out.
    held_out : bool
        If True, these documents, otherwise all others.
    random_state : int
        Seed of the choice.
    """

    statistic: Statistic[Result]
    share: int
    held_out: bool
    random_state: int = 0

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the documents that are meant."""
        if not block.rows:
            return
        block = block.without_halo()
        keys = document_keys(Documents.of_block(block), self.random_state, "held out")
        chosen = keys % np.uint64(self.share) == 0
        self.statistic.update(state, block.keep(chosen if self.held_out else ~chosen), work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace and of the keys, of rows of a thousand words."""
        return self.statistic.work_nbytes(rows) + 8 * (3 + 1000) * rows
