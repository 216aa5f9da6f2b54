"""Fitted hidden Markov model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import distributions
from bigtensor.descending_order import descending_order
from bigtensor.features.row_loops import row_loop
from bigtensor.models.contract.data_shape import view_slices
from bigtensor.models.hidden_markov.emissions.categorical_emissions import LOWEST
from bigtensor.models.hidden_markov.emissions.protocols import Emissions
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.within_reach import Reach


@dataclass(frozen=True, eq=False)
class MarkovFit:
    """Hidden Markov model.

    Attributes
    ----------
    initial : (k,) float64 array
        Probabilities of the state of the first row of a sequence.
    window_start : (k,) float64 array
        Probabilities of the state of the first of three rows, anywhere in a sequence, and of the
        row after a gap.
    transition : (k, k) float64 array
        From a row to a column.
    emissions : Emissions
        Distribution of the rows in every state.
    """

    initial: NDArray[np.float64]
    window_start: NDArray[np.float64]
    transition: NDArray[np.float64]
    emissions: Emissions

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of every view in the values of a block."""
        return view_slices(self.emissions.views)

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.initial)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        k = self.n_states
        return k - 1 + k * (k - 1) + self.emissions.parameters

    def chain(self, reach: Reach | None = None) -> HiddenChain:
        """Return the chain that answers are computed with, or that is fitted to rows within reach.

        Parameters
        ----------
        reach : Reach, optional
            Distances of the rows that are no outliers.
        """
        densities = self.emissions.densities()
        return HiddenChain(self.initial, self.transition, densities, reach, self.window_start)

    def occupancy(self) -> NDArray[np.float64]:
        """Return the share of every state in the long run: ``(k,)``, the stationary distribution.

        Where there are several, the one that the start of windows leads to.
        """
        share = self.window_start
        # repeated squaring: a million steps in twenty products
        power = self.transition
        for _ in range(20):
            power = power @ power
            power /= power.sum(axis=1, keepdims=True)
        share = share @ power
        return np.asarray(share / share.sum())

    def finished(self) -> MarkovFit:
        """Return the model without zeros, its states by descending share in the long run."""
        order = descending_order(self.occupancy())
        return MarkovFit(
            distributions(self.initial[order, None], LOWEST)[:, 0],
            distributions(self.window_start[order, None], LOWEST)[:, 0],
            distributions(self.transition[np.ix_(order, order)].T, LOWEST).T,
            self.emissions.ordered(order),
        )

    def draw(
        self, n_samples: int, rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Draw one sequence: its rows ``(n_samples, features)`` and states ``(n_samples,)``."""
        states = np.empty(n_samples, np.int32)
        write_states(
            np.cumsum(self.initial)[:-1],
            np.ascontiguousarray(np.cumsum(self.transition, axis=1)[:, :-1]),
            rng.random(n_samples),
            states,
        )
        return self.emissions.draw(states, rng), states


@row_loop
def write_states(
    initial: NDArray[np.float64],
    transition: NDArray[np.float64],
    uniform: NDArray[np.float64],
    states: NDArray[np.int32],
) -> None:
    """Draw the states of a sequence by the inverse of their cumulative probabilities.

    Parameters
    ----------
    initial : (k - 1,) array
        Cumulative, without the last entry, as the transitions.
    transition : (k, k - 1) array
        Cumulative, a row for every state.
    uniform : (rows,) array
        Random numbers between 0 and 1.
    states : (rows,) int32 array
        Receives the state of every row.
    """
    for row in range(states.size):
        edges = initial if row == 0 else transition[states[row - 1]]
        state = 0
        while state < edges.size and uniform[row] >= edges[state]:
            state += 1
        states[row] = state
