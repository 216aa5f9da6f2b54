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
        if diagnostics["noise_gain"]:
            gains = " and ".join(f"{100 * gain:.2f} %" for gain in diagnostics["noise_gain"])
            yield (
                "On held-out halves of the sample, oblique columns explained the fourth cumulant "
                f"better than orthonormal ones by {gains}; noise makes it positive."
            )


def _method_words(diagnostics: dict[str, Any]) -> str:
    """Return the method and the reason for it."""
    chosen = bool(diagnostics["noise_gain"])
    if diagnostics["method"] == "whitened":
        return "whitened sources" + (", no sign of Gaussian noise" * chosen)
    return "fourth cumulant" + (", because of Gaussian noise" * chosen)
