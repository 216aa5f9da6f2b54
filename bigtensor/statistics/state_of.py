"""The state of a statistic as its result: what can be kept and added to that of other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.data.block import Block
from bigtensor.statistics.base import State, Statistic, Workspace


@dataclass(frozen=True)
class StateOf(Statistic[State]):
    """Another statistic whose result is its state.

    Parameters
    ----------
    statistic : Statistic
    """

    statistic: Statistic[Any]

    def __post_init__(self) -> None:
        # a wrapper wants what the statistic inside it wants
        object.__setattr__(self, "block_rows", self.statistic.block_rows)
        object.__setattr__(self, "halo", self.statistic.halo)

    def init(self) -> State:
        """Return the inner state of zero rows."""
        return self.statistic.init()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        self.statistic.update(state, block, work)

    def combine(self, left: State, right: State) -> State:
        """Return the inner state of the rows of both."""
        return self.statistic.combine(left, right)

    def finalize(self, state: State) -> State:
        """Return the state."""
        return state

    def state_nbytes(self) -> int:
        """Return the bytes of the inner state."""
        return self.statistic.state_nbytes()

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace."""
        return self.statistic.work_nbytes(rows)
