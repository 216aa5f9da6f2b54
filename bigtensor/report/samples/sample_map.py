"""Drawing of samples as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.words.sample_figures import NOT_RECORDED, SampleMap
from bigtensor.report.label_placement import spread_in_box
from bigtensor.report.style import INK, MUTED, empty_figure, palette, report_style, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 40
"""Samples up to which every point has its name."""

_WIDTH, _LEAST_HEIGHT = 4.4, 2.4
"""Width of the axes and their smallest height, in inches. They are at most as high as wide."""

_AXIS_LABELS, _LETTER = 0.6, 0.085
"""Inches beside the axes for numbers and a label, and width of a letter of the legend."""

_FONT, _POINT = 7.5, 0.09
"""Size of a name in points, and of a sample in inches."""

_NEAR = 0.12
"""Distance of a name from its point in inches from which on a line joins them."""


def sample_map(shown: SampleMap) -> Figure:
    """Draw samples, coloured by group.

    Returns
    -------
    Figure
        One axes with one collection for every group that has samples. Names that had no room
        beside their points are joined to them by lines.
    """
    points = shown.coordinates
    box = np.array([_WIDTH, _height(shown)])
    # margins of the axes, with one scale in both directions
    scale = float((box / (1.4 * np.maximum(np.ptp(points, axis=0), 1e-9))).min())
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    group_label, *group_names = shortened([shown.group_label, *shown.group_names])
    groups = sorted(set(shown.group.tolist()))
    colours = palette(max(len(shown.group_names), 1))
    with report_style():
        legend = _LETTER * max(map(len, (group_label, *group_names, NOT_RECORDED)))
        width = _WIDTH + _AXIS_LABELS + (legend + 0.5 if shown.group_names else 0)
        figure = empty_figure(width, box[1] + _AXIS_LABELS)
        axes = figure.add_subplot()
        for number in groups:
            chosen = shown.group == number
            named = number >= 0 and bool(shown.group_names)
            axes.scatter(
                points[chosen, 0],
                points[chosen, 1],
                s=34,
                color=colours[number] if named else MUTED,
                label=group_names[number] if named else NOT_RECORDED,
                edgecolors="white",
                linewidths=0.7,
            )
        labels = [
            f"dimension {number + 1} ({share:.0%})" for number, share in enumerate(shown.explained)
        ]
        axes.set(xlabel=labels[0], ylabel=labels[1])
        # names are placed in this box; distances are the same in all directions
        axes.update_datalim([middle - box / 2 / scale, middle + box / 2 / scale])
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.01)
        if len(points) <= MOST_NAMES:
            _write_names(axes, shown, (points - middle) * scale + box / 2, box, middle, scale)
        if shown.group_names:
            figure.legend(title=group_label, loc="outside right upper")
        return figure


def _height(shown: SampleMap) -> float:
    """Return the height of the axes, at which distances are the same in both directions."""
    extent = np.ptp(shown.coordinates, axis=0)
    ratio = extent[1] / max(extent[0], np.finfo(float).tiny)
    return float(np.clip(_WIDTH * ratio, _LEAST_HEIGHT, _WIDTH))


def _write_names(
    axes: Axes,
    shown: SampleMap,
    places: FloatArray,
    box: FloatArray,
    middle: FloatArray,
    scale: float,
) -> None:
    """Write names above their points or, where these are crowded, beside the crowd.

    Parameters
    ----------
    axes : Axes
        Axes with the points.
    shown : SampleMap
        Samples.
    places : (samples, 2) array
        Places of the points in the box, in inches.
    box : (2,) array
        Width and height of the axes in inches.
    middle : (2,) array
        Middle of the axes in data units.
    scale : float
        Inches of a data unit.
    """
    names = shortened(shown.sample_names)
    letters = np.array([len(name) for name in names])
    sizes = _FONT / 72 * np.column_stack([0.6 * letters, np.full(len(letters), 1.15)])
    placed = spread_in_box(places + np.array([0.0, 0.13]), sizes, box, places, _POINT)
    nearest = np.clip(places, placed - sizes / 2, placed + sizes / 2)
    distance = np.linalg.norm(nearest - places, axis=1)
    for name, place, end, point, apart in zip(
        names,
        (placed - box / 2) / scale + middle,
        (nearest - box / 2) / scale + middle,
        shown.coordinates,
        distance,
        strict=True,
    ):
        axes.text(place[0], place[1], name, fontsize=_FONT, color=INK, ha="center", va="center")
        if apart > _NEAR:
            axes.plot(*np.transpose([point, end]), color=MUTED, linewidth=0.5, zorder=0.5)
