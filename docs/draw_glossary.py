"""Draws the pictures of the glossary: ``python docs/draw_glossary.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse, FancyArrowPatch, Rectangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).parent / "figures"
COLORS = ("#0072B2", "#D55E00", "#009E73")


def draw_views(axes: Axes) -> None:
    """Draw a table whose columns are divided into three views."""
    axes.set_title("views")
    widths = (2, 1, 2)
    left = 0
    for number, (width, color) in enumerate(zip(widths, COLORS, strict=True), start=1):
        axes.add_patch(Rectangle((left, 0), width, 6, color=color, alpha=0.25))
        axes.text(left + width / 2, 6.3, f"view {number}", ha="center", color=color)
        left += width
    for line in range(7):
        axes.plot([0, left], [line, line], color="0.6", linewidth=0.8)
    for line in range(left + 1):
        axes.plot([line, line], [0, 6], color="0.6", linewidth=0.8)
    axes.text(-0.3, 3, "rows", rotation=90, ha="right", va="center")
    axes.text(left / 2, -0.6, "features", ha="center", va="top")
    axes.set(xlim=(-1, left + 0.5), ylim=(-1.6, 7.2))
    axes.axis("off")


def draw_components(axes: Axes) -> None:
    """Draw a mixture of one feature, and the densities that it is made of."""
    x = np.linspace(-4, 7, 300)
    densities = [
        weight * np.exp(-(((x - mean) / width) ** 2) / 2) / width
        for weight, mean, width in ((0.5, 0.0, 1.0), (0.35, 2.6, 0.9), (0.15, 5.0, 0.5))
    ]
    axes.fill_between(x, sum(densities), color="0.88", label="mixture")
    for number, (density, color) in enumerate(zip(densities, COLORS, strict=True)):
        axes.plot(x, density, color=color, label=f"component {number}")
    axes.set(title="components", xlabel="a feature", yticks=[], ylabel="density")
    axes.legend(fontsize=7, loc="upper right")


def draw_populations(axes: Axes) -> None:
    """Draw two populations, of which one is made of three components."""
    draw = np.random.default_rng(0)
    members = {
        "population 0": ((0.0, 0.0), (1.2, 0.7), (2.4, 0.6)),
        "population 1": ((1.0, 4.0),),
    }
    for (name, centres), color in zip(members.items(), COLORS, strict=False):
        rows = np.concatenate([draw.normal(centre, 0.5, (150, 2)) for centre in centres])
        axes.scatter(*rows.T, s=3, color=color, alpha=0.4)
        for centre in centres:
            axes.add_patch(Ellipse(centre, 2, 2, fill=False, color="0.3"))
        x, y = np.mean(centres, axis=0)
        axes.text(x, y + 1.5, name, ha="center", color=color)
    axes.set(title="populations (circles: components)", xticks=[], yticks=[], ylim=(-2, 6.2))
    axes.set(xlabel="a feature", ylabel="another feature")


def draw_pass(axes: Axes) -> None:
    """Draw blocks of rows whose sums meet in the driver."""
    axes.set_title("a pass")
    for number in range(4):
        y = 4.8 - 1.5 * number
        axes.add_patch(Rectangle((0, y), 1.6, 1.1, color=COLORS[0], alpha=0.3))
        axes.text(0.8, y + 0.55, "rows", ha="center", va="center")
        axes.text(3.1, y + 0.55, "sums", ha="center", va="center")
        for start, end in (((1.6, y + 0.55), (2.6, y + 0.55)), ((3.6, y + 0.55), (5.0, 3.0))):
            axes.add_patch(FancyArrowPatch(start, end, arrowstyle="->", mutation_scale=10))
    axes.text(5.1, 3.0, "driver:\nsums of\nall rows", va="center")
    axes.text(0.8, 6.2, "blocks", ha="center")
    axes.text(3.1, 6.2, "workers", ha="center")
    axes.set(xlim=(-0.3, 7), ylim=(0, 6.9))
    axes.axis("off")


if __name__ == "__main__":
    mpl.use("Agg")
    figure, panels = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained")
    for draw_panel, panel in zip(
        (draw_views, draw_components, draw_populations, draw_pass), panels.flat, strict=True
    ):
        draw_panel(panel)
    figure.savefig(FIGURES / "glossary.png", dpi=90)
