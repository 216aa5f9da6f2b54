"""Description of a fitted Gaussian mixture: verdict, means and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from bigtensor.models.gaussian.component_means import means_section
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.words.described_model import DescribedMixture
from bigtensor.models.words.description import Line
from bigtensor.models.words.faults import verdict_notice
from bigtensor.models.words.label_level import level_of
from bigtensor.models.words.marker_names import marker_column, marker_lead
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
)
from bigtensor.models.words.report_blocks import ReportParts, Section
from bigtensor.models.words.sampled_rows import SampledRows


class DescribedGaussianMixture(DescribedMixture, Protocol):
    """Attributes of a Gaussian mixture that its description uses."""

    @property
    def solution_(self) -> GaussianComponents | OwnCovarianceComponents:
        """Result of the fit."""

    def suggest_population_names(self) -> list[str]:
        """Return a name by markers for every component or population, empty without markers."""


class GaussianMixtureDescription(JudgedMixtureDescription[DescribedGaussianMixture]):
    """Facts and words on a Gaussian mixture, and the picture of its means."""

    def outcome(self, model: DescribedGaussianMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        initialisation = model.diagnostics_["pilot"]["initialisation"]
        return judged_outcome(model.diagnostics_, initialisation, measure_of(model))

    def report(self, model: DescribedGaussianMixture, rows: SampledRows | None) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report."""
        level, suggested = level_of(model), tuple(model.suggest_population_names())
        # names that were accepted stand in the table already
        is_new = any(suggested) and suggested != level.names
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            method=tuple(method_in_words(model)),
            columns=(marker_column(suggested),) if is_new else (),
            columns_lead=marker_lead(level.name) if is_new else "",
            sections=(means_of(model),),
        )


def measure_of(model: DescribedGaussianMixture) -> str:
    """Return the name of the measure that EM iterations raise: see `penalised_mixture`."""
    own = isinstance(model.solution_, OwnCovarianceComponents)
    return "penalised log-likelihood" if own else "log-likelihood"


def method_in_words(model: DescribedGaussianMixture) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    diagnostics = model.diagnostics_
    pilot = diagnostics["pilot"]
    compared = pilot["log_likelihood"]
    best = max(compared, key=compared.__getitem__)
    yield (
        f"The initialisation ({best}) is the best of {len(compared)} in {pilot['rows']:,} rows. "
        f"Mean {measure_of(model)}s after EM iterations were {max(compared.values()):.4f} to "
        f"{min(compared.values()):.4f} nats. {len(diagnostics['mean_log_likelihood'])} EM "
        "iterations over all rows followed."
    )


def means_of(model: DescribedGaussianMixture) -> Section:
    """Return the picture of the means."""
    solution = model.solution_
    return means_section(
        solution.means.T, model.views_.feature_names, model.weights_, solution.mean_variances
    )
