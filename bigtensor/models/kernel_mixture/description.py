"""Description of a fitted kernel mixture: its verdict, likelihoods and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.words.description import Line
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
)
from bigtensor.models.words.report_blocks import ReportParts


class KernelMixtureDescription(JudgedMixtureDescription[DescribedKernelMixture]):
    """Facts and words on a kernel mixture: its verdict, notes and likelihoods."""

    def outcome(self, model: DescribedKernelMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        initialisation = "spectral" if "spectral" in diagnostics else "k-means"
        return judged_outcome(diagnostics, initialisation)

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
