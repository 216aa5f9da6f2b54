"""Filter along the sequences of a block, given what enters it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.segments import row_kinds
from bigtensor.statistics.sequences.sum_loops import write_filtered
from bigtensor.statistics.sequences.transfer import Boundaries


@dataclass(frozen=True, eq=False)
class Filtered:
    """States of the rows of a block, given the rows so far, and what a smoother needs.

    Attributes
    ----------
    emission : (rows, k) float64 array
        Relative to the largest of every row.
    kinds : (rows,) int8 array
        Kind of every row; see `row_kinds`.
    entering, leaving : (k,) float64 array
        Messages of the block; see `Boundaries`.
    filtered : (rows, k) float64 array
        Probabilities of the states given the rows so far.
    log_density : (rows,) float64 array
        Of every row, given the earlier rows of its sequence.
    """

    emission: FloatArray
    kinds: NDArray[np.int8]
    entering: FloatArray
    leaving: FloatArray
    filtered: FloatArray
    log_density: FloatArray


def filtered_block(
    chain: HiddenChain, boundaries: Boundaries, block: Block, work: Workspace
) -> Filtered:
    """Return the filtered states of a block, in buffers of the workspace.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    boundaries : Boundaries
        Of a pass that cut the rows into the same blocks.
    block : Block
        Without a halo.
    work : Workspace
        Buffers that are reused from block to block.
    """
    first, entering, leaving = boundaries.around(block)
    kinds = row_kinds(block, first)
    emission, log_largest = chain.write_emissions(block, work)
    filtered = work.take("filter.state", emission.shape, "float64")
    log_density = work.take("filter.log_density", log_largest.shape, "float64")
    write_filtered(
        emission,
        log_largest,
        kinds,
        chain.first_states,
        chain.positive_transition,
        entering,
        filtered,
        log_density,
    )
    return Filtered(emission, kinds, entering, leaving, filtered, log_density)


def filter_nbytes(chain: HiddenChain, rows: int) -> int:
    """Return the bytes of the workspace of `filtered_block`."""
    return chain.work_nbytes(rows) + 8 * rows * (chain.n_states + 1)
