"""Drawing of two clusters: the density, its estimates from one draw, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bigtensor.report.style import INK, MUTED, report_style
from tests.benchmarks.density.two_clusters import GRID, Draw, true_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

LEVELS = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Of contours, in parts of the largest true density."""


def cluster_figure(draws: Sequence[Draw]) -> Figure:
    """Draw the true density, both estimates of the median draw, and the errors of all draws.

    The median draw is the one whose ratio of errors is the median, or the next larger one.
    """
    from matplotlib.figure import Figure

    kernel = np.array([draw.error(draw.kernel) for draw in draws])
    low_rank = np.array([draw.error(draw.low_rank) for draw in draws])
    median = int(np.argsort(low_rank / kernel)[len(draws) // 2])
    draw = draws[median]
    with report_style():
        figure = Figure(figsize=(9.2, 2.9), layout="constrained")
        *maps, errors = figure.subplots(1, 4)
        truth = true_density()
        for axes, (title, density) in zip(
            maps,
            {"density": truth, "kernel estimate": draw.kernel, "rank two": draw.low_rank}.items(),
            strict=True,
        ):
            _draw_map(axes, density, float(truth.max()))
            axes.set(title=title, xlabel="first variable")
        maps[0].set_ylabel("second variable")
        for axes in maps[1:]:
            axes.plot(*draw.rows.T, ".", color=INK, markersize=2.2, alpha=0.6, mew=0)
        _draw_errors(errors, kernel, low_rank, median)
    return figure


def _draw_map(axes: Axes, density: Floats, largest: float) -> None:
    """Draw a density on the grid: blue, and red where it is negative."""
    ends = (GRID[0], GRID[-1])
    scale = {"cmap": "RdBu", "vmin": -largest, "vmax": largest}
    # the first variable runs to the right, the second one upwards
    axes.imshow(density.T, origin="lower", extent=(*ends, *ends), interpolation="none", **scale)
    levels = [level * largest for level in LEVELS]
    axes.contour(GRID, GRID, density.T, levels, colors=INK, linewidths=0.6)
    axes.set(xlim=ends, ylim=ends, xticks=[-2, 0, 2, 4], yticks=[-2, 0, 2, 4])


def _draw_errors(axes: Axes, kernel: Floats, low_rank: Floats, median: int) -> None:
    """Draw the errors of one estimate against those of the other one, a mark a draw."""
    top = 1.08 * float(max(kernel.max(), low_rank.max()))
    axes.plot([0, top], [0, top], color=MUTED, linewidth=0.9, linestyle="--")
    axes.plot(kernel, low_rank, "o", color="#0072B2", markersize=4, alpha=0.7, mew=0)
    axes.plot(kernel[median], low_rank[median], "o", mec=INK, mfc="none", markersize=7)
    axes.set(title="squared error", xlabel="kernel estimate", ylabel="rank two")
    axes.set(xlim=(0, top), ylim=(0, top), aspect="equal")
