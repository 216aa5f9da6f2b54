"""Description of a fitted discrete mixture: verdict, categories and what was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.descending_order import largest_in_place
from bigtensor.models.words.described_model import DescribedMixture
from bigtensor.models.words.description import Facts, Line
from bigtensor.models.words.faults import verdict_notice
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
)
from bigtensor.models.words.report_blocks import Block, Column, Group, ReportParts, Section, Words
from bigtensor.models.words.report_figures import Curve, Curves, Heatmap, Panel, Rule
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.models.words.wording import independence_sentence, sentence_of

MOST_LINES = 60
"""Categories that the picture shows; of more, those that differ most between components."""

MOST_TYPICAL = 4
"""Typical categories of a component that the table names."""

LEAST_GAIN = 0.1
"""Probability by which a typical category exceeds its mean over all components."""


class DescribedDiscreteMixture(DescribedMixture, Protocol):
    """Attributes of a discrete mixture that its description uses."""

    component_probabilities_: dict[str, xr.DataArray]


class DiscreteMixtureDescription(JudgedMixtureDescription[DescribedDiscreteMixture]):
    """Facts and words on a discrete mixture, and the picture of its categories."""

    def outcome(self, model: DescribedDiscreteMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return judged_outcome(diagnostics, initialisation_in_words(diagnostics))

    def facts(self, model: DescribedDiscreteMixture) -> Facts:
        """Return the facts of a mixture with its ridge."""
        return {**super().facts(model), "ridge": model.diagnostics_.get("ridge")}

    def notes(self, diagnostics: Mapping[str, Any]) -> Iterator[str]:
        """Return sentences on what held-out rows have chosen.

        Parameters
        ----------
        diagnostics : mapping
            Diagnostics of a fitted model.
        """
        yield from choices_in_words(diagnostics)

    def report(self, model: DescribedDiscreteMixture, rows: SampledRows | None) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report."""
        diagnostics = model.diagnostics_
        return ReportParts(
            notices=(verdict_notice(diagnostics["verdict"]),),
            method=tuple(method_in_words(model)),
            columns=(typical_categories(model),),
            columns_lead=(
                "Below the number are the categories whose probability in the component is most "
                "above that in all rows, in per cent."
            ),
            sections=(categories_section(model),),
            diagnostics=diagnostic_blocks(diagnostics),
        )


def initialisation_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Return the initialisation that a fit took."""
    if (
        diagnostics.get("initialised", "random") == "random"
        and "random_initialisations" in diagnostics
    ):
        return "random initialisations"
    return "spectral" if "spectral" in diagnostics else "exterior point method"


def choices_in_words(diagnostics: Mapping[str, Any]) -> Iterator[str]:
    """Return sentences on what held-out rows have chosen."""
    if "component_choice" in diagnostics:
        yield (
            f"{diagnostics['n_components']} components are the fewest that explain held-out rows "
            "as well as any number."
        )
    if "merged_components" in diagnostics:
        yield (
            f"{diagnostics['merged_components']} more had the same probabilities as others and "
            "were merged with them."
        )
    if "ridge_choice" in diagnostics:
        yield (
            f"A pseudo-count of {diagnostics['ridge']:g} (ridge) in the initialisation explains "
            "held-out rows best."
        )
    if "no_spectral" in diagnostics:
        yield sentence_of(f"There is no spectral solution: {diagnostics['no_spectral']}")


def method_in_words(model: DescribedDiscreteMixture) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    diagnostics = model.diagnostics_
    yield independence_sentence(tuple(model.views_.features))
    iterations = len(diagnostics["mean_log_likelihood"])
    yield (
        f"Initialisation: {initialisation_in_words(diagnostics)}; then {iterations} EM iterations, "
        f"with {'half a count' if diagnostics['ridge'] else 'no count'} added to every category."
    )
    yield from choices_in_words(diagnostics)


def categories_section(model: DescribedDiscreteMixture) -> Section:
    """Return the picture of the probabilities of all categories."""
    names, table = category_lines(model)
    words = "Probability of every category in every component."
    chosen = largest_differences(table, model.weights_)
    if len(chosen) < len(names):
        words += f" Shown are the {len(chosen)} of {len(names):,} that differ most."
    columns = tuple(str(component) for component in range(table.shape[1]))
    heatmap = Heatmap(
        "Probabilities of categories by component",
        table[chosen],
        tuple(names[line] for line in chosen),
        columns,
        "probability",
        decimals=3,
    )
    return Section(
        "categories", "Categories of the components", (Words(words), heatmap), "Categories"
    )


def typical_categories(model: DescribedDiscreteMixture) -> Column:
    """Return the categories that a component has more often than all rows, as a column."""
    names, table = category_lines(model)
    gain = table - (table @ model.weights_)[:, None]
    texts = [
        ", ".join(
            f"{names[line]}\N{NO-BREAK SPACE}({100 * probability[line]:.0f})"
            for line in np.argsort(-more, kind="stable")[:MOST_TYPICAL]
            if more[line] > LEAST_GAIN
        )
        for more, probability in zip(gain.T, table.T, strict=True)
    ]
    return Column("typical categories", tuple(texts), wide=True)


def category_lines(model: DescribedDiscreteMixture) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names of all categories, and their probabilities (lines, components)."""
    names, tables = list[str](), []
    for view, table in model.component_probabilities_.items():
        names += [f"{view} = {name}" for name in table["category"].to_numpy()]
        tables.append(table.to_numpy())
    return names, np.concatenate(tables)


def largest_differences(
    table: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the lines that differ most between components, in their own order."""
    mean = table @ weights
    spread = ((table - mean[:, None]) ** 2) @ weights
    return largest_in_place(spread, MOST_LINES)


def diagnostic_blocks(diagnostics: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return figures of the choice of the components and of the EM iterations.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of a fitted model.
    """
    blocks: list[Block] = []
    if "component_choice" in diagnostics:
        scores = diagnostics["component_choice"]["held_out_log_likelihood"]
        numbers = [int(k) for k in scores]
        panel = Panel(
            (
                Curve(numbers, list(scores.values()), marker=5.0),
                Rule(diagnostics["n_components"], "chosen"),
            ),
            x_label="components",
            y_label="held-out log-likelihood",
        )
        alternative = "Held-out log-likelihood by the number of components"
        words = (
            "The fewest components that are within a standard error of the best are chosen: "
            "further ones explain nothing that other rows would show."
        )
        blocks.append(Group((Curves(alternative, (panel,)), Words(words))))
    likelihoods = diagnostics["mean_log_likelihood"]
    if len(likelihoods) > 1:
        panel = Panel(
            (Curve(range(1, len(likelihoods) + 1), likelihoods, marker=4.0),),
            x_label="EM iteration",
            y_label="mean log-likelihood",
        )
        blocks.append(Group((Curves("Log-likelihood by EM iteration", (panel,)),)))
    return (Group(tuple(blocks), layout="wide"),) if blocks else ()
