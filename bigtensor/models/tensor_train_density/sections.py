"""Sections of the report of a density: choices, dependence, margins and unusual rows."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bigtensor.models.report_blocks import Cell, Group, Section, Table, Words
from bigtensor.models.report_figures import DensityPlot, Heatmap, Scatter
from bigtensor.models.sampled_rows import SampledRows
from bigtensor.models.tensor_train_density.solution import TrainDensity

Floats = NDArray[np.float64]

DRAWS = 5_000
"""Rows drawn from the density for figures."""

MOST_VARIABLES = 40
"""Variables of the picture of dependence."""

MOST_PLOTS = 12
"""Variables, and pairs of them, that are drawn."""

UNUSUAL = 10
"""Rows in the table of unusual rows."""

_GRID = 300


def sections_of(model: Any, rows: SampledRows | None) -> tuple[Section, ...]:
    """Return the sections of a fitted density.

    Parameters
    ----------
    model : fitted model
    rows : SampledRows, optional
        Of the data.
    """
    density: TrainDensity = model._fitted
    drawn = density.draw(DRAWS, np.random.default_rng(0))
    sections = [_choice_section(model), _dependence_section(density, drawn)]
    values = None if rows is None else np.asarray(rows.values, np.float64)
    if density.answers_queries:
        sections.append(_margins_section(density, values))
    if values is not None:
        sections.append(_pairs_section(density, drawn, values))
        sections.append(_unusual_section(density, values))
    return tuple(sections)


def _choice_section(model: Any) -> Section:
    """Return the table of the candidates of validation."""
    tried = sorted(model.diagnostics_["tried"], key=lambda one: -one["log_density"])
    cells = tuple(
        (
            Cell(one["system"]),
            Cell(f"{one['shrinkage']:g}"),
            Cell(", ".join(f"{width:g}" for width in one["widths"])),
            Cell(str(one["rank"])),
            Cell(str(one["steps"])),
            Cell(f"{one['log_density']:.4g}"),
        )
        for one in tried[:MOST_PLOTS]
    )
    header = ("coordinates", "shrinkage", "widths of bumps", "rank", "steps", "log-density")
    words = (
        f"The best of {len(tried)} candidates, by the mean log-density of held-out rows in nats."
    )
    return Section("choice", "Choice by validation", (Words(words), Table(header, cells)), "Choice")


def _dependence_section(density: TrainDensity, drawn: Floats) -> Section:
    """Return the rank correlations of variables, in the order of the chain."""
    order = density.order[:MOST_VARIABLES]
    ranks = np.stack([rankdata(column) for column in drawn[:, order].T])
    # a constant variable has no correlation
    varies = ranks.std(axis=1) > 0
    correlation = np.zeros((len(order), len(order)))
    correlation[np.ix_(varies, varies)] = np.atleast_2d(np.corrcoef(ranks[varies]))
    names = tuple(density.features[j] for j in order)
    words = (
        "Rank correlations of draws from the density. Variables are in the order of the latent "
        "chain, which puts dependent ones beside each other; it is arbitrary where coordinates are "
        "rotated."
    )
    heatmap = Heatmap(
        "Rank correlation of the variables",
        correlation,
        names,
        names,
        "rank correlation",
        1.0,
        diverging=True,
    )
    return Section("dependence", "Dependence of the variables", (Words(words), heatmap))


def _margins_section(density: TrainDensity, values: Floats | None) -> Section:
    """Return the density of single variables over histograms of the data."""
    plots = []
    for j in density.coordinates.measured[:MOST_PLOTS]:
        name = density.features[j]
        column = None if values is None else values[:, j][~np.isnan(values[:, j])]
        others = {i: None for i in range(len(density.features)) if i != j}
        one = density.without(others) if others else density
        shown = one.draw(DRAWS, np.random.default_rng(0))[:, 0]
        low, high = np.quantile(shown, [0.001, 0.999])
        points = np.linspace(low, high, _GRID)
        heights = np.exp(one.log_densities_of(points[:, None]))
        plots.append(
            DensityPlot(
                f"Density of {name}", name, points, heights[:, None], np.ones(1), column, None
            )
        )
    words = (
        f"Density of every variable alone{', over a histogram of the data' * (values is not None)}."
    )
    return Section(
        "margins", "Single variables", (Words(words), Group(tuple(plots), layout="wide"))
    )


def _pairs_section(density: TrainDensity, drawn: Floats, values: Floats) -> Section:
    """Return neighbours along the chain in the data and in draws."""
    order = density.order
    plots = []
    for left, right in islice(pairwise(order), MOST_PLOTS):
        known = values[~np.isnan(values[:, [left, right]]).any(axis=1)]
        n = min(len(known), DRAWS)
        both = np.concatenate([known[:n], drawn[:n]])
        label = np.repeat([0, 1], n).astype(np.int64)
        names = density.features[left], density.features[right]
        plots.append(
            Scatter(f"{names[0]} and {names[1]}", both[:, left], both[:, right], label, 2, names)
        )
    words = "Neighbours along the chain: rows of the data (0) and draws from the density (1)."
    return Section("pairs", "Data and draws", (Words(words), Group(tuple(plots), layout="wide")))


def _unusual_section(density: TrainDensity, values: Floats) -> Section:
    """Return the rows of the sample with the smallest density."""
    scores = density.log_densities_of(values)
    worst = np.argsort(np.where(np.isnan(scores), np.inf, scores), kind="stable")[:UNUSUAL]
    cells = tuple(_unusual_cells(density, values[row], scores[row]) for row in worst)
    header = ("log-density", "most unusual entry", "value", "given the others")
    words = (
        f"Rows of the sample with the smallest density. The mean log-density is "
        f"{np.nanmean(scores):.4g} nats."
    )
    return Section("unusual", "Unusual rows", (Words(words), Table(header, cells)))


def _unusual_cells(density: TrainDensity, row: Floats, score: float) -> tuple[Cell, ...]:
    """Return the line of one row."""
    if not density.answers_queries:
        return Cell(f"{score:.4g}"), Cell("-"), Cell("-"), Cell("-")
    surprise = density.surprises_of(row[None])[0]
    j = int(np.nanargmax(surprise))
    probability = f"probability {np.exp(-surprise[j]):.2g}"
    return Cell(f"{score:.4g}"), Cell(density.features[j]), Cell(f"{row[j]:.4g}"), Cell(probability)
