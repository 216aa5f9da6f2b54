"""The figures of the report; each function returns a Figure that belongs to nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.report.label_placement import spread_in_box
from bigtensor.report.profiles import FeatureProfile
from bigtensor.report.style import FAINT, INK, dashes, empty_figure, palette, report_style
from bigtensor.report.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

ANNOTATED_CELLS = 160
"""Cells of a heatmap up to which every one shows its number."""

HISTOGRAM_BINS = 80

RIDGE_HEIGHT = 1.7
"""Height of a ridge, in distances between ridges."""


def weight_bars(
    weights: FloatArray, sample_shares: FloatArray | None = None, name: str = "component"
) -> Figure:
    """Draw the mixing weights as bars.

    Parameters
    ----------
    weights : (k,) array
    sample_shares : (k,) array, optional
        Part of the labelled rows in every component, drawn as a mark.
    name : str, default "component"
        What has these weights.

    Returns
    -------
    Figure
        One axes with one bar a component, the first on top.
    """
    k = len(weights)
    with report_style():
        import matplotlib.patheffects

        figure = empty_figure(4.4, 1.0 + 0.24 * k)
        axes = figure.add_subplot()
        axes.barh(np.arange(k), 100 * weights, color=palette(k), height=0.72)
        right = 100 * weights
        if sample_shares is not None:
            axes.plot(
                100 * sample_shares,
                np.arange(k),
                linestyle="none",
                marker="|",
                markersize=10,
                markeredgewidth=1.6,
                markeredgecolor=INK,
                path_effects=[matplotlib.patheffects.withStroke(linewidth=3, foreground="white")],
                label="share of the labelled rows",
            )
            right = 100 * np.maximum(weights, sample_shares)
            figure.legend(loc="outside lower right")
        for component, weight in enumerate(weights):
            axes.annotate(
                percent(weight),
                (right[component], component),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        axes.set_yticks(np.arange(k), [str(component) for component in range(k)])
        axes.set(ylim=(k - 0.4, -0.6), xlim=(0, 1.12 * right.max()), ylabel=name)
        axes.set_xlabel("weight (%)")
        axes.tick_params(axis="y", length=0)
        return figure


def feature_densities(
    profile: FeatureProfile,
    weights: FloatArray,
    values: NDArray[Any] | None = None,
    value_weights: FloatArray | None = None,
) -> Figure:
    """Draw the densities of one feature.

    Parameters
    ----------
    profile : FeatureProfile
    weights : (k,) array
    values : (n,) array, optional
        The feature in a sample of the data: a histogram behind the densities.
    value_weights : (n,) array, optional
        Sample weights.

    Returns
    -------
    Figure
        Two axes. Above: a line a component, its density times its weight, and last the line of
        their sum. Below: a line a component, its density scaled to the same height, shifted by
        the number of the component.
    """
    k = len(weights)
    with report_style():
        figure = empty_figure(4.3, 2.1 + 0.6 + 0.17 * k)
        above, below = figure.subplots(
            2, sharex=True, gridspec_kw={"height_ratios": (1.8, 0.4 + 0.17 * k)}
        )
        if values is not None and not profile.categorical:
            _histogram(above, profile.points, values, value_weights)
        for component, colour in enumerate(palette(k)):
            density = weights[component] * profile.density[:, component]
            style = dashes(component)
            above.plot(profile.points, density, color=colour, linewidth=1.2, linestyle=style)
        above.plot(profile.points, profile.density @ weights, color=INK, linewidth=0.9)
        above.set(title=profile.feature, yticks=[], ylim=(0, None))
        above.spines["left"].set_visible(False)
        above.tick_params(axis="x", length=0)
        _ridges(below, profile)
        above.set_xlim(profile.points[0], profile.points[-1])
        return figure


def mean_heatmap(
    standardised: FloatArray, means: FloatArray, features: Sequence[str], weights: FloatArray
) -> Figure:
    """Draw the component means of all features as colours, from low (blue) to high (red).

    Parameters
    ----------
    standardised : (features, k) array
        What the colours show, see `bigtensor.report.profiles.standardised_means`.
    means : (features, k) array
        What the numbers show, where there is room for them.
    features : sequence of str
    weights : (k,) array

    Returns
    -------
    Figure
        One axes with one image, and one of its colour bar.
    """
    rows, k = standardised.shape
    limit = max(1.0, min(3.0, float(np.abs(standardised).max())))
    with report_style():
        figure = empty_figure(2.4 + 0.52 * max(k, 6), 1.1 + 0.3 * rows)
        axes = figure.add_subplot()
        image = axes.imshow(standardised, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=max(8, 2 * rows), fraction=0.05)
        bar.set_label("overall sd")
        bar.outline.set_visible(False)
        axes.set_xticks(
            np.arange(k), [f"{h}\n{percent(weight)}" for h, weight in enumerate(weights)]
        )
        axes.set_yticks(np.arange(rows), list(features))
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.tick_params(axis="x", labelsize=7.5)
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(k - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        if standardised.size <= ANNOTATED_CELLS:
            _write_means(axes, means, np.abs(standardised) > 0.62 * limit)
        return figure


def population_scatter(
    x: NDArray[Any],
    y: NDArray[Any],
    label: NDArray[np.int64],
    n_components: int,
    names: tuple[str, str],
) -> Figure:
    """Draw rows in two features, coloured by component, with its number at its medians.

    Parameters
    ----------
    x, y : (n,) arrays
    label : (n,) int array
        -1 for rows of no component, which are grey.
    n_components : int
    names : tuple of two str
        Names of the features.

    Returns
    -------
    Figure
        One axes with one collection of all points in an order that favours no component.
    """
    colours = np.array([*palette(n_components), FAINT])
    order = np.random.default_rng(0).permutation(len(x))
    with report_style():
        import matplotlib.patheffects

        figure = empty_figure(3.7, 3.5)
        axes = figure.add_subplot()
        size = float(np.clip(30_000 / max(len(x), 1), 1.2, 14.0))
        axes.scatter(x[order], y[order], s=size, c=colours[label[order]], alpha=0.55, linewidths=0)
        axes.set(xlabel=names[0], ylabel=names[1], xlim=_core(x), ylim=_core(y))
        halo = [matplotlib.patheffects.withStroke(linewidth=2.6, foreground="white")]
        font_size = 10 if n_components <= 10 else 8.5
        for component, place in _number_places(axes, x, y, label, font_size).items():
            axes.text(
                *place,
                str(component),
                ha="center",
                va="center",
                fontsize=font_size,
                fontweight="bold",
                path_effects=halo,
                clip_on=True,
            )
        return figure


def _number_places(
    axes: Axes, x: NDArray[Any], y: NDArray[Any], label: NDArray[np.int64], size: float
) -> dict[int, tuple[float, float]]:
    """Return where the number of every component stands: at its medians, or beside other numbers.

    Numbers stay inside the axes, which are about three inches wide and high.
    """
    present = np.unique(label[label >= 0])
    if not present.size:
        return {}
    medians = np.array([[np.median(v[label == h]) for v in (x, y)] for h in present])
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    box = np.full(2, 3.0)
    digits = np.array([len(str(h)) for h in present])
    # bold digits are 0.7 of the font's size wide; 72 points are an inch
    sizes = size / 72 * np.column_stack([0.7 * digits + 0.15, np.full(len(digits), 1.0)])
    scale = box / (high - low)
    placed = spread_in_box((medians - low) * scale, sizes, box) / scale + low
    return {int(h): (float(a), float(b)) for h, (a, b) in zip(present, placed, strict=True)}


def _write_means(axes: Axes, means: FloatArray, on_dark: NDArray[np.bool_]) -> None:
    """Write the means into the cells of a heatmap, each feature with the digits that it needs."""
    for row, values in enumerate(means):
        spread = max(float(np.ptp(values)), float(np.finfo(np.float64).tiny))
        decimals = max(0, 2 - int(np.floor(np.log10(spread))))
        for component, value in enumerate(values):
            axes.text(
                component,
                row,
                f"{value:.{decimals}f}" if decimals <= 4 else f"{value:.3g}",
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if on_dark[row, component] else INK,
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


def _ridges(axes: Axes, profile: FeatureProfile) -> None:
    """Draw the densities one above the other, all of the same height, the first on top."""
    k = len(profile.mean)
    for component, colour in enumerate(palette(k)):
        column = profile.density[:, component]
        height = component - RIDGE_HEIGHT * column / column.max()
        base = np.full_like(height, component)
        order = 2 + component / k
        # an area is drawn only where there is something: the file has one for every ridge
        seen = column > 2e-3 * column.max()
        axes.fill_between(
            profile.points, height, base, seen, color=colour, alpha=0.35, lw=0, zorder=order
        )
        axes.plot(profile.points, height, color=colour, linewidth=0.9, zorder=order)
    axes.set_yticks(np.arange(k), [str(component) for component in range(k)], fontsize=7)
    axes.set_ylim(k - 0.7, -RIDGE_HEIGHT - 0.1)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _core(values: NDArray[Any]) -> tuple[float, float]:
    """Return limits that leave out the farthest thousandth of the values at either end."""
    low, high = np.quantile(values, [0.001, 0.999])
    margin = 0.03 * (high - low) or 1.0
    return float(low - margin), float(high + margin)
