"""Log probability of the most probable paths together with the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.best_path import PathBoundaries
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.segments import BEGINS, row_kinds


@dataclass(frozen=True, eq=False)
class PathProbability(SumStatistic[float]):
    """Sum over sequences of the log probability of the rows and of their most probable path.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    paths : PathBoundaries
        Of a pass over the same rows.
    """

    chain: HiddenChain
    paths: PathBoundaries
    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {"log_probability": ((), "float64"), "rows": ((), "int64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block, chain = block.without_halo(), self.chain
        path = work.take("path_probability.path", (block.rows,), "int32")
        SequenceAnswers(chain, paths=self.paths).evaluate(block, {"label": path}, work)
        first, entering, _ = self.paths.around(block)
        kinds = row_kinds(block, first)
        before = np.append(max(entering, 0), path[:-1])
        emission, largest = chain.write_relative_log_emissions(block, work)
        moves = np.where(
            kinds > 0,
            np.log(np.maximum(chain.first_states, np.finfo(np.float64).tiny))[kinds - BEGINS, path],
            np.log(chain.positive_transition)[before, path],
        )
        of_rows = emission[np.arange(block.rows), path] + largest + moves
        state["log_probability"] += of_rows.sum()
        state["rows"] += block.rows

    def finalize(self, state: State) -> float:
        """Return the sum in nats, of densities in the units of the data."""
        volume = self.chain.emissions.log_volume
        return float(state["log_probability"] - volume * state["rows"])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return SequenceAnswers(self.chain).work_nbytes(rows) + 48 * rows
