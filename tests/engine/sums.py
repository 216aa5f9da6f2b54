"""Small statistics and row functions whose results are checked by hand."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import RowFunction, RowOutput, SumStatistic, Workspace


@dataclass(frozen=True)
class ColumnSums(SumStatistic):
    """Sums of the values, of the weights and of the row indices; can be slow on purpose."""

    n_features: int
    seconds: float = 0.0
    factor: float = 1.0
    block_rows = 1000

    def state_arrays(self) -> Mapping[str, Any]:
        return {
            "sums": ((self.n_features,), "float64"),
            "weight": ((), "float64"),
            "rows": ((), "int64"),
            "index": ((), "int64"),
        }

    def update(self, state: dict[str, Any], block: Block, work: Workspace) -> None:  # noqa: ARG002
        weight = np.ones(block.rows) if block.weight is None else block.weight[: block.rows]
        state["sums"] += self.factor * (weight @ block.values[: block.rows].astype("f8"))
        state["weight"] += weight.sum()
        state["rows"] += block.rows
        state["index"] += block.row_index().sum()
        time.sleep(self.seconds)

    def finalize(self, state: dict[str, Any]) -> dict[str, Any]:
        return state

    def work_nbytes(self, rows: int) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True)
class LaggedProducts(SumStatistic):
    """Sum of x[t] * x[t + 2] of the first feature, where both rows are of one sequence."""

    block_rows = 700
    halo = 2

    def state_arrays(self) -> Mapping[str, Any]:
        return {"sum": ((), "float64"), "pairs": ((), "int64")}

    def update(self, state: dict[str, Any], block: Block, work: Workspace) -> None:  # noqa: ARG002
        starts = np.flatnonzero(block.window_starts(3))
        first, second = block.values[starts, 0].astype("f8"), block.values[starts + 2, 0]
        state["sum"] += first @ second
        state["pairs"] += len(starts)

    def finalize(self, state: dict[str, Any]) -> tuple[float, int]:
        return float(state["sum"]), int(state["pairs"])

    def work_nbytes(self, rows: int) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True)
class RowTotals(RowFunction):
    """The sum of the features of a row, and the first two features."""

    names: tuple[str, ...] = ("total", "pair")
    fail_at: int = -1

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        known = {
            "total": RowOutput("total", "float64"),
            "pair": RowOutput("pair", "float32", {"member": 2}),
        }
        return tuple(known[name] for name in self.names)

    def evaluate(self, block: Block, out: Mapping[str, Any], *_: Workspace) -> None:
        if block.start <= self.fail_at < block.start + block.rows:
            raise RuntimeError("this row function fails on purpose")
        if "total" in self.names:
            np.sum(block.values, axis=1, dtype="f8", out=out["total"])
        if "pair" in self.names:
            out["pair"][...] = block.values[:, :2]

    def work_nbytes(self, rows: int) -> int:  # noqa: ARG002
        return 0


def write_store(path: Any, values: np.ndarray, **layout: Any) -> str:
    """Write values as the variable X of a plain Zarr store, with any further row variables."""
    variables = layout.pop("variables", {})
    dims = layout.pop("dims", ("sample", "feature"))
    group = zarr.create_group(str(path), overwrite=True)
    array = group.create_array(
        "X", shape=values.shape, dtype=values.dtype, dimension_names=dims, **layout
    )
    array[:] = values
    for name, numbers in variables.items():
        group.create_array(name, data=numbers, dimension_names=("sample",))
    return str(path)
