"""The figures of the page, as images that hold their own data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bigtensor.report import diagnostic_figures, figures, probability_figures
from bigtensor.report.annotation import reliability
from bigtensor.report.dendrogram import merge_tree
from bigtensor.report.findings import Findings
from bigtensor.report.pairs import choose_pairs
from bigtensor.report.rows import ReportRows
from bigtensor.report.style import data_uri

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_DRAWING = 400
"""Densities of all features together up to which they are drawings. More are smaller bitmaps."""


@dataclass(frozen=True)
class Picture:
    """A figure in the page.

    Attributes
    ----------
    source : str
        A data URI.
    alternative : str
        What the figure shows, for readers who do not see it.
    """

    source: str
    alternative: str


def pictures(findings: Findings) -> dict[str, Any]:
    """Draw the figures of the page.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict
        Figures by the name that the template has for them, None for those that do not apply.
    """
    rows, shown, levels = findings.rows, findings.shown, findings.levels
    means = np.stack([profile.mean for profile in shown.profiles])
    shares = None if rows is None else rows.shares(shown.count)
    return {
        "weight_picture": _picture(
            figures.weight_bars(shown.weights, shares, shown.name),
            f"Mixing weights of all {shown.name}s",
        ),
        "tree_picture": None
        if levels.of_component is None
        else _picture(
            merge_tree(
                findings.model.merge_tree_,
                levels.of_component,
                levels.component_means,
                shown.features,
            ),
            "How components were merged into populations",
        ),
        "mean_picture": _picture(
            figures.mean_heatmap(shown.standardised, means, shown.features, shown.weights),
            f"Mean of every feature in every {shown.name}",
        ),
        "cuts_picture": _cuts_picture(findings),
        **_probability_pictures(findings),
        "density_pictures": _density_pictures(findings),
        "pair_pictures": [] if rows is None else _pair_pictures(findings, rows),
        **_diagnostic_pictures(findings),
    }


def _cuts_picture(findings: Findings) -> Picture | None:
    """Draw how well every number of populations is reproduced, where it is known."""
    found = findings.model.diagnostics_.get("population_count")
    if findings.levels.of_component is None or not (found and found["counts"]):
        return None
    return _picture(
        diagnostic_figures.agreement_of_cuts(found, findings.shown.count),
        "Agreement of two halves of the rows by number of populations",
    )


def _probability_pictures(findings: Findings) -> dict[str, Picture | None]:
    """Draw how large posterior probabilities are, and how often they are right."""
    rows, annotation, shown = findings.rows, findings.annotation, findings.shown
    return {
        "certainty_picture": None
        if rows is None
        else _picture(
            probability_figures.certainty_histograms(
                rows.label, rows.certainty, rows.weight, shown.count, shown.name
            ),
            f"Largest posterior probability of the rows of every {shown.name}",
        ),
        "reliability_picture": None
        if annotation is None
        else _picture(
            probability_figures.reliability_diagram(reliability(annotation)),
            "Share of rows with the right class by confidence",
        ),
    }


def _diagnostic_pictures(findings: Findings) -> dict[str, Picture | None]:
    """Draw the figures of how the fit went."""
    found = findings.model.diagnostics_
    spectral, counted = found.get("spectral"), found.get("component_count")
    names = [", ".join(members) for members in found.get("groups", [])]
    pictures: dict[str, Picture | None] = dict.fromkeys(
        ("spectrum_picture", "scree_picture", "likelihood_picture")
    )
    if spectral:
        k = len(findings.levels.component_weights)
        pictures["spectrum_picture"] = _picture(
            diagnostic_figures.spectrum(spectral["singular_values"], k, names),
            "Singular values of the pair moments of the groups of views",
        )
    if counted:
        null = counted["null"]
        if len(names) != len(null):
            names = [f"group {number}" for number in range(1, len(null) + 1)]
        pictures["scree_picture"] = _picture(
            diagnostic_figures.scree(counted["singular_values"], null, counted["ratio"], names),
            "Singular values that components were counted by, and what they have to exceed",
        )
    if found["mean_log_likelihood"]:
        pictures["likelihood_picture"] = _picture(
            diagnostic_figures.likelihood_by_pass(found["mean_log_likelihood"]),
            "Mean log-likelihood by posterior pass",
        )
    return pictures


def _density_pictures(findings: Findings) -> list[Picture]:
    """Draw the densities of every feature."""
    shown, rows = findings.shown, findings.rows
    drawn = len(shown.profiles) * shown.count <= LARGEST_DRAWING
    return [
        _picture(
            figures.feature_densities(
                profile,
                shown.weights,
                None if rows is None else rows.values[:, column],
                None if rows is None else rows.weight,
            ),
            f"Densities of {profile.feature} by {shown.name}",
            "svg" if drawn else "png",
        )
        for column, profile in enumerate(shown.profiles)
    ]


def _pair_pictures(findings: Findings, rows: ReportRows) -> list[Picture]:
    """Draw the rows in the pairs of features that tell most."""
    shown = findings.shown
    pairs = choose_pairs(shown.profiles, shown.weights)
    names = shown.features
    return [
        _picture(
            figures.population_scatter(
                rows.values[:, i],
                rows.values[:, j],
                rows.label,
                shown.count,
                (names[i], names[j]),
            ),
            f"{shown.name.capitalize()}s in {names[i]} and {names[j]}",
            "png",
        )
        for i, j in pairs
    ]


def _picture(figure: Figure, alternative: str, kind: Literal["svg", "png"] = "svg") -> Picture:
    """Put a figure into the page."""
    return Picture(data_uri(figure, kind), alternative)
