"""Drawing of states along the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.models.words.report_figures import StateStrip
from bigtensor.report.style import INK, empty_figure, palette, report_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def state_strip(shown: StateStrip) -> Figure:
    """Draw shares of states in columns, and below the states of the first rows.

    Returns
    -------
    Figure
        Two axes. Above: an area a state, from the first at the bottom. Below: one image, and a line
        at every sequence that starts.
    """
    columns, k = shown.shares.shape
    colours = palette(k)
    with report_style():
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        figure = empty_figure(9.0, 2.9)
        above, below = figure.subplots(2, gridspec_kw={"height_ratios": (2.4, 1)})
        edges = np.linspace(0, 100, columns + 1)
        base = np.zeros(columns)
        for state, colour in enumerate(colours):
            top = base + shown.shares[:, state]
            above.stairs(top, edges, baseline=base, fill=True, color=colour, linewidth=0)
            base = top
        above.set(xlim=(0, 100), ylim=(0, 1), xlabel="rows (%)", ylabel="share")
        states = np.ma.masked_less(shown.first[None], 0)
        below.imshow(
            states,
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(colours),
            vmin=-0.5,
            vmax=k - 0.5,
        )
        for row in np.flatnonzero(shown.begins[1:]):
            below.axvline(row + 0.5, color=INK, linewidth=1.2)
        below.set(yticks=[], xlabel="row")
        named = [Patch(color=colour, label=f"state {h}") for h, colour in enumerate(colours)]
        figure.legend(handles=named, loc="outside right upper")
        return figure
