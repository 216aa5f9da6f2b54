"""Contractions of moment tensors with columns, straight from the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace


@dataclass(frozen=True)
class Contractions:
    moments: tuple[NDArray[np.float64], ...]
    constants: NDArray[np.float64]
    weight: float
    rows: int


@dataclass(frozen=True, eq=False)
class TensorContractions(SumStatistic[Contractions]):
    columns: tuple[tuple[int, int], ...]
    orders: tuple[int, ...]
    references: tuple[NDArray[np.float64], ...]
    factors: tuple[NDArray[np.float64], ...]
    constants: NDArray[np.float64]
    dtype: str = "float32"

    block_rows = 8192

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        L = self.factors[0].shape[1]
        return {
            **{f"moments_{v}": (f.shape, "f8") for v, f in enumerate(self.factors)},
            "constants": ((len(self.factors), L), "f8"),
            "weight": ((), "f8"),
            "rows": ((), "i8"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        n = block.rows
        X = [
            (block.values[:n, a:b].astype("f8") - r).astype(self.dtype)
            for (a, b), r in zip(self.columns, self.references)
        ]
        P = [
            x @ f.astype(self.dtype) + o.astype(self.dtype)
            for x, f, o in zip(X, self.factors, self.constants)
        ]
        for v in range(len(P)):
            Q = np.ones_like(P[0])
            for u in range(len(P)):
                e = self.orders[u] - (u == v)
                for _ in range(e):
                    Q *= P[u]
            if block.weight is not None:
                Q *= block.weight[:n, None].astype(self.dtype)
            state[f"moments_{v}"] += X[v].T @ Q
            state["constants"][v] += Q.sum(axis=0, dtype="f8")
        state["weight"] += block.total_weight()
        state["rows"] += n

    def finalize(self, state: State) -> Contractions:
        w = float(state["weight"])
        return Contractions(
            tuple(state[f"moments_{v}"] / w for v in range(len(self.factors))),
            state["constants"] / w,
            w,
            int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        return 8 * rows * (sum(f.shape[0] for f in self.factors) + 6 * self.factors[0].shape[1])
