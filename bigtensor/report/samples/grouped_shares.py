"""Drawing of shares by group, a panel for every population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.words.sample_figures import GroupedShares
from bigtensor.report.style import (
    INK,
    LETTERS_AN_INCH,
    empty_figure,
    palette,
    report_style,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4
"""Panels beside each other."""

_SPREAD = 0.3
"""Width over which the samples of a group stand, in distances between groups."""


_MOST_STEPS = 8
"""Different values, such as doses, up to which they may be drawn at equal distances."""

_UNEVEN = 5
"""Ratio of the largest to the smallest distance of values from which on they are."""


def grouped_shares(shown: GroupedShares) -> Figure:
    """Draw the share in every sample with its standard error, and the median of every group.

    Returns
    -------
    Figure
        One axes for every population. The first line of each has the points of the samples.
    """
    count = len(shown.titles)
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    longest = max(map(len, shortened(shown.group_names)), default=0)
    upright = longest * max(len(shown.group_names), 1) > 1.6 * LETTERS_AN_INCH
    with report_style():
        figure = empty_figure(
            2.2 * columns, 0.3 + rows * (2.1 + upright * longest / LETTERS_AN_INCH)
        )
        grid = figure.subplots(rows, columns, squeeze=False)
        for number, axes in enumerate(grid.flat):
            if number >= count:
                axes.set_visible(False)
                continue
            _draw_panel(axes, shown, number)
            if shown.group_names:
                axes.tick_params(axis="x", labelrotation=90 if upright else 0)
        for axes in grid[:, 0]:
            axes.set_ylabel("share (%)")
        figure.supxlabel(shown.label, fontsize=9)
        return figure


def _draw_panel(axes: Axes, shown: GroupedShares, number: int) -> None:
    """Draw one population."""
    shares, errors = 100 * shown.shares[:, number], 100 * shown.errors[:, number]
    colour = palette(shown.colours[number] + 1)[-1]
    places = shown.places.astype(np.float64)
    if shown.group_names:
        for group in range(len(shown.group_names)):
            members = np.flatnonzero(shown.places == group)
            offsets = np.linspace(-_SPREAD, _SPREAD, len(members)) if len(members) > 1 else 0.0
            places[members] += offsets
            if members.size:
                middle = float(np.median(shares[members]))
                axes.hlines(middle, group - 0.4, group + 0.4, color=INK, linewidth=1.4, zorder=3)
        axes.set_xticks(np.arange(len(shown.group_names)), shortened(shown.group_names))
        axes.set_xlim(-0.6, len(shown.group_names) - 0.4)
    elif (steps := _even_steps(places)) is not None:
        distinct = np.unique(places)
        axes.set_xticks(np.arange(len(distinct)), [f"{value:g}" for value in distinct])
        axes.set_xlim(-0.5, len(distinct) - 0.5)
        places = steps
    axes.plot(places, shares, "o", color=colour, markersize=4, zorder=2)
    axes.vlines(places, shares - errors, shares + errors, color=colour, linewidth=1, zorder=2)
    axes.set_title(shortened(shown.titles)[number], fontsize=8.5)
    axes.set_ylim(0, 1.08 * float((shares + errors).max()) or 1.0)


def _even_steps(values: FloatArray) -> FloatArray | None:
    """Return the rank of every value, if a few repeated values would cover each other to scale."""
    distinct = np.unique(values)
    if not 3 <= len(distinct) <= min(_MOST_STEPS, len(values) // 2):
        return None
    gaps = np.diff(distinct)
    if gaps.max() < _UNEVEN * gaps.min():
        return None
    return np.searchsorted(distinct, values).astype(np.float64)
