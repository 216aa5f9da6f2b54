"""Section of the report of sources: their values along the rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.models.words.report_blocks import Group, Section, Words
from bigtensor.models.words.report_figures import Curve, Curves, Panel
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.statistics.base import RowFunction
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.sources.linear_sources import SOURCE

MOST_ROWS = 1_000
"""Rows along which sources are drawn."""

FEWEST_ROWS = 30
"""Consecutive rows below which there is nothing to see."""

MOST_SOURCES = 8
"""Sources that are drawn: the first ones."""


class GivesSources(Protocol):
    """A solution that gives the sources of rows."""

    def sources(self) -> RowFunction:
        """Return the function that gives the sources of every row."""


def signal_sections(solution: GivesSources, rows: SampledRows) -> list[Section]:
    """Return the values of the sources along the first consecutive rows of the sample.

    Parameters
    ----------
    solution : GivesSources
        Result of the fit.
    rows : SampledRows
        Sample of the data.

    Returns
    -------
    list of Section
        Empty for fewer than `FEWEST_ROWS` consecutive rows.
    """
    if rows.samples is None or rows.index is None:
        return []
    breaks = np.flatnonzero(np.diff(rows.index) != 1)
    count = min(int(breaks[0]) + 1 if len(breaks) else len(rows.index), MOST_ROWS)
    if count < FEWEST_ROWS:
        return []
    values = _sources(solution, rows, count)
    shown = min(values.shape[1], MOST_SOURCES)
    places = rows.index[:count]
    panels = tuple(
        Panel(
            (Curve(places, values[:, source], colour=source),),
            y_label=str(source),
            x_label="row" if source == shown - 1 else "",
            x_limits=(float(places[0]), float(places[-1])),
        )
        for source in range(shown)
    )
    sources = values.shape[1]
    which = f"the first {shown} of {sources}" if shown < sources else f"all {sources}"
    words = (
        f"Values of {which} sources in rows {places[0]:,} to {places[-1]:,}. If rows are in the "
        "order of time, these are the signals. The sign and the scale of a source are arbitrary."
    )
    figure = Curves("Sources along the rows", panels)
    return [Section("signals", "Sources", (Words(words), Group((figure,), layout="map")))]


def _sources(solution: GivesSources, rows: SampledRows, count: int) -> NDArray[Any]:
    """Return the sources of the first rows of the sample."""
    assert rows.samples is not None
    block = Block(np.asarray(rows.values)[:count], rows.samples.views.slices, 0, count)
    return outputs_in_memory(solution.sources(), block)[SOURCE]
