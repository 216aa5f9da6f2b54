"""Labels and posterior sums against one compiled loop over rows that does what the formula says."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
from numba import njit

from bigtensor.data.rows.block import Block
from bigtensor.engine.blas import single_blas_thread
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.benchmarks.floors import fastest
from tests.benchmarks.tables import Row

SHAPES = ((6, 8, 2048), (13, 150, 512))
"""Views, components and bins: a cytometry model, and one whose components make populations."""


@njit(nogil=True)
def label_loop(values, low, step, tables, log_weights, label):
    """Write ``argmax_h log pi_h + sum_t log p_t(x_t | h)`` row by row."""
    views, points, components = tables.shape
    joint = np.empty(components, tables.dtype)
    for row in range(len(values)):
        joint[:] = log_weights
        for view in range(views):
            position = min(max((values[row, view] - low[view]) / step[view], 0.0), points - 1.0)
            point = min(int(position), points - 2)
            share = tables.dtype.type(position - point)
            before, after = tables[view, point], tables[view, point + 1]
            for h in range(components):
                joint[h] += before[h] + share * (after[h] - before[h])
        label[row] = np.argmax(joint)


@njit(nogil=True)
def sums_loop(values, low, step, tables, log_weights, histograms):
    """Add every row, shared by ``P(h | x)``, to the histograms of its views."""
    views, points, components = tables.shape
    joint = np.empty(components, tables.dtype)
    point = np.empty(views, np.int64)
    share = np.empty(views, tables.dtype)
    for row in range(len(values)):
        joint[:] = log_weights
        for view in range(views):
            position = min(max((values[row, view] - low[view]) / step[view], 0.0), points - 1.0)
            point[view] = min(int(position), points - 2)
            share[view] = position - point[view]
            before, after = tables[view, point[view]], tables[view, point[view] + 1]
            for h in range(components):
                joint[h] += before[h] + share[view] * (after[h] - before[h])
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        for view in range(views):
            before, after = histograms[view, point[view]], histograms[view, point[view] + 1]
            for h in range(components):
                before[h] += (1 - share[view]) * joint[h]
                after[h] += share[view] * joint[h]


def drawn_rows(views: int, components: int, bins: int, rows: int) -> tuple[MixtureDensities, Block]:
    """Return a mixture of normal densities on grids, and rows drawn from it."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(views, components))
    grid = np.linspace(-12, 12, bins + 1)
    log_tables = np.maximum(-((grid[:, None] - means[:, None, :]) ** 2) / 2, -14)
    low, step = np.full(views, -12.0), np.full(views, 24 / bins)
    tables = TabulatedDensities(tuple(range(views)), low, step, log_tables, "float32")
    label = rng.integers(0, components, rows)
    values = (means[:, label].T + rng.normal(size=(rows, views))).astype(np.float32)
    slices = {f"view {view}": slice(view, view + 1) for view in range(views)}
    return MixtureDensities(np.full(components, 1 / components), tables), Block(
        values, slices, 0, rows
    )


def parts_of(block: Block, rows: int) -> list[Block]:
    """Cut a block into blocks of at most this many rows."""
    starts = range(0, block.rows, rows)
    values = [block.values[start : start + rows] for start in starts]
    return [
        Block(part, block.slices, start, len(part))
        for start, part in zip(starts, values, strict=True)
    ]


def row_loop_rows(rows: int, repeats: int) -> list[Row]:
    """Compare labels and posterior sums with their loops, for two shapes of the model."""
    with single_blas_thread():
        return [row for shape in SHAPES for row in _shape_rows(*shape, rows, repeats)]


def _shape_rows(views: int, components: int, bins: int, rows: int, repeats: int) -> list[Row]:
    """Measure package and loop in turn, and return the medians of the ratios."""
    mixture, block = drawn_rows(views, components, bins, rows)
    tables: Any = mixture.tables
    labels, sums, work = Responsibilities(mixture), PosteriorSums(mixture), Workspace()
    log_weights = np.log(mixture.weights).astype(np.float32)
    arguments = block.values, tables.low, tables.step, tables.log_tables, log_weights
    label, state = np.empty(rows, np.int32), sums.init()
    histograms = np.zeros(tables.log_tables.shape)

    def write_labels() -> None:
        for part in parts_of(block, labels.block_rows):
            window = slice(part.start, part.start + part.rows)
            labels.evaluate(part, {"label": label[window]}, work)

    def add_sums() -> None:
        for part in parts_of(block, sums.block_rows):
            sums.update(state, part, work)

    pairs = {
        "label": (write_labels, lambda: label_loop(*arguments, np.empty(rows, np.int32))),
        "posterior sums": (add_sums, lambda: sums_loop(*arguments, histograms)),
    }
    found: list[Row] = []
    for name, (package, loop) in pairs.items():
        measured = [(fastest(package, 3), fastest(loop, 3)) for _ in range(repeats)]
        ratio = median(ours / floor for ours, floor in measured)
        found.append(
            {
                "shape": f"{views} views x {components} components, {bins} bins",
                "rows": name,
                "Mrows/s": 1e-6 * rows / median(ours for ours, _ in measured),
                "loop Mrows/s": 1e-6 * rows / median(floor for _, floor in measured),
                "x loop": ratio,
                "bars": "x loop <= 1.2",
                "holds": ratio <= 1.2,
            }
        )
    return found
