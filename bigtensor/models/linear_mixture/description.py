"""Description of a fitted linear mixture: verdict, columns and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bigtensor.models.description import Line
from bigtensor.models.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
    verdict_notice,
)
from bigtensor.models.report_blocks import ReportParts, Section, Words
from bigtensor.models.report_figures import Heatmap

MOST_LINES = 60
"""Features that the picture shows; of more, those that differ most between components."""


class LinearMixtureDescription(JudgedMixtureDescription):
    """Facts and words on a linear mixture, and the picture of its columns."""

    def report(self, model: Any, rows: Any) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report.

        Parameters
        ----------
        model : fitted model
        rows : LabelledRows, optional
        """
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            method=tuple(method_in_words(model)),
            sections=(columns_section(model),),
        )


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    return judged_outcome(found, "found in a pilot sample, refined by Gauss-Newton steps")


def method_in_words(model: Any) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    found = model.diagnostics_
    passes = len(found["gauss_newton"]["objective"])
    yield (
        f"Components were found in {found['pilot']['rows']:,} rows by {found['pilot']['start']}, "
        f"and refined by Gauss-Newton steps in {passes} passes over all rows."
    )
    if found["rows_out_of_reach"]:
        yield f"{found['rows_out_of_reach']:,} rows far from all others were left out of the sums."
    if found["mean_log_likelihood"]:
        yield f"{len(found['mean_log_likelihood'])} EM iterations followed."


def columns_section(model: Any) -> Section:
    """Return the picture of the columns of all views.

    Parameters
    ----------
    model : fitted model
    """
    table = np.concatenate([of.to_numpy() for of in model.components_.values()])
    names = [
        f"{view}: {name}"
        for view, of in model.components_.items()
        for name in of["feature"].to_numpy()
    ]
    centre = table @ model.weights_
    scaled = table - centre[:, None]
    noise = np.concatenate(
        [np.diag(covariance.to_numpy()) for covariance in model.noise_covariance_.values()]
    )
    scaled /= np.sqrt(noise)[:, None]
    spread = np.square(scaled) @ model.weights_
    chosen = np.sort(np.argsort(-spread, kind="stable")[:MOST_LINES])
    words = (
        "Difference of every component from the mean of all rows, in standard deviations of the "
        "noise."
    )
    if len(chosen) < len(names):
        words += f" Shown are the {len(chosen)} of {len(names):,} features that differ most."
    limit = float(np.abs(scaled[chosen]).max()) or 1.0
    heatmap = Heatmap(
        "Columns of the components",
        scaled[chosen],
        tuple(names[line] for line in chosen),
        tuple(str(component) for component in range(table.shape[1])),
        "standard deviations",
        limit,
        diverging=True,
    )
    return Section("columns", "Columns of the components", (Words(words), heatmap), "Columns")
