"""Description of fitted sources: verdict, mixing columns, kurtosis and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bigtensor.models.description import Line
from bigtensor.models.ica.verdict import verdict_words
from bigtensor.models.report_blocks import Cell, Notice, ReportParts, Section, Table, Words
from bigtensor.models.report_figures import Heatmap
from bigtensor.models.transform import TransformDescription

MOST_LINES = 60
"""Features, and sources, that a picture shows."""


class ICADescription(TransformDescription):
    """Facts and words on fitted sources, and the picture of their columns."""

    def facts(self, model: Any) -> dict[str, Any]:
        """Return facts as JSON holds them.

        Parameters
        ----------
        model : fitted or prepared model
        """
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["kurtosis"] = model.kurtosis_.tolist()
            facts["verdict"] = model.diagnostics_["verdict"]
        return facts

    def report(self, model: Any, rows: Any) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report.

        Parameters
        ----------
        model : fitted model
        rows : SampledRows, optional
        """
        verdict = model.diagnostics_["verdict"]
        notice = Notice("good" if verdict["good"] else "warning", verdict_words(verdict))
        return ReportParts(
            notices=(notice,),
            method=tuple(method_in_words(model)),
            sections=(columns_section(model), kurtosis_section(model)),
        )


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    largest = ", ".join(f"{value:.2f}" for value in model.kurtosis_[:6])
    more = ", ..." if len(model.kurtosis_) > 6 else ""
    return [
        ("method", _method_words(found)),
        ("kurtosis", largest + more),
        ("verdict", verdict_words(found["verdict"])),
    ]


def method_in_words(model: Any) -> Iterator[str]:
    """Return sentences on how a model was fitted.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    yield f"The sources were found first in {found['pilot_rows']:,} rows."
    if found["method"] == "whitened":
        passes = len(found["turns"])
        yield (
            f"Whitened rows were rotated by {passes} fixed-point iteration{'s' * (passes > 1)} "
            "over all rows, with the contrast log cosh."
        )
    else:
        passes = len(found["gauss_newton"]["objective"])
        yield (
            "Terms of the fourth cumulant, in which Gaussian noise has no part, were refined by "
            f"Gauss-Newton steps in {passes} passes over all rows."
        )
    if found["noise_gain"]:
        gains = " and ".join(f"{100 * gain:.2f} %" for gain in found["noise_gain"])
        yield (
            "On held-out halves of the sample, oblique columns explained the fourth cumulant "
            f"better than orthonormal ones by {gains}; noise makes it positive."
        )
    if found["rows_out_of_reach"]:
        yield f"{found['rows_out_of_reach']:,} rows far from all others were left out of the sums."


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


def _method_words(found: dict[str, Any]) -> str:
    """Return the method and the reason for it."""
    chosen = bool(found["noise_gain"])
    if found["method"] == "whitened":
        return "whitened sources" + (", no sign of Gaussian noise" * chosen)
    return "fourth cumulant" + (", because of Gaussian noise" * chosen)
