"""Two clusters in two dimensions: the low-rank embedding beside the kernel estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.tensor_train.clipped_density import ClippedDensity, VariableGrid
from bigtensor.decomposition.tensor_train.kernel_svd import nested_kernel_svd
from bigtensor.features.kernels.kernel_basis import KernelBasis
from tests.benchmarks.tables import Row

Floats = NDArray[np.float64]

ROWS = 100
DEVIATION = 0.5
CENTRES = np.array([[0.0, 0.0], [1.0, 1.0]]) * 3 / np.sqrt(2)
WIDTHS = tuple(0.05 * 1.25**i for i in range(14))
FOLDS = 5
GRID = np.linspace(-2.5, 4.7, 145)


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows, and estimates of their density on the grid.

    Attributes
    ----------
    rows : (n, 2) float64 array
    low_rank, kernel : (g, g) float64 arrays
        At the grid of the first variable, and of the second one along the columns.
    """

    rows: Floats
    low_rank: Floats
    kernel: Floats

    def error(self, estimate: Floats) -> float:
        """Return the integrated squared error of an estimate."""
        step = float(GRID[1] - GRID[0])
        return float(np.square(estimate - true_density()).sum()) * step**2


def _kernel(rows: Floats, points: Floats, width: float) -> Floats:
    """Return the kernel estimate of one variable or more at points."""
    distances = (points[:, None] - rows) / width
    heights = np.exp(-0.5 * np.square(distances)) / (width * np.sqrt(2 * np.pi))
    return np.asarray(heights.prod(axis=2).mean(axis=1))


def _embedded(rows: Floats, points: Floats, width: float, *, proper: bool) -> Floats:
    """Return the low-rank density of rank two at points, clipped to a proper one if asked for."""
    bases = [KernelBasis.of_range(c.min(), c.max(), width) for c in rows.T]
    functions = [basis.functions(c) for basis, c in zip(bases, rows.T, strict=True)]
    train = nested_kernel_svd(functions, 2, keeps_mass=proper)
    at = [basis.functions(c) for basis, c in zip(bases, points.T, strict=True)]
    if not proper:
        return train.values(at)
    grids = tuple(
        VariableGrid(GRID, b.functions(GRID), b.masses, _kernel(c[:, None], GRID[:, None], width))
        for b, c in zip(bases, rows.T, strict=True)
    )
    alone = [_kernel(c[:, None], p[:, None], width) for c, p in zip(rows.T, points.T, strict=True)]
    return np.asarray(np.exp(ClippedDensity(train, grids).log_densities(at, alone)))


def _best_width(rows: Floats, *, low_rank: bool) -> float:
    """Return the width with the largest likelihood of held-out folds."""
    scores = []
    for width in WIDTHS:
        total = 0.0
        for fold in range(FOLDS):
            held = np.arange(len(rows)) % FOLDS == fold
            density = (
                _embedded(rows[~held], rows[held], width, proper=True)
                if low_rank
                else _kernel(rows[~held], rows[held], width)
            )
            total += float(np.log(np.maximum(density, 1e-300)).sum())
        scores.append(total)
    return WIDTHS[int(np.argmax(scores))]


def true_density() -> Floats:
    """Return the density on the grid, (g, g)."""
    squares = np.square(_grid_points()[:, None] - CENTRES).sum(axis=2) / DEVIATION**2
    heights = np.exp(-0.5 * squares).mean(axis=1) / (2 * np.pi * DEVIATION**2)
    return np.asarray(heights.reshape(len(GRID), len(GRID)))


def draw_of(seed: int) -> Draw:
    """Return rows and the estimates from them, each with its best width."""
    rng = np.random.default_rng(seed)
    rows = CENTRES[rng.integers(2, size=ROWS)] + DEVIATION * rng.normal(size=(ROWS, 2))
    points, shape = _grid_points(), (len(GRID), len(GRID))
    low_rank = _embedded(rows, points, _best_width(rows, low_rank=True), proper=False)
    kernel = _kernel(rows, points, _best_width(rows, low_rank=False))
    return Draw(rows, low_rank.reshape(shape), kernel.reshape(shape))


def two_clusters(draws: Sequence[Draw]) -> list[Row]:
    """Return the mean ratio of integrated squared errors, and how often it is below one."""
    ratios = [draw.error(draw.low_rank) / draw.error(draw.kernel) for draw in draws]
    mean = float(np.mean(ratios))
    return [
        {
            "draws": len(draws),
            "mean ratio": round(mean, 3),
            "+-": round(float(np.std(ratios) / np.sqrt(len(draws))), 3),
            "smaller in": round(float(np.mean(np.array(ratios) < 1)), 2),
            "bar": 0.9,
            "holds": mean <= 0.9,
        }
    ]


def _grid_points() -> Floats:
    """Return the points of the grid, (g * g, 2)."""
    return np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1).reshape(-1, 2)
