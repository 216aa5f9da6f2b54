"""Description of a fitted kernel mixture: its verdict, likelihoods and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.words.description import Facts, Line
from bigtensor.models.words.label_level import level_of
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
    merged_by,
    verdict_in_words,
    weight_lines,
)
from bigtensor.models.words.report_blocks import ReportParts


class KernelMixtureDescription(JudgedMixtureDescription[DescribedKernelMixture]):
    """Facts and words on a kernel mixture: its verdict, notes and likelihoods."""

    def outcome(self, model: DescribedKernelMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        initialisation = "spectral" if "spectral" in diagnostics else "k-means"
        return judged_outcome(diagnostics, initialisation) + _populations_in_words(model)

    def lines(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Return weights, verdict and likelihoods in words."""
        yield from weight_lines(facts)
        if facts["verdict"] is not None:
            yield f"verdict    {verdict_in_words(facts['verdict'])}"
        if facts["mean_log_likelihood"]:
            values = ", ".join(f"{value:.4f}" for value in facts["mean_log_likelihood"])
            yield f"mean log-likelihood before each posterior pass, nats a row: {values}"

    def fit_facts(self, model: DescribedKernelMixture) -> Facts:
        """Return the facts of a mixture with its verdict and its notes."""
        notes = {"notes": model.diagnostics_["notes"]}
        return {**super().fit_facts(model), **notes}

    def notes(self, diagnostics: Mapping[str, Any]) -> Iterator[str]:
        """Return the notes that the fit took.

        Parameters
        ----------
        diagnostics : mapping
            Diagnostics of a fitted model.
        """
        for note in diagnostics["notes"]:
            yield note + "."

    def report(self, model: DescribedKernelMixture, rows: Any) -> ReportParts:
        """Return notices, sentences and sections of the report."""
        # needed by reports alone
        from bigtensor.models.kernel_mixture.report.parts import report_parts

        return report_parts(model, rows)


def _populations_in_words(model: DescribedKernelMixture) -> list[Line]:
    """Return how many populations there are, and how they were merged."""
    level = level_of(model)
    if level.of_component is None:
        return []
    merged = f"{level.count}, merged from {len(level.of_component)} components"
    return [("populations", f"{merged} by {merged_by(model)}")]
