"""Drawing of one feature given another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.words.report_figures import ConditionalPlot
from bigtensor.report.style import MUTED, empty_figure, palette, report_style, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_JITTER = 0.15
"""Rows of a category lie at most this part of the distance of categories from their value."""


def conditional_plot(shown: ConditionalPlot) -> Figure:
    """Draw the median and the interval of a feature given another one.

    Returns
    -------
    Figure
        One axes. A band and a line over the values that are given, or an upright line and a mark
        for every category. The collection of the rows, if there are any, is the first.
    """
    colour = palette(1)[0]
    places = _spread(shown)
    with report_style():
        figure = empty_figure(4.3, 3.2)
        axes = figure.add_subplot()
        if shown.x.size:
            size = float(np.clip(20_000 / shown.x.size, 1.2, 10.0))
            axes.scatter(places, shown.y, s=size, c=MUTED, alpha=0.45, linewidths=0)
        if shown.categorical:
            axes.vlines(shown.condition, shown.lower, shown.upper, color=colour, linewidth=2.2)
            axes.plot(shown.condition, shown.median, "o", color=colour, markersize=7, mec="white")
            axes.set_xticks(shown.condition, [f"{value:g}" for value in shown.condition])
        else:
            axes.fill_between(
                shown.condition, shown.lower, shown.upper, color=colour, alpha=0.25, lw=0
            )
            axes.plot(shown.condition, shown.median, color=colour, linewidth=1.4)
        axes.set(xlabel=wrapped(shown.names[0]), ylabel=wrapped(shown.names[1]))
        axes.set(xlim=_limits(places, shown.condition))
        axes.set(ylim=_limits(shown.y, np.append(shown.lower, shown.upper)))
        return figure


def _spread(shown: ConditionalPlot) -> FloatArray:
    """Return positions of rows on the level axis, with rows of a category side by side."""
    if not shown.categorical:
        return shown.x
    gap = float(np.diff(shown.condition).min())
    return shown.x + _JITTER * gap * np.random.default_rng(0).uniform(-1, 1, shown.x.size)


def _limits(rows: FloatArray, curve: FloatArray) -> tuple[float, float]:
    """Return limits that show the whole curve and 98 % of the rows."""
    ends = np.append(curve, np.quantile(rows, [0.01, 0.99]) if rows.size else [])
    margin = 0.06 * float(np.ptp(ends)) or 1.0
    return float(ends.min()) - margin, float(ends.max()) + margin
