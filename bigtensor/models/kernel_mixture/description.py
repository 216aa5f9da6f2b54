"""Description of a fitted kernel mixture: its verdict, likelihoods and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.kernel_mixture.choices.alternative_initialisations import (
    began_with_moments,
)
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.words.description import Facts, Line
from bigtensor.models.words.mixture_description import (
    JudgedMixtureDescription,
    judged_outcome,
)
from bigtensor.models.words.report_blocks import ReportParts


class KernelMixtureDescription(JudgedMixtureDescription[DescribedKernelMixture]):
    """Facts and words on a kernel mixture: its verdict, notes and likelihoods."""

    def facts(self, model: DescribedKernelMixture) -> Facts:
        """Return the facts of a mixture, with the populations that were divided."""
        refinements = model.diagnostics_.get("refinements", [])
        return {**super().facts(model), "refinements": refinements}

    def lines(self, facts: Mapping[str, Any]) -> Iterator[Line]:
        """Return how the fit ended, and which populations were divided."""
        yield from super().lines(facts)
        present = {*(facts["names"] or ())}
        for one in facts["refinements"]:
            # a later merge or cut undoes a division
            if not present.issuperset(one["parts"]):
                continue
            side = "above" if one["side"] == "upper" else "below"
            yield (
                "refined",
                f"population {one['population']}: {one['parts'][1]} has {one['feature']} {side} "
                f"{one['threshold']:.3g}",
            )

    def outcome(self, model: DescribedKernelMixture) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        initialisation = "spectral" if began_with_moments(diagnostics) else "k-means"
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
