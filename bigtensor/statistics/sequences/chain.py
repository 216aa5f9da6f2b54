"""Hidden Markov chain: initial and transition probabilities, and the emissions of its states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities
from bigtensor.statistics.within_reach import Reach

BLOCK_ROWS = 32_768
"""Rows of a block of a sequence: a message enters and leaves each of them."""

LOWEST_LOG = -100.0
"""Least difference from the largest log emission of a row, for products that stay positive."""

LEAST_TRANSITION = 1e-250
"""Probability that an impossible transition has in sums over paths.

States that never meet would vanish from each other's sums, and nothing would be left where the
rows before and the rows after speak for different ones.
"""

_SUM_TOLERANCE = 1e-9
"""Deviation of the sum of a distribution from one that counts as rounding."""


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """Hidden Markov chain with k states.

    Parameters
    ----------
    initial : (k,) float64 array
        Probabilities of the state of the first row of a sequence.
    transition : (k, k) float64 array
        Probabilities of the next state: from a row to a column, rows sum to one.
    emissions : JointDensities
        Probabilities or densities of a row in every state; its weights are ones.
    reach : Reach, optional
        Rows out of reach are outliers, which have the same density in every state. All rows are
        within reach by default.
    after_gap : (k,) float64 array, optional
        Probabilities of the state of the first row after rows that were left out, by default
        `initial`.

    Attributes
    ----------
    first_states : (2, k) float64 array
        Probabilities of the state of a row without a row before: `initial` and `after_gap`.
    positive_transition : (k, k) float64 array
        Transitions, at least `LEAST_TRANSITION`.

    Raises
    ------
    ParameterError
        When the shapes do not belong together, or probabilities do not sum to one.
    """

    initial: FloatArray
    transition: FloatArray
    emissions: JointDensities
    reach: Reach | None = None
    after_gap: FloatArray | None = None
    first_states: FloatArray = field(init=False, repr=False)
    positive_transition: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        initial = np.ascontiguousarray(self.initial, np.float64)
        transition = np.ascontiguousarray(self.transition, np.float64)
        k = self.emissions.n_components
        if initial.shape != (k,) or transition.shape != (k, k):
            raise ParameterError(
                f"a chain of {k} states needs ({k},) initial and ({k}, {k}) transition "
                f"probabilities, got the shapes {initial.shape} and {transition.shape}"
            )
        after_gap = initial if self.after_gap is None else self.after_gap
        first_states = np.vstack([initial, after_gap])
        rows = np.vstack([first_states, transition])
        if not (rows.min() >= 0 and np.allclose(rows.sum(axis=1), 1, rtol=0, atol=_SUM_TOLERANCE)):
            raise ParameterError(
                "initial probabilities and every row of transition probabilities must be "
                "at least zero and sum to one"
            )
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "transition", transition)
        object.__setattr__(self, "first_states", first_states)
        positive = np.maximum(transition, LEAST_TRANSITION)
        object.__setattr__(self, "positive_transition", positive)

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.initial)

    def write_emissions(self, block: Block, work: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return the emissions of a block, relative to the largest of every row.

        Parameters
        ----------
        block : Block
            Rows of data.
        work : Workspace
            Buffers that are reused from block to block.

        Returns
        -------
        emission : (rows, k) float64 array
            Between ``exp(LOWEST_LOG)`` and one.
        log_largest : (rows,) float64 array
            Natural logarithm of the largest emission of every row.
        """
        emission, log_largest = self.write_relative_log_emissions(block, work)
        np.exp(emission, out=emission)
        return emission, log_largest

    def write_relative_log_emissions(
        self, block: Block, work: Workspace
    ) -> tuple[FloatArray, FloatArray]:
        """Return logarithms of the emissions of a block; see `write_emissions`."""
        shape = block.rows, self.n_states
        log_emission: FloatArray = work.take("chain.emission", shape, "float64")
        log_largest: FloatArray = work.take("chain.largest", shape[:1], "float64")
        self.emissions.log_joint(block, log_emission, work)
        if self.reach is not None:
            log_emission[~self.reach.holds(block.dense_values[: block.rows])] = 0
        subtract_largest(log_emission, LOWEST_LOG, log_largest)
        return log_emission, log_largest

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes that the emissions of ``rows`` rows need."""
        return 8 * rows * (self.n_states + 1) + self.emissions.work_nbytes(rows)


@row_loop
def subtract_largest(values: FloatArray, lowest: float, largest: FloatArray) -> None:
    """Subtract the largest entry from every row, down to a lowest difference, and keep it."""
    for row in range(values.shape[0]):
        of_row = values[row]
        top = of_row[0]
        for h in range(1, of_row.size):
            top = max(top, of_row[h])
        largest[row] = top
        for h in range(of_row.size):
            of_row[h] = max(of_row[h] - top, lowest)
