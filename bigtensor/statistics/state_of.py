"""State of a statistic as its result, to be kept and combined with states of other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import AroundStatistic, State, Statistic, Workspace

_ROWS, _WEIGHT = "state_of/rows", "state_of/weight"


@dataclass(frozen=True, eq=False)
class KeptState:
    """State of a statistic, with the counts of the rows behind it.

    Attributes
    ----------
    state : dict of str to ndarray
        Arrays of the state.
    rows : int
        Number of rows.
    weight : float
        The sum of the sample weights of these rows.
    """

    state: State
    rows: int
    weight: float


@dataclass(frozen=True)
class StateOf(AroundStatistic[KeptState]):
    """Another statistic whose result is its state.

    Parameters
    ----------
    statistic : Statistic
        Statistic whose state is kept.
    """

    statistic: Statistic[Any]

    def init(self) -> State:
        """Return the inner state of zero rows, with their number and weight."""
        own = {_ROWS: np.zeros((), np.int64), _WEIGHT: np.zeros(())}
        return self.statistic.init() | own

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        self.statistic.update(state, block, work)
        state[_ROWS] += block.rows
        state[_WEIGHT] += block.total_weight()

    def combine(self, left: State, right: State) -> State:
        """Return the state of the rows of both."""
        inner = self.statistic.combine(_inner(left), _inner(right))
        return inner | {name: np.asarray(left[name] + right[name]) for name in (_ROWS, _WEIGHT)}

    def finalize(self, state: State) -> KeptState:
        """Take the inner state apart from the number of rows and their weight."""
        return KeptState(_inner(state), int(state[_ROWS]), float(state[_WEIGHT]))

    def state_nbytes(self) -> int:
        """Return the bytes of the inner state and two numbers."""
        return self.statistic.state_nbytes() + 16

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace."""
        return self.statistic.work_nbytes(rows)


def _inner(state: State) -> State:
    """Return the inner state."""
    return {name: array for name, array in state.items() if name not in (_ROWS, _WEIGHT)}
