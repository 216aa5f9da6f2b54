"""Drawing of shares of samples as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.models.words.sample_figures import StackedBars
from bigtensor.report.style import (
    INK,
    LETTERS_AN_INCH,
    LETTERS_OF_FEATURE,
    empty_figure,
    palette,
    report_style,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GAP = 0.9
"""Height between bars of different headings, in bars."""

_LEGEND_ROWS = 24
"""Names in a column of the legend."""


def stacked_bars(shown: StackedBars) -> Figure:
    """Draw a bar for every sample, the first on top.

    Returns
    -------
    Figure
        One axes with one container of bars for every population.
    """
    samples, k = shown.shares.shape
    places = bar_places(shown.sections, samples)
    names = shortened(shown.names, LETTERS_OF_FEATURE)
    sample_names = shortened(shown.sample_names, LETTERS_OF_FEATURE)
    room = max(map(len, sample_names)) / LETTERS_AN_INCH
    room += max(map(len, names)) / LETTERS_AN_INCH
    height = max(1.1 + 0.22 * (places[-1] + 1), 0.7 + 0.19 * min(k, _LEGEND_ROWS))
    with report_style():
        figure = empty_figure(5.2 + room, height)
        axes = figure.add_subplot()
        left = np.zeros(samples)
        for share, colour, name in zip(shown.shares.T, palette(k), names, strict=True):
            axes.barh(places, 100 * share, 0.8, 100 * left, color=colour, label=name)
            left = left + share
        axes.set_yticks(places, sample_names)
        axes.set(ylim=(places[-1] + 0.6, places[0] - 0.6), xlim=(0, 100), xlabel="share (%)")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        for first in _beginnings(shown.sections):
            heading = f"{shown.section_label} {shown.sections[first]}".strip()
            axes.text(0, places[first] - 0.55, heading, color=INK, fontweight="bold", fontsize=8)
        columns = -(-k // _LEGEND_ROWS)
        figure.legend(loc="outside right upper", ncols=columns)
        return figure


def bar_places(sections: tuple[str, ...], samples: int) -> list[float]:
    """Return the place of every bar, with a gap above the first bar of a heading."""
    beginnings = set(_beginnings(sections))
    places, at = [], -1.0
    for sample in range(samples):
        at += 1.0 + _GAP * (sample in beginnings)
        places.append(at)
    return places


def _beginnings(sections: tuple[str, ...]) -> list[int]:
    """Return the positions of the samples that begin a section."""
    return [
        place
        for place, heading in enumerate(sections)
        if place == 0 or heading != sections[place - 1]
    ]
