"""Drawing of samples as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.models.words.sample_figures import SampleMap
from bigtensor.report.label_placement import spread_in_box
from bigtensor.report.style import INK, MUTED, empty_figure, palette, report_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 40
"""Samples up to which every point has its name."""

_WIDTH, _LEAST_HEIGHT = 4.4, 2.4
"""Width of the axes and their smallest height, in inches. They are at most as high as wide."""

_FONT = 7.5


def sample_map(shown: SampleMap) -> Figure:
    """Draw samples, coloured by group.

    Returns
    -------
    Figure
        One axes with one collection for every group that has samples.
    """
    points = shown.coordinates
    height = _height(shown)
    groups = sorted(set(shown.group.tolist()))
    colours = palette(max(len(shown.group_names), 1))
    with report_style():
        figure = empty_figure(_WIDTH + 1.6, height)
        axes = figure.add_subplot()
        for number in groups:
            chosen = shown.group == number
            named = number >= 0 and bool(shown.group_names)
            axes.scatter(
                points[chosen, 0],
                points[chosen, 1],
                s=34,
                color=colours[number] if named else MUTED,
                label=shown.group_names[number] if named else None,
                edgecolors="white",
                linewidths=0.7,
            )
        labels = [
            f"dimension {number + 1} ({share:.0%})" for number, share in enumerate(shown.explained)
        ]
        axes.set(xlabel=labels[0], ylabel=labels[1])
        # distances are the same in all directions
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.16)
        if len(points) <= MOST_NAMES:
            places, widths = _name_places(shown, height)
            for side in (-1, 1):
                axes.update_datalim(
                    [(x + side * width, y) for (x, y), width in zip(places, widths, strict=True)]
                )
            for place, name in zip(places, shown.sample_names, strict=True):
                axes.text(*place, name, fontsize=_FONT, color=INK, ha="center", va="center")
        if shown.group_names:
            figure.legend(title=shown.group_label, loc="outside right upper")
        return figure


def _height(shown: SampleMap) -> float:
    """Return the height of the figure, at which distances are the same in both directions."""
    extent = np.ptp(shown.coordinates, axis=0)
    ratio = extent[1] / max(extent[0], np.finfo(float).tiny)
    return float(np.clip(_WIDTH * ratio, _LEAST_HEIGHT, _WIDTH))


def _name_places(shown: SampleMap, height: float) -> tuple[list[tuple[float, float]], list[float]]:
    """Return where names stand, above their points and beside each other, and half their widths."""
    points = shown.coordinates
    low, high = points.min(axis=0), points.max(axis=0)
    box = np.array([_WIDTH, height])
    # margins of the axes, with one scale in both directions
    scale = float((box / (1.4 * np.maximum(high - low, 1e-9))).min())
    middle = (low + high) / 2
    letters = np.array([len(name) for name in shown.sample_names])
    sizes = _FONT / 72 * np.column_stack([0.6 * letters, np.full(len(letters), 1.15)])
    above = (points - middle) * scale + box / 2 + np.array([0.0, 0.13])
    placed = spread_in_box(above, sizes, box)
    places = [(float(x), float(y)) for x, y in (placed - box / 2) / scale + middle]
    return places, (sizes[:, 0] / 2 / scale).tolist()
