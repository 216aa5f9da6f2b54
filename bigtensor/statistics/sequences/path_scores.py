"""Log probabilities of paths as whole numbers, whose sums have no rounding errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.sequences.chain import HiddenChain

SCALE = 2.0**36
"""Units of a score in one nat: 1.5e-11 nats each, and 1.3e8 nats before numbers overflow."""

LOWEST = -(2**60)
"""Score of an impossible path: no sum of two scores overflows."""

TIE_UNITS = 1023
"""Largest number of units, 1.5e-8 nats, that a state of a row is given to decide between paths.

Paths of equal probability are common: with the same symbol in two rows, the states a, b, a, a and
a, a, b, a use the same probabilities. Rounding errors would decide between them, another way in
every chunking. Numbers that depend on the row and the state alone decide the same way in all.
"""


@dataclass(frozen=True, eq=False)
class PathScores:
    """Log probabilities of a chain as whole numbers.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    """

    chain: HiddenChain
    first_states: IntArray = field(init=False, repr=False)
    transition: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_states", _scores(self.chain.first_states))
        object.__setattr__(self, "transition", _scores(self.chain.transition))

    def write_emissions(self, block: Block, work: Workspace) -> IntArray:
        """Return the scores of the emissions of a block, in a buffer of the workspace.

        Parameters
        ----------
        block : Block
            Rows of data.
        work : Workspace
            Buffers that are reused from block to block.

        Returns
        -------
        (rows, k) int64 array
            Relative to the largest of every row.
        """
        log_emission, _ = self.chain.write_relative_log_emissions(block, work)
        score: IntArray = work.take("path.score", log_emission.shape, "int64")
        write_scores(log_emission, block.row_index(), SCALE, np.uint64(TIE_UNITS), score)
        return score

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes that the scores of ``rows`` rows need."""
        return self.chain.work_nbytes(rows) + 8 * rows * self.chain.n_states


def _scores(probabilities: FloatArray) -> IntArray:
    """Return the scores of probabilities."""
    with np.errstate(divide="ignore"):
        scores = np.rint(np.log(probabilities) * SCALE)
    return np.ascontiguousarray(np.maximum(scores, LOWEST), np.int64)


@row_loop
def write_scores(
    log_emission: FloatArray,
    index: IntArray,
    scale: float,
    tie_units: np.uint64,
    score: IntArray,
) -> None:
    """Write the scores of emissions, with a few units that depend on the row and the state.

    Parameters
    ----------
    log_emission : (rows, k) array
        Natural logarithms of the emissions.
    index : (rows,) int64 array
        Global index of every row.
    scale : float
        Units in one nat.
    tie_units : uint64
        A power of two less one.
    score : (rows, k) int64 array
        Receives the scores.
    """
    rows, k = score.shape
    for row in range(rows):
        for j in range(k):
            # the mixing function of SplitMix64 (Steele, Lea and Flood 2014)
            mixed = np.uint64(index[row]) * np.uint64(k) + np.uint64(j)
            mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = (mixed ^ (mixed >> np.uint64(31))) & tie_units
            score[row, j] = np.int64(np.rint(log_emission[row, j] * scale)) + np.int64(mixed)
