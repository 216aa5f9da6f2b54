"""Likelihood and last state of every sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.entries import EntryStatistic
from bigtensor.statistics.sequences.filtering import filter_nbytes, filtered_block
from bigtensor.statistics.sequences.transfer import Boundaries


@dataclass(frozen=True, eq=False)
class SequenceEndsResult:
    """Every sequence, in the order of the rows.

    Attributes
    ----------
    sequence : (sequences,) int64 array
        Ids as they are in the data; zeros where the data have none.
    rows : (sequences,) int64 array
        Number of rows of every sequence.
    log_likelihood : (sequences,) float64 array
        In nats, relative to the volume of the emissions.
    weight : (sequences,) float64 array
        Sum of the weights of the rows.
    weighted_log_likelihood : (sequences,) float64 array
        Sum of the weight of a row times its log density given the earlier rows.
    last : (sequences, k) float64 array
        Probabilities of the last state, given all rows of the sequence.
    """

    sequence: IntArray
    rows: IntArray
    log_likelihood: FloatArray
    weight: FloatArray
    weighted_log_likelihood: FloatArray
    last: FloatArray


@dataclass(frozen=True, eq=False)
class SequenceEnds(EntryStatistic[SequenceEndsResult]):
    """Log-likelihood, rows and last state of every sequence.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    boundaries : Boundaries
        Of a pass over the same rows.
    most_entries : int
        Largest number of sequences, counted in every block that they reach.
    """

    chain: HiddenChain
    boundaries: Boundaries
    most_entries: int
    block_rows: ClassVar[int] = BLOCK_ROWS

    @classmethod
    def from_boundaries(cls, chain: HiddenChain, boundaries: Boundaries) -> SequenceEnds:
        """Return the statistic of the sequences that a pass has counted."""
        return cls(chain, boundaries, boundaries.sequences + len(boundaries.start))

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the rows of one sequence in one block."""
        return {
            "begins": ((), "bool"),
            "sequence": ((), "int64"),
            "rows": ((), "int64"),
            "log_likelihood": ((), "float64"),
            "weight": ((), "float64"),
            "weighted_log_likelihood": ((), "float64"),
            "last": ((self.chain.n_states,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the sequences of one block."""
        if not block.rows:
            return
        block = block.without_halo()
        forward = filtered_block(self.chain, self.boundaries, block, work)
        first = np.flatnonzero(forward.kinds)
        if not forward.kinds[0]:
            first = np.concatenate([[0], first])
        ids = np.zeros(block.rows, np.int64) if block.sequence is None else block.sequence
        weight = block.row_weights()
        entries = {
            "begins": forward.kinds[first] > 0,
            "sequence": ids[first].astype(np.int64),
            "rows": np.diff(first, append=block.rows),
            "log_likelihood": np.add.reduceat(forward.log_density, first),
            "weight": np.add.reduceat(weight, first),
            "weighted_log_likelihood": np.add.reduceat(weight * forward.log_density, first),
            "last": forward.filtered[np.append(first[1:], block.rows) - 1],
        }
        self.append(state, entries)

    def finalize(self, state: State) -> SequenceEndsResult:
        """Join the parts of every sequence."""
        first = np.flatnonzero(state["begins"])
        summed = ("rows", "log_likelihood", "weight", "weighted_log_likelihood")
        if not len(first):
            sums = {name: state[name] for name in summed}
            return SequenceEndsResult(sequence=state["sequence"], last=state["last"], **sums)
        return SequenceEndsResult(
            sequence=state["sequence"][first],
            last=state["last"][np.append(first[1:], len(state["begins"])) - 1],
            **{name: np.add.reduceat(state[name], first) for name in summed},
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return filter_nbytes(self.chain, rows) + 2 * 8 * rows
