"""Sections of the report of sources: the picture of their columns, the table of their kurtosis."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.models.report_blocks import Cell, Section, Table, Words
from bigtensor.models.report_figures import Heatmap

MOST_LINES = 60
"""Features, and sources, that a picture shows."""


def columns_section(model: Any) -> Section:
    """Return the picture of the mixing columns.

    Parameters
    ----------
    model : fitted model
    """
    table = model._fitted.correlations[:, :MOST_LINES]
    names = model.views_.feature_names
    chosen = np.sort(np.argsort(-np.abs(table).max(axis=1), kind="stable")[:MOST_LINES])
    words = "Correlation of every feature with every source."
    if len(chosen) < len(names):
        words += f" Shown are {len(chosen)} of {len(names):,} features, with the largest values."
    if table.shape[1] < len(model.kurtosis_):
        words += f" Shown are the first {table.shape[1]} of {len(model.kurtosis_):,} sources."
    heatmap = Heatmap(
        "Correlation of features and sources",
        table[chosen],
        tuple(names[line] for line in chosen),
        tuple(str(source) for source in range(table.shape[1])),
        "correlation",
        1.0,
        diverging=True,
    )
    return Section("mixing", "Mixing of the sources", (Words(words), heatmap), "Mixing")


def kurtosis_section(model: Any) -> Section:
    """Return the table of the kurtosis of every source, and of the variance that it explains.

    Parameters
    ----------
    model : fitted model
    """
    shares = np.square(model._fitted.correlations).mean(axis=0)
    cells = tuple(
        (Cell(str(source)), Cell(f"{kurtosis:.3f}"), Cell(f"{100 * share:.1f} %"))
        for source, (kurtosis, share) in enumerate(zip(model.kurtosis_, shares, strict=True))
    )
    words = (
        "Excess kurtosis is 0 for a Gaussian source, positive for one with heavier tails and "
        "negative for one with lighter tails. The variance is the share that a source explains of "
        "the standardised features."
    )
    table = Table(("source", "kurtosis", "variance"), cells)
    return Section("kurtosis", "Sources", (Words(words), table), "Sources")
