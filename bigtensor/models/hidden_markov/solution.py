"""Fitted hidden Markov model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete_core import distributions
from bigtensor.decomposition.hidden_markov import MarkovParameters
from bigtensor.features.row_loops import row_loop
from bigtensor.models.data_shape import NamedViews, view_slices
from bigtensor.statistics.code_tables import CodeTables
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.sequences.chain import HiddenChain

LOWEST = 1e-12
"""Smallest probability of a fitted model: no sequence of known categories is impossible."""


@dataclass(frozen=True, eq=False)
class MarkovFit:
    """Hidden Markov model of named categories.

    Attributes
    ----------
    initial : (k,) float64 array
        Probabilities of the state of the first row of a sequence.
    window_start : (k,) float64 array
        Probabilities of the state of the first of three rows, anywhere in a sequence.
    transition : (k, k) float64 array
        From a row to a column.
    emission : (k, categories) float64 array
    views : tuple of (name, features)
    categories : tuple of str
        Names of the codes.
    """

    initial: NDArray[np.float64]
    window_start: NDArray[np.float64]
    transition: NDArray[np.float64]
    emission: NDArray[np.float64]
    views: NamedViews
    categories: tuple[str, ...]

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of every view in the values of a block."""
        return view_slices(self.views)

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.initial)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        k, n = map(int, self.emission.shape)
        return k - 1 + k * (k - 1) + k * (n - 1)

    def chain(self) -> HiddenChain:
        """Return the chain that answers are computed with."""
        return chain_of(self.initial, self.transition, self.emission)

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

    def draw(
        self, n_samples: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Draw one sequence: its codes ``(n_samples, 1)`` and its states ``(n_samples,)``."""
        states, codes = np.empty(n_samples, np.int32), np.empty((n_samples, 1), np.int32)
        write_sequence(
            np.cumsum(self.initial)[:-1],
            np.ascontiguousarray(np.cumsum(self.transition, axis=1)[:, :-1]),
            np.ascontiguousarray(np.cumsum(self.emission, axis=1)[:, :-1]),
            rng.random((n_samples, 2)),
            states,
            codes,
        )
        return codes, states


def fit_of(
    initial: NDArray[np.float64],
    parameters: MarkovParameters,
    views: NamedViews,
    categories: tuple[str, ...],
) -> MarkovFit:
    """Return a fitted model without zeros, its states by descending share of the rows."""
    order = np.argsort(-parameters.occupancy, kind="stable")
    kept = parameters.by_occupancy().clipped(LOWEST)
    return MarkovFit(
        distributions(initial[order, None], LOWEST)[:, 0],
        kept.window_start,
        kept.transition,
        kept.emission,
        views,
        categories,
    )


def chain_of(
    initial: NDArray[np.float64], transition: NDArray[np.float64], emission: NDArray[np.float64]
) -> HiddenChain:
    """Return a chain of positive emissions ``(k, categories)``."""
    tables = CodeTables.of_probabilities((distributions(emission.T, LOWEST),))
    return HiddenChain(initial, transition, MixtureDensities(np.ones(len(initial)), tables))


@row_loop
def write_sequence(
    initial: NDArray[np.float64],
    transition: NDArray[np.float64],
    emission: NDArray[np.float64],
    uniform: NDArray[np.float64],
    states: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> None:
    """Draw states and codes by the inverse of their cumulative probabilities.

    Parameters
    ----------
    initial : (k - 1,) array
        Cumulative, without the last entry, as all tables.
    transition : (k, k - 1) array
    emission : (k, categories - 1) array
    uniform : (rows, 2) array
    states : (rows,) int32 array
    codes : (rows, 1) int32 array
    """
    for row in range(states.size):
        edges = initial if row == 0 else transition[states[row - 1]]
        state = 0
        while state < edges.size and uniform[row, 0] >= edges[state]:
            state += 1
        states[row] = state
        of_state, code = emission[state], 0
        while code < of_state.size and uniform[row, 1] >= of_state[code]:
            code += 1
        codes[row, 0] = code
