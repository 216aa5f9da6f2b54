"""Sections of the report of a density: choices, dependence, margins and unusual rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Protocol

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.tensor_train_density.conditional_section import conditional_sections
from bigtensor.models.tensor_train_density.dependence_section import dependence_section
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.report_blocks import Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import DensityPlot, Scatter
from bigtensor.models.words.sampled_rows import SampledRows

DRAWS = 5_000
"""Rows drawn from the density for figures."""

MOST_PLOTS = 12
"""Variables, and pairs of them, that are drawn."""

UNUSUAL = 10
"""Rows in the table of unusual rows."""

_GRID = 300


class DescribedDensity(DescribedModel, Protocol):
    """Attributes of a tensor-train density that its description uses."""

    rank_: int
    coordinates_: str
    order_: list[str]

    @property
    def solution_(self) -> TrainDensity | EmbeddedDensity:
        """Result of the fit."""


def sections_of(model: DescribedDensity, rows: SampledRows | None) -> tuple[Section, ...]:
    """Return the sections of a fitted density.

    Parameters
    ----------
    model : fitted model
        Fitted `TensorTrainDensity`.
    rows : SampledRows, optional
        Of the data.
    """
    density = model.solution_
    drawn = density.draw(DRAWS, np.random.default_rng(0))
    has_pairs = len(density.features) > 1
    sections: list[Section] = []
    values = None if rows is None else np.asarray(rows.values, np.float64)
    categories = getattr(model, "categories_", {})
    if rows is not None and values is not None:
        sections.append(_unusual_section(density, rows, values, categories))
    if has_pairs:
        sections.append(dependence_section(density, drawn, categorical=bool(categories)))
    if isinstance(density, TrainDensity) and density.answers_queries:
        if len(density.coordinates.measured):
            sections.append(_margins_section(density, values))
        sections += conditional_sections(density, drawn, values)
    if values is not None and has_pairs:
        sections += _pairs_sections(density, drawn, values)
    return tuple(sections)


def choice_block(model: DescribedDensity) -> Group:
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
        f"The best of {len(tried)} candidates, by the mean log-density of held-out rows in nats. "
        "Candidates that could not catch up any more were given up before their last step."
    )
    if model.diagnostics_.get("gaussian_share"):
        words += " The rank was chosen with the Gaussian components beside the trains."
    return Group((Words(words), Table(header, cells)), "Choice by validation")


def _margins_section(density: TrainDensity, values: FloatArray | None) -> Section:
    """Return the density of single measured variables over histograms of the data."""
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
    measured = len(density.coordinates.measured)
    if len(plots) < measured:
        words += f" The first {len(plots)} of {measured} variables are shown."
    return Section(
        "margins", "Single variables", (Words(words), Group(tuple(plots), layout="wide"))
    )


def _pairs_sections(
    density: TrainDensity | EmbeddedDensity, drawn: FloatArray, values: FloatArray
) -> list[Section]:
    """Return measured neighbours along the chain in the data and in draws."""
    order = [int(j) for j in density.order]
    if isinstance(density, TrainDensity):
        # points of two categories cover each other
        measured = {int(j) for j in density.coordinates.measured}
        order = [j for j in order if j in measured]
    plots = []
    for left, right in islice(pairwise(order), MOST_PLOTS):
        # a draw of a symbol that the data do not have is not a number
        data, made = (
            rows[~np.isnan(rows[:, [left, right]]).any(axis=1)] for rows in (values, drawn)
        )
        n = min(len(data), len(made), DRAWS)
        if not n:
            continue
        both = np.concatenate([data[:n], made[:n]])
        label = np.repeat([0, 1], n).astype(np.int64)
        names = density.features[left], density.features[right]
        plots.append(
            Scatter(
                f"{names[0]} and {names[1]}",
                both[:, left],
                both[:, right],
                label,
                2,
                names,
                ("rows of the data", "rows drawn from the model"),
                legend=True,
            )
        )
    if not plots:
        return []
    words = "If the model fits, rows drawn from it lie where rows of the data lie."
    blocks = (Words(words), Group(tuple(plots), layout="wide"))
    return [Section("pairs", "Data beside rows drawn from the model", blocks, "Data and draws")]


def _unusual_section(
    density: TrainDensity | EmbeddedDensity,
    rows: SampledRows,
    values: FloatArray,
    categories: Mapping[str, Sequence[str]],
) -> Section:
    """Return the rows of the sample with the smallest density, by their names or numbers."""
    scores = density.log_densities_of(values)
    worst = np.argsort(np.where(np.isnan(scores), np.inf, scores), kind="stable")[:UNUSUAL]
    cells = tuple(
        (
            Cell(rows.row_name(int(place))),
            Cell(f"{scores[place]:.1f}"),
            *_unusual_cells(density, values[place], categories),
        )
        for place in worst
    )
    header = ("row", "log-density", "most unusual value", "probability")
    number = "" if rows.names is not None else " Rows are numbered from 0."
    words = (
        "Rows with the smallest density, the most unusual first. Half of all rows have a "
        f"log-density above {np.nanmedian(scores):.1f}. The probability is that of a value as "
        f"unusual as this one, given the other values of the row.{number}"
    )
    return Section("unusual", "Unusual rows", (Words(words), Table(header, cells)))


def _unusual_cells(
    density: TrainDensity | EmbeddedDensity,
    row: FloatArray,
    categories: Mapping[str, Sequence[str]],
) -> tuple[Cell, ...]:
    """Return the most unusual value of one row, and its probability."""
    if isinstance(density, EmbeddedDensity) or not density.answers_queries:
        return Cell("-", wide=True), Cell("-")
    surprise = density.surprises_of(row[None])[0]
    j = int(np.nanargmax(surprise))
    feature = density.features[j]
    names = categories.get(feature)
    value = names[int(row[j])] if names else f"{row[j]:.4g}"
    return Cell(f"{feature} = {value}", wide=True), Cell(f"{np.exp(-surprise[j]):.2g}")
