"""Description of fitted sparse sources: how they were found, and how many make up a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from bigtensor.array_types import FloatArray
from bigtensor.models.sources.description import (
    DescribedSources,
    SourceDescription,
    largest_kurtosis,
)
from bigtensor.models.words.description import Line
from bigtensor.models.words.faults import verdict_words


class DescribedSparseSources(DescribedSources, Protocol):
    """Attributes of a model of sparse sources that its description uses."""

    activity_: FloatArray


class SparseDescription(SourceDescription[DescribedSparseSources]):
    """Facts and words on sparse sources."""

    def outcome(self, model: DescribedSparseSources) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return [
            ("active", f"{diagnostics['active']:.1f} sources in a typical row"),
            ("kurtosis", largest_kurtosis(model)),
            ("verdict", verdict_words(diagnostics["verdict"])),
        ]

    def facts(self, model: DescribedSparseSources) -> dict[str, Any]:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["activity"] = model.activity_.tolist()
        return facts

    def method_in_words(self, model: DescribedSparseSources) -> Iterator[str]:
        """Return sentences on how a model was fitted."""
        diagnostics = model.diagnostics_
        yield (
            "The sources were found first as terms of the fourth cumulant of "
            f"{diagnostics['pilot_rows']:,} rows."
        )
        passes = len(diagnostics.get("turns", ()))
        if passes:
            yield (
                f"In {passes} pass{'es' * (passes > 1)} all rows were encoded, few sources for "
                "each, and the columns followed by least squares."
            )
        else:
            steps = len(diagnostics["gauss_newton"]["objective"])
            yield f"They were refined by Gauss-Newton steps in {steps} passes over all rows."
        yield (
            f"In a typical row {diagnostics['active']:.1f} sources are active. The noise of a "
            f"feature is {diagnostics['noise']:.3f} of its standard deviation."
        )
