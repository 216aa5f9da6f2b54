"""Description of a fitted Gaussian mixture: verdict, means and how they were found."""

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


class GaussianMixtureDescription(JudgedMixtureDescription):
    """Facts and words on a Gaussian mixture, and the picture of its means."""

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
            sections=(means_section(model),),
        )


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    return judged_outcome(model.diagnostics_, model.diagnostics_["pilot"]["start"])


def method_in_words(model: Any) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    found = model.diagnostics_
    pilot = found["pilot"]
    compared = ", ".join(f"{name} {value:.4f}" for name, value in pilot["log_likelihood"].items())
    yield (
        f"The start is the best of {pilot['rows']:,} rows, by mean log-likelihood after EM "
        f"iterations in nats: {compared}. {len(found['mean_log_likelihood'])} EM iterations over "
        "all rows followed."
    )


def means_section(model: Any) -> Section:
    """Return the picture of the means.

    Parameters
    ----------
    model : fitted model
    """
    table, names = model.means_.T, model.views_.feature_names
    covariance = np.asarray(model.covariances_)
    noise = np.diag(covariance) if covariance.ndim == 2 else np.full(len(table), covariance)
    scaled = (table - (table @ model.weights_)[:, None]) / np.sqrt(noise)[:, None]
    spread = np.square(scaled) @ model.weights_
    chosen = np.sort(np.argsort(-spread, kind="stable")[:MOST_LINES])
    words = (
        "Difference of every mean from the mean of all rows, in standard deviations of the noise."
    )
    if len(chosen) < len(names):
        words += f" Shown are the {len(chosen)} of {len(names):,} features that differ most."
    heatmap = Heatmap(
        "Means of the components",
        scaled[chosen],
        tuple(names[line] for line in chosen),
        tuple(str(component) for component in range(table.shape[1])),
        "standard deviations",
        float(np.abs(scaled[chosen]).max()) or 1.0,
        diverging=True,
    )
    return Section("means", "Means of the components", (Words(words), heatmap), "Means")
