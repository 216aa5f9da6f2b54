"""Expected counts of states, transitions and emissions along whole sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.code_tables import CodeTables
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.filtering import filter_nbytes, filtered_block
from bigtensor.statistics.sequences.sum_loops import add_transitions
from bigtensor.statistics.sequences.transfer import Boundaries


@dataclass(frozen=True, eq=False)
class SequencePosteriorSumsResult:
    """Expected counts, weighted by the rows, from which a chain is re-estimated.

    Attributes
    ----------
    initial : (k,) float64 array
        Of the states of the first rows of sequences.
    transition : (k, k) float64 array
        Of pairs of states, from a row to a column.
    emission : (lines, k) float64 array
        Of every category and state, in the lines of the chain's tables.
    log_likelihood : float
        Sum over rows of the weight times the log density given the earlier rows.
    weight : float
    """

    initial: NDArray[np.float64]
    transition: NDArray[np.float64]
    emission: NDArray[np.float64]
    log_likelihood: float
    weight: float


@dataclass(frozen=True, eq=False)
class SequencePosteriorSums(SumStatistic[SequencePosteriorSumsResult]):
    """Sums of the forward-backward recursions (Baum, Petrie, Soules and Weiss 1970).

    The weight of a pair of states is the weight of the later row.

    Parameters
    ----------
    chain : HiddenChain
        With emissions of categories.
    boundaries : Boundaries
        Of a pass over the same rows.
    """

    chain: HiddenChain
    boundaries: Boundaries
    block_rows: ClassVar[int] = BLOCK_ROWS

    @property
    def _tables(self) -> CodeTables:
        """Tables of the emissions."""
        tables = self.chain.emissions.tables
        assert isinstance(tables, CodeTables)
        return tables

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k = self.chain.n_states
        return {
            "initial": ((k,), "float64"),
            "transition": ((k, k), "float64"),
            "emission": (self._tables.log_tables.shape, "float64"),
            "log_likelihood": ((), "float64"),
            "weight": ((), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block, chain = block.without_halo(), self.chain
        found = filtered_block(chain, self.boundaries, block, work)
        weight = work.take("expectation.weight", (block.rows,), "float64")
        np.copyto(weight, 1.0 if block.weight is None else block.weight)
        posterior = work.take("expectation.posterior", found.filtered.shape, "float64")
        add_transitions(
            found.emission,
            found.starts,
            weight,
            chain.positive_transition,
            found.entering,
            found.leaving,
            found.filtered,
            posterior,
            state["transition"],
            np.empty((2, chain.n_states)),
        )
        state["initial"] += posterior[found.starts].sum(axis=0)
        lookup = self._tables.lookup(block.rows, work)
        lookup.locate(block.values)
        lookup.add(posterior, state["emission"])
        state["log_likelihood"] += weight @ found.log_density
        state["weight"] += weight.sum()

    def finalize(self, state: State) -> SequencePosteriorSumsResult:
        """Return the expected counts."""
        return SequencePosteriorSumsResult(
            state["initial"],
            state["transition"] * self.chain.positive_transition,
            state["emission"],
            float(state["log_likelihood"]),
            float(state["weight"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        k = self.chain.n_states
        return filter_nbytes(self.chain, rows) + 8 * rows * (k + 1) + 4 * rows
