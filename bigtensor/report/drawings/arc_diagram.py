"""Drawing of pairs as arcs along a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.models.words.report_figures import ArcDiagram
from bigtensor.report.style import (
    INK,
    LETTERS_AN_INCH,
    LETTERS_OF_FEATURE,
    MUTED,
    empty_figure,
    palette,
    report_style,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND_STRENGTHS = (0.3, 0.6, 0.9)
"""Strengths whose lines are in the legend."""

_LEAST_REACH = 8
"""Members over which the longest arc that fits reaches, so that short arcs do not become flat."""


def arc_diagram(shown: ArcDiagram) -> Figure:
    """Draw a chain from above, with an arc for every pair that has a strength.

    Returns
    -------
    Figure
        One axes with a line along the chain and a patch for every arc, the weakest first. Names are
        the labels of the upright axis.
    """
    n = len(shown.names)
    first, second = np.nonzero(np.triu(shown.strengths, 1))
    strengths = shown.strengths[first, second]
    reach = int((second - first).max(initial=_LEAST_REACH))
    with report_style():
        from matplotlib.lines import Line2D
        from matplotlib.patches import Arc

        names = shortened(shown.names, LETTERS_OF_FEATURE)
        room_for_names = max(map(len, names)) / LETTERS_AN_INCH
        figure = empty_figure(3.0 + room_for_names, 1.0 + 0.26 * n)
        axes = figure.add_subplot()
        axes.plot(np.zeros(n), np.arange(n), color=MUTED, linewidth=1.0, zorder=1)
        for pair in np.argsort(strengths, kind="stable"):
            above, below = int(first[pair]), int(second[pair])
            arc = Arc(
                (0, (above + below) / 2),
                width=below - above,
                height=below - above,
                theta1=-90,
                theta2=90,
                zorder=2,
                **_line(strengths[pair]),
            )
            axes.add_patch(arc)
        axes.plot(np.zeros(n), np.arange(n), "o", color=INK, markersize=3.5, zorder=3)
        axes.set_yticks(np.arange(n), names)
        # half an arc is half as wide as it is long
        axes.set(xlim=(-0.03 * reach, 0.52 * reach), ylim=(n - 0.4, -0.6), xticks=[])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        named = [
            Line2D([], [], label=f"{strength:g}", **_line(strength))
            for strength in LEGEND_STRENGTHS
        ]
        figure.legend(handles=named, title=shown.label, loc="outside lower right", ncols=len(named))
        return figure


def _line(strength: float) -> dict[str, Any]:
    """Return the line of an arc as matplotlib's options: wider and darker the stronger."""
    return {
        "color": palette(1)[0],
        "linewidth": 0.6 + 3.0 * strength**2,
        "alpha": min(0.25 + 0.75 * strength**2, 1.0),
    }
