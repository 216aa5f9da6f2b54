"""Moments of neighbouring variables, from which a tensor train follows in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.features.bumps import Floats
from bigtensor.features.kernels.kernel_basis import KernelBasis
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace

_HALVES = 1024
"""Rows that come one after the other in one half: every other run of them."""


@dataclass(frozen=True, eq=False)
class NeighbourMoments:
    """Means of products of features of neighbouring variables.

    Attributes
    ----------
    pairs : tuple of two (l, r) float64 arrays
        Of every cut between two variables: features of the variable before with those of the one
        after, each behind a constant. One array a half of the rows, which add up to the mean.
    triples : tuple of (l, p, r) float64 arrays
        Of every variable: features of its neighbours, each behind a constant, and its own. The
        first and the last variable have one neighbour and the number one.
    weight : float
        Sum of the weights of the rows.
    """

    pairs: tuple[tuple[Floats, Floats], ...]
    triples: tuple[Floats, ...]
    weight: float


@dataclass(frozen=True, eq=False)
class NeighbourSketches(SumStatistic[NeighbourMoments]):
    """Sums of products of kernel features of neighbouring variables (Song, Parikh and Xing 2011).

    Parameters
    ----------
    bases : tuple of KernelBasis
        Of the columns of a block, in the order of the chain; at least two.
    """

    bases: tuple[KernelBasis, ...]

    block_rows: ClassVar[int] = 2048

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        widths = [basis.coefficients.shape[1] for basis in self.bases]
        last = len(widths) - 1
        arrays: dict[str, ArraySpec] = {"weight": ((), "float64")}
        for j, width in enumerate(widths):
            before = 1 + widths[j - 1] if j else 1
            after = 1 + widths[j + 1] if j < last else 1
            arrays[f"triple{j}"] = ((before, width, after), "float64")
            if j < last:
                arrays[f"pair{j}"] = ((2, 1 + width, after), "float64")
        return arrays

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Add one block."""
        if not block.rows:
            return
        rows: NDArray[Any] = np.asarray(block.values[: block.rows], np.float64)
        weight = np.ones(block.rows) if block.weight is None else block.weight[: block.rows]
        halves = (block.row_index() // _HALVES) % 2
        features = [basis.functions(rows[:, j]) for j, basis in enumerate(self.bases)]
        ends = np.ones((block.rows, 1))
        behind = [np.concatenate([ends, at_rows], axis=1) for at_rows in features]
        for j, at_rows in enumerate(features):
            before = behind[j - 1] if j else ends
            after = behind[j + 1] if j < len(features) - 1 else ends
            left = (before * weight[:, None])[:, :, None] * at_rows[:, None]
            sums = left.reshape(block.rows, -1).T @ after
            state[f"triple{j}"] += sums.reshape(state[f"triple{j}"].shape)
            if j < len(features) - 1:
                for half in (0, 1):
                    shares = weight * (halves == half)
                    state[f"pair{j}"][half] += (behind[j].T * shares) @ after
        state["weight"] += weight.sum()

    def finalize(self, state: State) -> NeighbourMoments:
        """Divide all sums by the weight of all rows."""
        weight, d = float(state["weight"]), len(self.bases)
        pairs = [state[f"pair{j}"] / weight for j in range(d - 1)]
        return NeighbourMoments(
            tuple((pair[0], pair[1]) for pair in pairs),
            tuple(state[f"triple{j}"] / weight for j in range(d)),
            weight,
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of features and of their products for blocks of ``rows`` rows."""
        widths = [1 + basis.coefficients.shape[1] for basis in self.bases]
        points = max(len(basis.points) for basis in self.bases)
        return int(8 * rows * (2 * sum(widths) + 2 * max(widths) ** 2 + 3 * points))
