"""Drawings of posterior probabilities: how large they are, and how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.models.words.report_figures import Histograms, ReliabilityDiagram
from bigtensor.report.style import (
    FAINT,
    INK,
    MUTED,
    empty_figure,
    names_or_numbers,
    palette,
    report_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HISTOGRAM_BINS = 20
"""Bins of the histogram of probabilities: one for 5 %."""

ROW_HEIGHT = 0.85
"""Height of the largest bar of a histogram, in distances between histograms."""


def label_histograms(shown: Histograms) -> Figure:
    """Draw a histogram for every label.

    Returns
    -------
    Figure
        One axes with one step line a label that has rows, all equally high, the first on top.
    """
    n_labels, label = shown.n_labels, shown.label
    edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
    with report_style():
        figure = empty_figure(4.4, 1.0 + 0.24 * n_labels)
        axes = figure.add_subplot()
        for number, colour in enumerate(palette(n_labels)):
            members = label == number
            axes.axhline(number, color=FAINT, linewidth=0.8, zorder=1)
            if not members.any():
                continue
            counts, _ = np.histogram(
                np.clip(shown.values[members], 0.0, 1.0), edges, weights=shown.weight[members]
            )
            # the axis points downwards
            tops = number - ROW_HEIGHT * counts / max(counts.max(), np.finfo(np.float64).tiny)
            axes.stairs(tops, edges, baseline=number, fill=True, color=colour)
        axes.set_yticks(np.arange(n_labels), names_or_numbers(shown.names, n_labels))
        axes.set(xlim=(0, 1), ylim=(n_labels - 0.7, -1.0), ylabel=shown.name)
        axes.set_xlabel(shown.value_label)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return figure


def reliability_diagram(diagram: ReliabilityDiagram) -> Figure:
    """Draw the share of rows with the right class against the confidence.

    Returns
    -------
    Figure
        Two axes. Above: the diagonal, a line with a dot a filled bin, and 95 % confidence intervals
        (Wilson 1927). Below: a bar a bin, with its number of rows.
    """
    filled = diagram.counts > 0
    with report_style():
        figure = empty_figure(4.4, 4.2)
        above, below = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": (3, 1)})
        above.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle=":")
        above.plot(
            diagram.confidence[filled],
            diagram.share_right[filled],
            "o-",
            color=palette(1)[0],
            markersize=5,
            clip_on=False,
        )
        low, high = _intervals(diagram.counts[filled], diagram.share_right[filled])
        above.vlines(diagram.confidence[filled], low, high, color=palette(1)[0], linewidth=1)
        above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of rows with the right class")
        above.text(0.03, 0.93, f"expected calibration error {diagram.calibration_error:.3f}")
        _draw_counts(below, diagram)
        return figure


def _intervals(counts: IntArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of 95 % confidence intervals of shares."""
    from scipy.stats import binomtest

    intervals = [
        binomtest(round(part * count), int(count)).proportion_ci(method="wilson")
        for count, part in zip(counts.tolist(), share.tolist(), strict=True)
    ]
    return np.array([interval.low for interval in intervals]), np.array(
        [interval.high for interval in intervals]
    )


def _draw_counts(axes: Axes, diagram: ReliabilityDiagram) -> None:
    """Draw the rows of every bin, with their number."""
    bins = len(diagram.counts)
    middles = (np.arange(bins) + 0.5) / bins
    axes.bar(middles, diagram.counts, width=0.9 / bins, color=FAINT)
    for middle, count in zip(middles, diagram.counts, strict=True):
        axes.annotate(
            f"{count:,}",
            (middle, count),
            (0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            color=INK,
        )
    axes.set(xlabel="confidence", ylabel="rows", yticks=[], ylim=(0, 1.3 * diagram.counts.max()))
    axes.spines["left"].set_visible(False)
