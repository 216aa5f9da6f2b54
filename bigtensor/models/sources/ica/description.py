"""Description of fitted sources: how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bigtensor.models.sources.description import (
    DescribedSources,
    SourceDescription,
    largest_kurtosis,
)
from bigtensor.models.words.description import Line
from bigtensor.models.words.faults import verdict_words


class ICADescription(SourceDescription[DescribedSources]):
    """Facts and words on sources, whitened or of the fourth cumulant."""

    def outcome(self, model: DescribedSources) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return [
            ("method", _method_words(diagnostics)),
            ("kurtosis", largest_kurtosis(model)),
            ("verdict", verdict_words(diagnostics["verdict"])),
        ]

    def method_in_words(self, model: DescribedSources) -> Iterator[str]:
        """Return sentences on how a model was fitted."""
        diagnostics = model.diagnostics_
        yield f"The sources were found first in {diagnostics['pilot_rows']:,} rows."
        if diagnostics["method"] == "whitened":
            passes = len(diagnostics["turns"])
            yield (
                f"Whitened rows were rotated by {passes} fixed-point iteration{'s' * (passes > 1)} "
                "over all rows, with the contrast log cosh."
            )
        else:
            passes = len(diagnostics["gauss_newton"]["objective"])
            yield (
                "Terms of the fourth cumulant, in which Gaussian noise has no part, were refined "
                f"by Gauss-Newton steps in {passes} passes over all rows."
            )
        evidence = diagnostics["dependence"]
        if "cumulant" in evidence:
            ratio = evidence["whitened"] / evidence["cumulant"]
            yield (
                "In the sample, pairs of whitened sources were "
                f"{ratio:.2g} times as far from independent ones as pairs of sources of the "
                "fourth cumulant; Gaussian noise does not count."
            )


def _method_words(diagnostics: dict[str, Any]) -> str:
    """Return the method and the reason for it."""
    chosen = bool(diagnostics["dependence"])
    if diagnostics["method"] == "whitened":
        return "whitened sources" + (", no sign of Gaussian noise" * chosen)
    return "fourth cumulant" + (", because of Gaussian noise" * chosen)
