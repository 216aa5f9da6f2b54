"""Posterior sums of a hidden Markov model over windows of three symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace

WINDOW = 3
"""Symbols of a window."""


@dataclass(frozen=True, eq=False)
class TriplePosteriorSumsResult:
    """Expected numbers of states, transitions and emissions in windows of three symbols.

    Attributes
    ----------
    window_start : (k,) float64 array
        Windows by the state at their first step.
    transitions : (k, k) float64 array
        Both transitions of all windows, from row to column.
    emissions : (k, n) float64 array
        The symbols of all windows by their state. Missing symbols are not counted.
    log_likelihood : float
        ``sum w log p(x)``. Minus infinity if a window is impossible: it adds to no other sum than
        the weight.
    weight : float
        ``sum w``, of windows.
    windows : int
        Number of windows.
    """

    window_start: FloatArray
    transitions: FloatArray
    emissions: FloatArray
    log_likelihood: float
    weight: float
    windows: int


@dataclass(frozen=True, eq=False)
class TriplePosteriorSums(SumStatistic[TriplePosteriorSumsResult]):
    r"""Sums of the E step of a hidden Markov model, over windows of three symbols, one a row.

    The probability of a window (a, b, c) is :math:`p = \sum_h A_{ah} B_{bh} C_{ch}` over the middle
    state h, with :math:`A = O \mathrm{diag}(\pi) T^\top`, B = O and C = O T for emissions O and
    transitions T from column to row. The state holds the derivatives of the log-likelihood by A, B
    and C, in 3 (n + 1) k numbers. Expected numbers of states and transitions follow from them by
    the chain rule, after the last row.

    Parameters
    ----------
    window_start : (k,) float64 array
        Distribution of the first state of a window.
    transition : (k, k) float64 array
        Row i holds the probabilities of the next state after state i.
    emission : (k, n) float64 array
        Row i holds the probabilities of the symbols in state i.

    Raises
    ------
    ParameterError
        If the shapes do not belong together, or a probability is negative or not finite.
    """

    window_start: FloatArray
    transition: FloatArray
    emission: FloatArray

    def __post_init__(self) -> None:
        for name in ("window_start", "transition", "emission"):
            value = np.ascontiguousarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, value)
            if not (np.isfinite(value).all() and value.min(initial=0.0) >= 0):
                raise ParameterError(f"{name} holds probabilities, got {value.min():.3g}")
        k = self.window_start.size
        if self.transition.shape != (k, k) or self.emission.shape[:-1] != (k,):
            raise ParameterError(
                "a window start of shape (k,), transitions (k, k) and emissions (k, n) are needed, "
                f"got {self.window_start.shape}, {self.transition.shape} and {self.emission.shape}"
            )

    @property
    def _lines(self) -> tuple[int, int]:
        """Shape of one table: a line for every symbol, and one for missing symbols."""
        return self.emission.shape[1] + 1, self.window_start.size

    @cached_property
    def _factors(self) -> FloatArray:
        """Factors A, B and C: ``(3, lines, k)``, made once for each copy of this statistic."""
        emission = _with_missing(self.emission)
        return np.stack(
            [
                (emission * self.window_start) @ self.transition,
                emission,
                emission @ self.transition.T,
            ]
        )

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {
            "factors": ((3, *self._lines), "float64"),
            "log_likelihood": ((1,), "float64"),
            "weight": ((), "float64"),
            "windows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        codes, weight = self._windows(block, work)
        joint = work.take("triples.joint", (self.window_start.size,), "float64")
        add_triples(codes, weight, self._factors, joint, state["factors"], state["log_likelihood"])
        state["weight"] += weight.sum()
        state["windows"] += len(codes)

    def finalize(self, state: State) -> TriplePosteriorSumsResult:
        """Take derivatives by the factors to expected numbers, by the chain rule."""
        first, second, third = state["factors"]
        emission = _with_missing(self.emission)
        of_first = first @ self.transition.T
        starts = np.sum(emission * of_first, axis=0) * self.window_start
        transitions = self.window_start[:, None] * (emission.T @ first) + third.T @ emission
        emissions = emission * (self.window_start * of_first + second + third @ self.transition)
        return TriplePosteriorSumsResult(
            window_start=starts,
            transitions=self.transition * transitions,
            emissions=np.ascontiguousarray(emissions[:-1].T),
            log_likelihood=float(state["log_likelihood"][0]),
            weight=float(state["weight"]),
            windows=int(state["windows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the factors, and of the codes and the weights of the windows."""
        lines, k = self._lines
        return 8 * (3 * lines * k + k) + (8 + 8 * WINDOW) * rows

    def _windows(self, block: Block, work: Workspace) -> tuple[IntArray, FloatArray]:
        """Return the codes of the windows of a block, a row each, and their weights."""
        codes = work.take("triples.codes", (block.rows, WINDOW), "int64")
        np.copyto(codes, block.dense_values[: block.rows, :WINDOW])
        weight = work.take("triples.weight", (block.rows,), "float64")
        block.write_weight(weight)
        return codes, weight


def _with_missing(emission: FloatArray) -> FloatArray:
    """Return a line for every symbol and one for missing symbols, which every state shows."""
    return np.vstack([emission.T, np.ones((1, len(emission)))])


@row_loop
def add_triples(
    codes: IntArray,
    weight: FloatArray,
    factors: FloatArray,
    joint: FloatArray,
    sums: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """Add the derivatives of the log-likelihood of every window by its lines of three factors.

    Parameters
    ----------
    codes : (windows, 3) int64 array
        Negative ones are missing: their line is the last.
    weight : (windows,) float64 array
        Weights of the windows.
    factors : (3, lines, k) float64 array
        Factors of the joint probability of a window, by step, symbol and state.
    joint : (k,) float64 array
        Is written to.
    sums : (3, lines, k) float64 array
        Is added to.
    log_likelihood : (1,) float64 array
        Is added to.
    """
    first, second, third = factors[0], factors[1], factors[2]
    of_first, of_second, of_third = sums[0], sums[1], sums[2]
    missing = first.shape[0] - 1
    for row in range(weight.size):
        if weight[row] == 0:
            continue
        a, b, c = codes[row, 0], codes[row, 1], codes[row, 2]
        a = a if a >= 0 else missing
        b = b if b >= 0 else missing
        c = c if c >= 0 else missing
        total = 0.0
        for h in range(joint.size):
            joint[h] = first[a, h] * third[c, h]
            total += joint[h] * second[b, h]
        log_likelihood[0] += weight[row] * np.log(total)
        if total > 0:
            scale = weight[row] / total
            for h in range(joint.size):
                of_second[b, h] += scale * joint[h]
                share = scale * second[b, h]
                of_first[a, h] += share * third[c, h]
                of_third[c, h] += share * first[a, h]
