"""Most probable paths in figures: shares of states along the rows, and lengths of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.best_path import PathBoundaries
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.segments import row_kinds


@dataclass(frozen=True, eq=False)
class DecodedSummary:
    """Figures of the most probable paths of all sequences.

    Attributes
    ----------
    counts : (bins, k) int64 array
        Rows in every state, in bins of equal numbers of rows.
    ended : (k, n + 1) int64 array
        Runs of one state of 0 to n rows that another state ends.
    cut : (k, n + 1) int64 array
        Runs that the end of a sequence or of a block ends.
    first_states : (m,) int64 array
        State of the first rows; -1 for rows left out.
    first_begins : (m,) bool array
        True for the first row of a sequence.
    """

    counts: IntArray
    ended: IntArray
    cut: IntArray
    first_states: IntArray
    first_begins: NDArray[np.bool_]

    def survival(self) -> FloatArray:
        """Return the probability that a run has at least 1, 2, ... rows: ``(k, n)``.

        The product-limit estimate (Kaplan and Meier 1958): a run that is cut counts up to its last
        row, of which it is not known whether it would have ended the run. After the longest run of
        a state the estimate is not a number.
        """
        ended, cut = self.ended[:, 1:], self.cut[:, 1:]
        lasting = np.cumsum((ended + cut)[:, ::-1], axis=1)[:, ::-1]
        kept = 1 - ended / np.maximum(lasting - cut, 1)
        survival = np.cumprod(np.column_stack([np.ones(len(kept)), kept[:, :-1]]), axis=1)
        survival[lasting == 0] = np.nan
        return np.asarray(survival)

    def mean_run(self) -> FloatArray:
        """Return the mean number of rows of a run: ``(k,)``, not a number for no run.

        The maximum likelihood estimate if every row ends a run with the same probability, as in a
        Markov chain: rows known to end a run or not, divided by the runs that ended.
        """
        length = np.arange(self.ended.shape[1])
        total_length = self.ended @ length + self.cut @ np.maximum(length - 1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total_length / self.ended.sum(axis=1))


@dataclass(frozen=True, eq=False)
class DecodedPaths(SumStatistic[DecodedSummary]):
    """Rows by bin and state, and runs by state and length, on the most probable paths.

    Runs that continue from another block are left out.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    paths : PathBoundaries
        Of a pass over the same rows.
    rows : int
        Of all data sets.
    bins : int
        Number of bins.
    first : int
        Rows, from the first on, whose states are kept.
    """

    chain: HiddenChain
    paths: PathBoundaries
    rows: int
    bins: int
    first: int
    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k = self.chain.n_states
        return {
            "counts": ((self.bins, k), "int64"),
            "ended": ((k, BLOCK_ROWS + 1), "int64"),
            "cut": ((k, BLOCK_ROWS + 1), "int64"),
            # one more than the state, so that zeros are rows left out
            "first_states": ((self.first,), "int64"),
            "first_begins": ((self.first,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block = block.without_halo()
        path = work.take("decoded.path", (block.rows,), "int32")
        SequenceAnswers(self.chain, paths=self.paths).evaluate(block, {"label": path}, work)
        starts = row_kinds(block, self.paths.around(block)[0]) > 0
        index = block.index
        if index is None:
            index = np.arange(block.start, block.start + block.rows)
        np.add.at(state["counts"], (index * self.bins // self.rows, path), 1)
        kept = index < self.first
        state["first_states"][index[kept]] += path[kept] + 1
        state["first_begins"][index[kept]] += starts[kept]
        _add_runs(path, starts, state)

    def finalize(self, state: State) -> DecodedSummary:
        """Return the figures."""
        return DecodedSummary(
            state["counts"],
            state["ended"],
            state["cut"],
            state["first_states"] - 1,
            state["first_begins"] > 0,
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return SequenceAnswers(self.chain).work_nbytes(rows) + 40 * rows


def _add_runs(path: NDArray[np.int32], starts: NDArray[np.bool_], state: State) -> None:
    """Count the runs of a block by their state and length."""
    change = path[1:] != path[:-1]
    first = np.concatenate([[0], 1 + np.flatnonzero(change | starts[1:])])
    length = np.diff(first, append=len(path))
    # a new sequence, or the end of the block, cuts the run before
    cut = np.append(starts[first[1:]], True)
    has_start = np.ones(len(first), np.bool_)
    has_start[0] = starts[0]
    for name, chosen in (("ended", has_start & ~cut), ("cut", has_start & cut)):
        np.add.at(state[name], (path[first[chosen]], length[chosen]), 1)
