"""Drawing of the tree of merged components, over a heatmap of the components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.models.words.label_level import is_cut
from bigtensor.models.words.report_figures import TreePlot
from bigtensor.report.figures import colour_scale
from bigtensor.report.label_placement import spread_on_line
from bigtensor.report.style import INK, MUTED, empty_figure, palette, report_style, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOWEST = 1e-4
"""Heights below this are drawn at it: the axis is logarithmic."""

NUMBERED = 90
"""Components up to which every leaf has its number. Numbers of more would be too small to read."""

NUMBER_WIDTH = 0.2
"""Room for the number of a population, in inches."""

COUNT_TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)
"""Numbers of populations that the axis of a tree with ranks shows."""

UPRIGHT = 0.2
"""Distance of leaves, in inches, from which on their numbers stand upright."""


class Merges(Protocol):
    """Merges of components, such as a `MergeTree`."""

    @property
    def weights(self) -> FloatArray:
        """Mixing weights of the components: ``(k,)``."""

    @property
    def merges(self) -> IntArray:
        """Nodes of every merge: ``(k - 1, 2)``."""

    @property
    def heights(self) -> FloatArray:
        """Height of every merge: ``(k - 1,)``."""


@dataclass(frozen=True, eq=False)
class TreeDrawing:
    """Places of the lines of a tree.

    Attributes
    ----------
    leaves : (k,) integer array
        The components from left to right; those of a population side by side, the heavier half of
        every merge first.
    x : (k - 1, 2) float64 array
        Positions of both halves of every merge; leaves are at 0, 1, ...
    below : (k - 1, 2) float64 array
        Heights at which both halves were merged themselves, and `floor` for components.
    top : (k - 1,) float64 array
        Height of every merge, at most those below it, so that no line goes down. Ranked,
        the number of populations that the merge leaves.
    floor : float
        Height of the components, the largest of all: one, or ranked their number.
    """

    leaves: IndexArray
    x: FloatArray
    below: FloatArray
    top: FloatArray
    floor: float


def layout(tree: Merges, *, ranked: bool = False) -> TreeDrawing:
    """Place the components and merges of a tree.

    Parameters
    ----------
    tree : MergeTree
        Merges of the components, with their mixing weights.
    ranked : bool, default False
        Draw merges at the number of populations that they leave.
    """
    k = len(tree.weights)
    members = [[component] for component in range(k)]
    weight = list(tree.weights)
    for first, second in tree.merges:
        halves = sorted((first, second), key=lambda node: -weight[node])
        members.append([leaf for half in halves for leaf in members[half]])
        weight.append(weight[first] + weight[second])
    leaves = np.array(members[-1], np.intp)
    floor = float(k) if ranked else 1.0
    x, height = np.empty(2 * k - 1), np.full(2 * k - 1, floor)
    x[leaves] = np.arange(k)
    height[k:] = _tops(tree, ranked=ranked)
    for step, pair in enumerate(tree.merges):
        x[k + step] = x[pair].mean()
    return TreeDrawing(leaves, x[tree.merges], height[tree.merges], height[k:], floor)


def _tops(tree: Merges, *, ranked: bool) -> FloatArray:
    """Return the height at which every merge is drawn."""
    if ranked:
        return np.arange(len(tree.merges), 0, -1.0)
    return np.clip(np.minimum.accumulate(tree.heights), LOWEST, 1.0)


def merge_tree(shown: TreePlot) -> Figure:
    """Draw how components were merged, where the tree is cut, and the heatmap of its leaves.

    Returns
    -------
    Figure
        Above: a line of four points a merge, in the colour of its population and grey between
        populations; a dot a component, as large as its weight. Below: an image of the heatmap, one
        column a component in the order of the leaves.
    """
    drawing = layout(shown.tree, ranked=shown.ranked)
    k, leaves, names = len(shown.tree.weights), shown.leaves, shown.leaves.row_names
    with report_style():
        height = 0.13 * min(max(len(names), 5), 60) + 0.5
        figure = empty_figure(min(max(1.9 + k * _pitch(k), 5.0), 13.0), 3.1 + height)
        above, below = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": (3.1, height)})
        _draw_tree(above, shown, drawing)
        image = below.imshow(
            leaves.shades[:, drawing.leaves],
            aspect="auto",
            interpolation="nearest",
            **colour_scale(leaves),
        )
        bar = figure.colorbar(image, ax=below, pad=0.01, fraction=0.03, aspect=max(6, 4 * height))
        bar.set_label(leaves.label)
        bar.outline.set_visible(False)
        below.set_yticks(np.arange(len(names)), shortened(names), fontsize=7)
        below.tick_params(length=0)
        below.spines[:].set_visible(False)
        _number_leaves(below, drawing.leaves)
        return figure


def _draw_tree(axes: Axes, shown: TreePlot, drawing: TreeDrawing) -> None:
    """Draw the merges, the leaves, the cut and the numbers of the populations."""
    tree, of_component = shown.tree, shown.of_component
    k, count = len(tree.weights), int(of_component.max()) + 1
    colours = palette(count)
    inside = k - count
    at = np.empty(k)
    at[drawing.leaves] = np.arange(k)
    for step, (x, below, top) in enumerate(zip(drawing.x, drawing.below, drawing.top, strict=True)):
        leaf = drawing.leaves[int(x.min())]
        colour = colours[of_component[leaf]] if step < inside else MUTED
        axes.plot(
            [x[0], x[0], x[1], x[1]], [below[0], top, top, below[1]], color=colour, linewidth=1
        )
    size = np.clip(18 * k * tree.weights, 4, 90) * min(1.0, 60 / k) ** 0.5
    axes.scatter(
        at,
        np.full(k, drawing.floor),
        s=size,
        c=np.array(colours)[of_component],
        zorder=3,
        clip_on=False,
    )
    _number_populations(axes, at, drawing.floor, of_component)
    if is_cut(tree, of_component):
        cut = cut_height(drawing.top, inside, drawing.floor)
        axes.axhline(cut, color=INK, linewidth=0.9, linestyle=":")
    _draw_height_axis(axes, shown, drawing)
    axes.set_xlim(-0.7, k - 0.3)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=22, labelbottom=False)


def _number_populations(axes: Axes, at: FloatArray, floor: float, of_component: IndexArray) -> None:
    """Write the number of every population under its leaves, where no other number stands."""
    colours = palette(int(of_component.max()) + 1)
    middle = np.array([at[of_component == population].mean() for population in range(len(colours))])
    placed = spread_on_line(middle, NUMBER_WIDTH / _pitch(len(at)))
    for population, colour in enumerate(colours):
        axes.annotate(
            str(population),
            (float(middle[population]), floor),
            (float(placed[population]), -20),
            textcoords=("data", "offset points"),
            ha="center",
            va="center",
            fontweight="bold",
            color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "shrinkA": 0, "shrinkB": 4},
        )


def _draw_height_axis(axes: Axes, shown: TreePlot, drawing: TreeDrawing) -> None:
    """Make the vertical axis logarithmic, with plain numbers, so that trees grow upwards."""
    axes.set_yscale("log")
    if shown.ranked:
        # below one population there is nothing but the cut into one
        axes.set_ylim(drawing.floor, 0.6)
        counts = [count for count in COUNT_TICKS if count < drawing.floor]
        axes.set_yticks([*counts, drawing.floor])
        axes.set_ylabel("populations left")
    else:
        # heights fall as more is merged
        axes.set_ylim(1.0, 0.6 * min(drawing.top.min(initial=1.0), 0.5))
        axes.set_ylabel(shown.tree.criterion.replace("_", " "))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")


def cut_height(top: FloatArray, merged: int, floor: float = 1.0) -> float:
    """Return a height between the last merge that is made and the first that is not.

    Parameters
    ----------
    top : (k - 1,) array
        Heights of the merges as they are drawn.
    merged : int
        Merges that are made.
    floor : float, default 1.0
        Height of the components.
    """
    before = top[merged - 1] if merged else floor
    after = top[merged] if merged < len(top) else before / 2
    return float(np.sqrt(before * after))


def _number_leaves(axes: Axes, leaves: IndexArray) -> None:
    """Write the number of every component under its column, where there is room."""
    k = len(leaves)
    axes.set_xlabel("component")
    if k > NUMBERED:
        axes.set_xticks([])
        axes.set_xlabel(f"{k} components")
        return
    upright = _pitch(k) > UPRIGHT
    # turned by a right angle, a number is as wide as its font: 72 points are an inch
    size = 7.5 if upright else min(7.0, 0.85 * 72 * _pitch(k))
    names = [str(leaf) for leaf in leaves]
    axes.set_xticks(np.arange(k), names, fontsize=size, rotation=0 if upright else 90)


def _pitch(k: int) -> float:
    """Return how far leaves are apart, in inches."""
    return float(np.clip(11 / k, 0.05, 0.3))
