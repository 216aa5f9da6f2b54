"""Description of a fitted linear mixture: verdict, columns and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from bigtensor.models.gaussian.component_means import means_section
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.words.described_model import DescribedMixture
from bigtensor.models.words.description import Line
from bigtensor.models.words.faults import verdict_notice
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
)
from bigtensor.models.words.report_blocks import ReportParts, Section
from bigtensor.models.words.sampled_rows import SampledRows

_WHERE = {
    "sample": "in a pilot sample",
    "compressed": "in the compressed moment tensor of all rows",
    "explicit": "in the moment tensor of all rows",
    "passes": "in passes over all rows",
    "power": "in passes over all rows",
}


class DescribedLinearMixture(DescribedMixture, Protocol):
    """Attributes of a linear mixture that its description uses."""

    @property
    def solution_(self) -> GaussianComponents:
        """Result of the fit."""


class LinearMixtureDescription(JudgedMixtureDescription[DescribedLinearMixture]):
    """Facts and words on a linear mixture, and the picture of its columns."""

    def outcome(self, model: DescribedLinearMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return judged_outcome(diagnostics, f"found {_WHERE[diagnostics['method']]}")

    def report(self, model: DescribedLinearMixture, rows: SampledRows | None) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report."""
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            method=tuple(method_in_words(model)),
            sections=(columns_of(model),),
        )


def method_in_words(model: DescribedLinearMixture) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    diagnostics = model.diagnostics_
    steps = len(diagnostics["gauss_newton"]["movement"])
    where, initialisation = _WHERE[diagnostics["method"]], diagnostics["pilot"]["initialisation"]
    yield f"Components were found {where} by {initialisation}." + (
        f" {steps} Gauss-Newton step{'s' * (steps > 1)} over all rows followed." if steps else ""
    )
    if diagnostics["mean_log_likelihood"]:
        yield f"{len(diagnostics['mean_log_likelihood'])} EM iterations followed."


def columns_of(model: DescribedLinearMixture) -> Section:
    """Return the picture of the columns of all views."""
    fitted = model.solution_
    names = [f"{view}: {name}" for view, members in fitted.views for name in members]
    return means_section(fitted.means.T, names, fitted.weights, np.diag(fitted.covariance))
