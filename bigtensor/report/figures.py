"""Drawings of bars, heatmaps, densities and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.words.report_figures import Bars, DensityPlot, Heatmap, Scatter
from bigtensor.models.words.wording import percent
from bigtensor.report.drawings.point_image import OPACITY, point_image
from bigtensor.report.label_placement import spread_in_box
from bigtensor.report.style import (
    FAINT,
    INK,
    LETTERS_AN_INCH,
    LETTERS_OF_FEATURE,
    dashes,
    empty_figure,
    names_or_numbers,
    palette,
    report_style,
    shortened,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ANNOTATED_CELLS = 160
"""Cells of a heatmap up to which every one shows its number."""

HISTOGRAM_BINS = 80
"""Bins of the histogram of a feature."""

MOST_POINTS = 5_000
"""Points that are drawn one by one. A drawing of 20,000 takes longer than the rest of a figure."""

RIDGE_HEIGHT = 1.7
"""Height of a ridge, in distances between ridges."""


def bars(shown: Bars) -> Figure:
    """Draw bars, each with its value.

    Returns
    -------
    Figure
        One axes with one bar a component, the first on top.
    """
    k, values = len(shown.values), 100 * shown.values
    with report_style():
        import matplotlib.patheffects

        # the name of the axis needs the height of two bars
        figure = empty_figure(4.4, 1.0 + 0.24 * max(k, 2))
        axes = figure.add_subplot()
        axes.barh(np.arange(k), values, color=palette(k), height=0.72)
        right = values
        if shown.marks is not None:
            axes.plot(
                100 * shown.marks,
                np.arange(k),
                linestyle="none",
                marker="|",
                markersize=10,
                markeredgewidth=1.6,
                markeredgecolor=INK,
                path_effects=[matplotlib.patheffects.withStroke(linewidth=3, foreground="white")],
                label=shown.mark_label,
            )
            right = np.maximum(values, 100 * shown.marks)
            figure.legend(loc="outside lower right")
        for number, value in enumerate(shown.values):
            axes.annotate(
                percent(value),
                (right[number], number),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        axes.set_yticks(np.arange(k), names_or_numbers(shown.names, k))
        axes.set(ylim=(k - 0.4, -0.6), xlim=(0, 1.12 * right.max()), ylabel=shown.name)
        axes.set_xlabel(shown.label)
        axes.tick_params(axis="y", length=0)
        return figure


def feature_densities(shown: DensityPlot) -> Figure:
    """Draw the densities of one feature.

    Returns
    -------
    Figure
        Two axes, or one for one component. Above: a line a component, its density times its weight,
        and last the line of their sum. Below: a line a component, its density scaled to the same
        height, shifted by the number of the component.
    """
    k, points = len(shown.weights), shown.points
    with report_style():
        several = k > 1
        figure = empty_figure(4.3, 2.1 + several * (0.6 + 0.17 * k))
        ratios = (1.8, 0.4 + 0.17 * k) if several else (1,)
        panels = figure.subplots(
            len(ratios), sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios}
        )[:, 0]
        above = panels[0]
        if shown.values is not None:
            _histogram(above, points, shown.values, shown.value_weights)
        for component, colour in enumerate(palette(k)):
            density = shown.weights[component] * shown.density[:, component]
            style = dashes(component)
            above.plot(points, density, color=colour, linewidth=1.2, linestyle=style)
        above.plot(points, shown.density @ shown.weights, color=INK, linewidth=0.9)
        (title,) = shortened([shown.title], LETTERS_OF_FEATURE)
        above.set(title=title, yticks=[], ylim=(0, None))
        above.spines["left"].set_visible(False)
        if several:
            above.tick_params(axis="x", length=0)
            _ridges(panels[1], shown)
        above.set_xlim(points[0], points[-1])
        return figure


def heatmap(shown: Heatmap) -> Figure:
    """Draw a matrix as colours.

    Returns
    -------
    Figure
        One axes with one image, and one of its colour bar.
    """
    rows, columns = shown.shades.shape
    has_numbers = shown.shades.size <= ANNOTATED_CELLS
    width = (0.52 if has_numbers else 0.34) * max(columns, 6)
    row_names = shortened(shown.row_names, LETTERS_OF_FEATURE)
    column_names = shortened(shown.column_names, LETTERS_OF_FEATURE)
    beside, longest = max(map(len, row_names)), max(map(len, column_names))
    # names wider than their columns are written upright
    upright = longest > LETTERS_AN_INCH * width / columns
    head = longest / LETTERS_AN_INCH if upright else 0.0
    with report_style():
        figure = empty_figure(
            max(2.4, 1.2 + beside / LETTERS_AN_INCH) + width, 1.1 + 0.3 * rows + head
        )
        axes = figure.add_subplot()
        image = axes.imshow(shown.shades, aspect="auto", **colour_scale(shown))
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=max(8, 2 * rows), fraction=0.05)
        bar.set_label(shown.label)
        bar.outline.set_visible(False)
        axes.set_xticks(np.arange(columns), column_names)
        axes.set_yticks(np.arange(rows), row_names)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.tick_params(axis="x", labelsize=7.5, labelrotation=90 if upright else 0)
        axes.xaxis.set_label_position("top")
        axes.set(xlabel=shown.column_axis, ylabel=shown.row_axis)
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(columns - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        if has_numbers:
            numbers = shown.shades if shown.numbers is None else shown.numbers
            on_dark = np.abs(shown.shades) > 0.62 * shown.limit
            _write_numbers(axes, numbers, on_dark, shown.decimals)
        return figure


def colour_scale(shown: Heatmap) -> dict[str, Any]:
    """Return the colours of a heatmap as matplotlib's options."""
    if shown.diverging:
        return {"cmap": "RdBu_r", "vmin": -shown.limit, "vmax": shown.limit}
    return {"cmap": "Blues", "vmin": 0.0, "vmax": shown.limit}


def label_scatter(shown: Scatter) -> Figure:
    """Draw rows in two features, coloured by label, with the number of every label at its medians.

    Returns
    -------
    Figure
        One axes. Up to `MOST_POINTS` points are one collection in an order that favours no label,
        and more points are an image.
    """
    x, y, label = shown.x, shown.y, shown.label
    order = np.random.default_rng(0).permutation(len(x))
    with report_style():
        import matplotlib.colors
        import matplotlib.patheffects

        # matplotlib would read the name of a colour for every row
        colours = matplotlib.colors.to_rgba_array([*palette(shown.n_labels), FAINT])
        figure = empty_figure(3.7, 3.5)
        axes = figure.add_subplot()
        axes.set(xlabel=wrapped(shown.names[0]), ylabel=wrapped(shown.names[1]))
        limits = _core(x), _core(y)
        axes.set(xlim=limits[0], ylim=limits[1])
        if len(x) > MOST_POINTS:
            image = point_image(x, y, colours[label], *limits)
            extent = (*limits[0], *limits[1])
            axes.imshow(image, origin="lower", extent=extent, aspect="auto")
        else:
            size = float(np.clip(30_000 / max(len(x), 1), 1.2, 14.0))
            shades = colours[label[order]]
            axes.scatter(x[order], y[order], s=size, c=shades, alpha=OPACITY, linewidths=0)
        names = names_or_numbers(shown.label_names, shown.n_labels)
        if shown.legend:
            for name, colour in zip(names, colours, strict=False):
                axes.scatter([], [], color=colour, s=14, label=name)
            figure.legend(loc="outside lower left", ncols=2)
            return figure
        halo = [matplotlib.patheffects.withStroke(linewidth=2.6, foreground="white")]
        font_size = 10 if shown.n_labels <= 10 else 8.5
        for number, place in _number_places(axes, shown, names, font_size).items():
            axes.text(
                *place,
                names[number],
                ha="center",
                va="center",
                fontsize=font_size,
                fontweight="bold",
                path_effects=halo,
                clip_on=True,
            )
        return figure


def _number_places(
    axes: Axes, shown: Scatter, names: list[str], size: float
) -> dict[int, tuple[float, float]]:
    """Return where the name or number of every label stands: at its medians, or beside others.

    Names stay inside the axes, which are about three inches wide and high.
    """
    x, y, label = shown.x, shown.y, shown.label
    present = np.unique(label[label >= 0])
    if not present.size:
        return {}
    medians = np.array([[np.median(v[label == h]) for v in (x, y)] for h in present])
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    box = np.full(2, 3.0)
    digits = np.array([len(names[h]) for h in present])
    # bold digits are 0.7 of the font's size wide; 72 points are an inch
    sizes = size / 72 * np.column_stack([0.7 * digits + 0.15, np.full(len(digits), 1.0)])
    scale = box / (high - low)
    placed = spread_in_box((medians - low) * scale, sizes, box) / scale + low
    return {int(h): (float(a), float(b)) for h, (a, b) in zip(present, placed, strict=True)}


def _write_numbers(
    axes: Axes, numbers: FloatArray, on_dark: NDArray[np.bool_], places: int | None
) -> None:
    """Write numbers into the cells of a heatmap, by default each row with the digits it needs."""
    for row, values in enumerate(numbers):
        spread = max(float(np.ptp(values)), float(np.finfo(np.float64).tiny))
        decimals = max(0, 2 - int(np.floor(np.log10(spread)))) if places is None else places
        for column, value in enumerate(values):
            axes.text(
                column,
                row,
                f"{value:.{decimals}f}" if decimals <= 4 else f"{value:.3g}",
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if on_dark[row, column] else INK,
            )


def _histogram(
    axes: Axes, points: FloatArray, values: NDArray[Any], weights: FloatArray | None
) -> None:
    """Draw the density of a sample behind the densities of a model, over the range of these."""
    edges = np.linspace(points[0], points[-1], HISTOGRAM_BINS + 1)
    counts, _ = np.histogram(values, edges, weights=weights)
    total = len(values) if weights is None else weights.sum()
    # of all rows, also those outside: as in the densities
    axes.stairs(counts / (total * np.diff(edges)), edges, fill=True, color=FAINT)


def _ridges(axes: Axes, shown: DensityPlot) -> None:
    """Draw the densities one above the other, all of the same height, the first on top."""
    k = len(shown.weights)
    for component, colour in enumerate(palette(k)):
        column = shown.density[:, component]
        height = component - RIDGE_HEIGHT * column / column.max()
        base = np.full_like(height, component)
        order = 2 + component / k
        # an area is drawn only where there is something: the file has one for every ridge
        visible = column > 2e-3 * column.max()
        axes.fill_between(
            shown.points, height, base, visible, color=colour, alpha=0.35, lw=0, zorder=order
        )
        axes.plot(shown.points, height, color=colour, linewidth=0.9, zorder=order)
    axes.set_yticks(np.arange(k), names_or_numbers(shown.names, k), fontsize=7)
    axes.set_ylim(k - 0.7, -RIDGE_HEIGHT - 0.1)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _core(values: NDArray[Any]) -> tuple[float, float]:
    """Return limits that leave out the farthest thousandth of the values at either end."""
    low, high = np.quantile(values, [0.001, 0.999])
    margin = 0.03 * (high - low) or 1.0
    return float(low - margin), float(high + margin)
