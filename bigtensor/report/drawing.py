"""Figures of a page, drawn as images that hold their own data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bigtensor.models.words.report_figures import (
    ArcDiagram,
    Bars,
    ConditionalPlot,
    Curves,
    DensityPlot,
    Figure,
    Heatmap,
    Histograms,
    ReliabilityDiagram,
    Scatter,
    StateStrip,
    TreePlot,
)
from bigtensor.models.words.sample_figures import GroupedShares, SampleMap, StackedBars
from bigtensor.report import curves, dendrogram, figures, probability_figures
from bigtensor.report.drawings import arc_diagram, conditional_plot, state_strip
from bigtensor.report.samples import grouped_shares, sample_map, stacked_bars
from bigtensor.report.style import data_uri

if TYPE_CHECKING:
    import matplotlib.figure

_DRAWN_BY: dict[type, Callable[[Any], matplotlib.figure.Figure]] = {
    Bars: figures.bars,
    Heatmap: figures.heatmap,
    ArcDiagram: arc_diagram.arc_diagram,
    DensityPlot: figures.feature_densities,
    Scatter: figures.label_scatter,
    ConditionalPlot: conditional_plot.conditional_plot,
    TreePlot: dendrogram.merge_tree,
    Curves: curves.curves,
    Histograms: probability_figures.label_histograms,
    ReliabilityDiagram: probability_figures.reliability_diagram,
    StateStrip: state_strip.state_strip,
    StackedBars: stacked_bars.stacked_bars,
    SampleMap: sample_map.sample_map,
    GroupedShares: grouped_shares.grouped_shares,
}


def draw(figure: Figure) -> matplotlib.figure.Figure:
    """Draw a figure.

    Parameters
    ----------
    figure : Figure
        Of `bigtensor.models.words.report_figures`.

    Returns
    -------
    matplotlib.figure.Figure
        One that pyplot knows nothing of.
    """
    return _DRAWN_BY[type(figure)](figure)


def is_broad(figure: Figure) -> bool:
    """Return True if letters of a figure are too small where it is as narrow as a telephone."""
    return isinstance(
        figure, Heatmap | TreePlot | StateStrip | StackedBars | SampleMap | GroupedShares
    )


def picture(figure: Figure) -> str:
    """Return a figure as the address of an image that holds its own data."""
    # of many points or curves a bitmap takes fewer bytes than a drawing
    bitmap = isinstance(figure, Scatter | ConditionalPlot) or (
        isinstance(figure, DensityPlot) and figure.bitmap
    )
    return data_uri(draw(figure), "png" if bitmap else "svg")
