"""Drawings of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.models.words.report_figures import Curve, Curves, Panel, Rule
from bigtensor.report.style import (
    INK,
    LETTERS_OF_FEATURE,
    MUTED,
    empty_figure,
    palette,
    report_style,
    shortened,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curves(shown: Curves) -> Figure:
    """Draw curves.

    Returns
    -------
    Figure
        One axes a panel, from above, whose lines are in the order of its items. A curve with hollow
        marks is followed by a line of these marks.
    """
    panels = shown.panels
    with report_style():
        figure = empty_figure(4.6, 2.8 + 0.4 * len(panels))
        ratios = [panel.share for panel in panels]
        grid = figure.subplots(
            len(panels), sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios}
        )
        named: dict[str, Artist] = {}
        for axes, panel in zip(grid[:, 0], panels, strict=True):
            _draw_panel(axes, panel)
            handles, names = axes.get_legend_handles_labels()
            named |= dict(zip(names, handles, strict=True))
        if named:
            columns = shown.legend_columns
            figure.legend([*named.values()], [*named], loc="outside lower left", ncols=columns)
        return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw one panel."""
    for item in panel.items:
        if isinstance(item, Curve):
            _draw_curve(axes, item)
        else:
            _draw_rule(axes, item)
    (title,) = shortened([panel.title], LETTERS_OF_FEATURE)
    axes.set(title=title, xlabel=wrapped(panel.x_label), ylabel=wrapped(panel.y_label))
    if panel.logarithmic:
        axes.set_yscale("log")
        # the default labels of a logarithmic axis are mathematics, which the style switches off
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
    if all(_is_whole(item) for item in panel.items if isinstance(item, Curve)):
        axes.locator_params(axis="x", integer=True)
    if panel.x_limits is not None:
        axes.set_xlim(panel.x_limits)
    if panel.y_limits is not None:
        axes.set_ylim(panel.y_limits)


def _draw_curve(axes: Axes, curve: Curve) -> None:
    """Draw the points of a curve, and hollow marks over those that are hollow."""
    colour = INK if curve.colour is None else palette(curve.colour + 1)[-1]
    marker = "o" if curve.marker else ""
    axes.plot(
        curve.x,
        curve.y,
        marker=marker,
        linestyle="--" if curve.dashed else "-",
        color=colour,
        markersize=curve.marker,
        linewidth=1.1,
        label=curve.name or None,
    )
    if curve.hollow_from is not None:
        axes.plot(
            curve.x[curve.hollow_from :],
            curve.y[curve.hollow_from :],
            "o",
            color=colour,
            markersize=curve.marker,
            mfc="white",
        )


def _draw_rule(axes: Axes, rule: Rule) -> None:
    """Draw a line across a panel: with a name in the colour of the text if it is upright."""
    label = rule.name or None
    if rule.upright:
        colour = INK if rule.name else MUTED
        axes.axvline(rule.at, color=colour, linewidth=0.9, linestyle=":", label=label)
    else:
        axes.axhline(rule.at, color=MUTED, linewidth=0.9, linestyle="--", label=label)


def _is_whole(curve: Curve) -> bool:
    """Return True if the points of a curve are at integers."""
    x = np.asarray(curve.x, np.float64)
    return bool(np.all(x == np.floor(x)))
