"""Moments of three discrete views with alphabets of any size: sketched, then projected.

A view may be a group of features, whose joint code counts as one symbol. Pairs of views use every
row that has both, and the third moments every row that has all three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace

PAIRS = ((0, 1), (0, 2), (1, 2))
"""Positions of the two views of every pair."""

_SUB_BLOCK = 1024
"""Rows whose products of two views are formed at once."""


@dataclass(frozen=True)
class SymbolGroup:
    """Columns of codes that are read as one symbol.

    Attributes
    ----------
    columns : tuple of int
        Columns of the block.
    categories : tuple of int
        Number of categories of every column.
    """

    columns: tuple[int, ...]
    categories: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of symbols."""
        return math.prod(self.categories)

    def write_symbols(self, values: NDArray[Any], out: IntArray) -> None:
        """Write the symbol of every row of ``(rows, features)`` codes; -1 where one is missing."""
        write_symbols(values, np.array(self.columns), np.array(self.categories), out)

    def marginals(self, probabilities: FloatArray) -> tuple[FloatArray, ...]:
        """Sum probabilities of symbols to probabilities of the categories of every column.

        Parameters
        ----------
        probabilities : (size, components) array
            Probabilities of the symbols of the group.

        Returns
        -------
        tuple of (categories, components) arrays
            One table a column.
        """
        joint = probabilities.reshape(*self.categories, -1)
        axes = range(len(self.categories))
        return tuple(joint.sum(axis=tuple(other for other in axes if other != t)) for t in axes)


Groups = tuple[SymbolGroup, SymbolGroup, SymbolGroup]


@dataclass(frozen=True, eq=False)
class SymbolSketches:
    """Marginals of three views, and their pair tables times the projections of the other view.

    Attributes
    ----------
    marginals : tuple of three (n_t,) float64 arrays
        Each sums to one.
    sketches : tuple of three (n_t, q_a + q_b) float64 arrays
        ``[P_ta projection_a, P_tb projection_b]`` with the other views a < b.
    weight : float
        Of all rows, also of those with missing codes.
    """

    marginals: tuple[FloatArray, ...]
    sketches: tuple[FloatArray, ...]
    weight: float


@dataclass(frozen=True, eq=False)
class SketchedPairs(SumStatistic[SymbolSketches]):
    """Sketches of the pair tables of three views.

    Parameters
    ----------
    groups : three SymbolGroup
        Columns of every view.
    projections : tuple of three (n_t, q_t) float64 arrays
        With unit matrices the sketches are the pair tables themselves.
    """

    groups: Groups
    projections: tuple[FloatArray, FloatArray, FloatArray]

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        arrays: dict[str, ArraySpec] = {"pairs": ((3, 3), "float64"), "weight": ((), "float64")}
        for t, group in enumerate(self.groups):
            arrays[f"marginal/{t}"] = ((group.size,), "float64")
            for other in _others(t):
                width = self.projections[other].shape[1]
                arrays[f"sketch/{t}{other}"] = ((group.size, width), "float64")
        return arrays

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        symbols, weight = _read(self.groups, block, work)
        for t in range(3):
            add_marginals(symbols[t], weight, state[f"marginal/{t}"])
            for other in _others(t):
                add_sketches(
                    symbols[t],
                    symbols[other],
                    weight,
                    self.projections[other],
                    state[f"sketch/{t}{other}"],
                    state["pairs"][t, other : other + 1],
                )
        state["weight"] += weight.sum()

    def finalize(self, state: State) -> SymbolSketches:
        """Take sums to means."""
        marginals = tuple(_shares(state[f"marginal/{t}"]) for t in range(3))
        sketches = tuple(
            np.hstack(
                [
                    state[f"sketch/{t}{other}"] / max(float(state["pairs"][t, other]), _TINY)
                    for other in _others(t)
                ]
            )
            for t in range(3)
        )
        return SymbolSketches(marginals, sketches, float(state["weight"]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the symbols and the weight of every row."""
        return 4 * 8 * rows


@dataclass(frozen=True, eq=False)
class ProjectedMoments:
    """Moments of three views in the coordinates of their projections.

    Attributes
    ----------
    pairs : tuple of three (r_a, r_b) float64 arrays
        Of the views of `PAIRS`.
    tensor : (r_1, r_2, r_3) float64 array
        Mean product of the projections of the three views.
    complete : float
        Weight of the rows that have all three views.
    """

    pairs: tuple[FloatArray, ...]
    tensor: FloatArray
    complete: float


@dataclass(frozen=True, eq=False)
class ProjectedSymbols(SumStatistic[ProjectedMoments]):
    """Means of the products of the projections of three views.

    Parameters
    ----------
    groups : three SymbolGroup
        Columns of every view.
    projections : tuple of three (n_t, r_t) float64 arrays
        The line of a symbol is its projection.
    """

    groups: Groups
    projections: tuple[FloatArray, FloatArray, FloatArray]

    @property
    def _widths(self) -> tuple[int, ...]:
        """Number of features of every view."""
        return tuple(projection.shape[1] for projection in self.projections)

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        r = self._widths
        return {
            "tensor": ((r[0], r[1] * r[2]), "float64"),
            "complete": ((), "float64"),
            "weights": ((3,), "float64"),
            **{f"pair/{a}{b}": ((r[a], r[b]), "float64") for a, b in PAIRS},
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        symbols, weight = _read(self.groups, block, work)
        for start in range(0, block.rows, _SUB_BLOCK):
            window = slice(start, min(start + _SUB_BLOCK, block.rows))
            self._add(
                state, [view_symbols[window] for view_symbols in symbols], weight[window], work
            )

    def _add(
        self,
        state: State,
        symbols: list[IntArray],
        weight: FloatArray,
        work: Workspace,
    ) -> None:
        """Add a few rows."""
        rows, features = len(weight), []
        for t, projection in enumerate(self.projections):
            of_view = work.take(f"moments.view{t}", (rows, projection.shape[1]), "float64")
            write_features(symbols[t], projection, of_view)
            features.append(of_view)
        weighted = work.take("moments.weighted", features[0].shape, "float64")
        # lines of missing symbols are zeros, so that products with them count for nothing
        np.multiply(features[0], weight[:, None], out=weighted)
        state["pair/01"] += weighted.T @ features[1]
        state["pair/02"] += weighted.T @ features[2]
        product = work.take("moments.product", (rows, *self._widths[1:]), "float64")
        np.multiply(features[1][:, :, None], features[2][:, None, :], out=product)
        state["tensor"] += weighted.T @ product.reshape(rows, -1)
        weighted = work.take("moments.weighted", features[1].shape, "float64")
        np.multiply(features[1], weight[:, None], out=weighted)
        state["pair/12"] += weighted.T @ features[2]
        there = [of_view >= 0 for of_view in symbols]
        for place, (a, b) in enumerate(PAIRS):
            state["weights"][place] += weight[there[a] & there[b]].sum()
        state["complete"] += weight[there[0] & there[1] & there[2]].sum()

    def finalize(self, state: State) -> ProjectedMoments:
        """Take sums to means."""
        complete = float(state["complete"])
        pairs = tuple(
            state[f"pair/{a}{b}"] / max(float(state["weights"][place]), _TINY)
            for place, (a, b) in enumerate(PAIRS)
        )
        tensor = state["tensor"].reshape(self._widths) / max(complete, _TINY)
        return ProjectedMoments(pairs, tensor, complete)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the symbols and of the products of a few rows."""
        few, r = min(rows, _SUB_BLOCK), self._widths
        return 4 * 8 * rows + 8 * few * (sum(r) + 2 * max(r) + r[1] * r[2] + 3)


_TINY = float(np.finfo(np.float64).tiny)
"""Stands for the weight of no row at all."""


def _others(t: int) -> tuple[int, ...]:
    """Return the positions of the other views."""
    return tuple(other for other in range(3) if other != t)


def _shares(counts: FloatArray) -> FloatArray:
    """Return counts as parts of their sum."""
    return counts / max(float(counts.sum()), _TINY)


def _read(groups: Groups, block: Block, work: Workspace) -> tuple[list[IntArray], FloatArray]:
    """Return the symbols of every view and the weights of the rows of a block."""
    symbols = []
    for t, group in enumerate(groups):
        of_view = work.take(f"moments.symbol{t}", (block.rows,), "int64")
        group.write_symbols(block.dense_values[: block.rows], of_view)
        symbols.append(of_view)
    if block.weight is not None:
        return symbols, block.weight[: block.rows]
    weight = work.take("moments.weight", (block.rows,), "float64")
    weight.fill(1)
    return symbols, weight


@row_loop
def write_symbols(
    codes: NDArray[Any],
    columns: IntArray,
    categories: IntArray,
    symbol: IntArray,
) -> None:
    """Write the joint code of some columns of every row; -1 where one is missing."""
    for row in range(symbol.size):
        place = np.int64(0)
        for at in range(columns.size):
            code = np.int64(codes[row, columns[at]])
            missing = code < 0 or place < 0
            place = np.int64(-1) if missing else place * categories[at] + code
        symbol[row] = place


@row_loop
def add_marginals(symbol: IntArray, weight: FloatArray, marginal: FloatArray) -> None:
    """Add the weight of every row to its symbol."""
    for row in range(symbol.size):
        if symbol[row] >= 0:
            marginal[symbol[row]] += weight[row]


@row_loop
def add_sketches(
    symbol: IntArray,
    other: IntArray,
    weight: FloatArray,
    projection: FloatArray,
    sketch: FloatArray,
    total: FloatArray,
) -> None:
    """Add the weighted projection of the other symbol of every row to the line of its own.

    Parameters
    ----------
    symbol, other : (rows,) int64 arrays
        Symbols of both views; negative ones are missing.
    weight : (rows,) float64 array
        Weights of the rows.
    projection : (n_other, q) float64 array
        Projections of the symbols of the other view.
    sketch : (n, q) float64 array
        Is added to.
    total : (1,) float64 array
        Receives the weight of the rows that have both symbols.
    """
    for row in range(symbol.size):
        if symbol[row] >= 0 and other[row] >= 0:
            of_row, line = sketch[symbol[row]], projection[other[row]]
            for feature in range(line.size):
                of_row[feature] += weight[row] * line[feature]
            total[0] += weight[row]


@row_loop
def write_features(symbol: IntArray, projection: FloatArray, out: FloatArray) -> None:
    """Write the line of the projection of every row; zeros for missing symbols.

    Parameters
    ----------
    symbol : (rows,) int64 array
        Symbols of one view; negative ones are missing.
    projection : (n, r) float64 array
        Projections of the symbols.
    out : (rows, r) float64 array
        Receives the projections.
    """
    for row in range(symbol.size):
        for feature in range(projection.shape[1]):
            out[row, feature] = projection[symbol[row], feature] if symbol[row] >= 0 else 0.0
