"""Passes of tensor contractions against the float32 rate of a large matrix product."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.samples import Samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass, Workspace
from bigtensor.statistics.moments.tensor_contractions import TensorContractions
from tests.benchmarks.floors import fastest, flop_rate
from tests.benchmarks.tables import Row

LEAST_SHARE = 0.6


@dataclass(frozen=True)
class Shape:
    """Features of a view, columns of the factors, and modes of every view."""

    n_features: int
    n_columns: int
    orders: tuple[int, ...]
    weighted: bool = False

    @property
    def name(self) -> str:
        """Name of the store."""
        orders = "-".join(map(str, self.orders))
        return f"d{self.n_features}-{orders}" + ("-weighted" if self.weighted else "")

    @property
    def flops(self) -> float:
        """Operations of the matrix products a row."""
        return 4.0 * self.n_features * self.n_columns * len(self.orders)

    @property
    def views(self) -> dict[str, list[int]]:
        """Feature positions of every view."""
        d = self.n_features
        return {f"view{v}": list(range(v * d, (v + 1) * d)) for v in range(len(self.orders))}

    def statistic(self) -> TensorContractions:
        """Return contractions with random factors."""
        rng = np.random.default_rng(1)
        n_views = len(self.orders)
        return TensorContractions(
            tuple((columns[0], columns[-1] + 1) for columns in self.views.values()),
            self.orders,
            tuple(rng.normal(size=(n_views, self.n_features))),
            tuple(rng.normal(size=(n_views, self.n_features, self.n_columns))),
        )


SHAPES = (
    Shape(50, 100, (1, 1, 1)),
    Shape(50, 100, (1, 1, 1), weighted=True),
    Shape(50, 100, (3,)),
    Shape(50, 100, (4,)),
)


def update_rows(folder: Path, rows: int, repeats: int) -> list[Row]:
    """Compare `update` in memory, and a pass over a store, with the rate of a large product."""
    return [_update_row(shape, folder, rows, repeats) for shape in SHAPES]


def _update_row(shape: Shape, folder: Path, rows: int, repeats: int) -> Row:
    """Measure product, update and pass in turn, and return the medians of the ratios."""
    statistic = shape.statistic()
    rng = np.random.default_rng(0)
    n_features = shape.n_features * len(shape.orders)
    values = rng.standard_normal((rows, n_features), dtype=np.float32)
    weight = rng.random(rows) if shape.weighted else None
    samples = _stored(folder, values, weight, shape)
    rates, in_memory, stored = [], [], []
    for _ in range(repeats):
        with single_blas_thread():
            rate = flop_rate()
            seconds = fastest(lambda: _update_all(statistic, values, weight, shape), 1)
        rates.append(rate)
        in_memory.append(shape.flops * rows / seconds / rate)
        start = time.perf_counter()
        run_pass(samples, Pass("updates", statistic), ThreadedRuntime(1))
        stored.append(shape.flops * rows / (time.perf_counter() - start) / rate)
    share, bar = median(in_memory), shape.orders == (1, 1, 1)
    return {
        "d": shape.n_features,
        "columns": shape.n_columns,
        "orders": str(shape.orders),
        "weights": shape.weighted,
        "rows": rows,
        "Gflop/s of a product": median(rates) / 1e9,
        "share in memory": share,
        "share from a store": median(stored),
        "bars": f"share in memory >= {LEAST_SHARE}" if bar else "",
        "holds": share >= LEAST_SHARE or not bar,
    }


def _stored(folder: Path, values: np.ndarray, weight: np.ndarray | None, shape: Shape) -> Samples:
    """Write the rows and open them."""
    store = folder / f"updates-{shape.name}.zarr"
    names = [f"x{j}" for j in range(values.shape[1])]
    variables = {} if weight is None else {"weight": weight}
    with SampleStoreWriter(
        store,
        names,
        rows=len(values),
        row_variables=dict.fromkeys(variables, "float64"),
        overwrite=True,
    ) as writer:
        writer.append(values, **variables)
    return open_samples(store, shape.views)


def _update_all(
    statistic: TensorContractions,
    values: np.ndarray,
    weight: np.ndarray | None,
    shape: Shape,
) -> None:
    """Update one state with all rows, block by block."""
    slices = {name: slice(columns[0], columns[-1] + 1) for name, columns in shape.views.items()}
    state, work, step = statistic.init(), Workspace(), statistic.block_rows
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        shown = None if weight is None else weight[part]
        statistic.update(state, Block(values[part], slices, start, len(values[part]), shown), work)
