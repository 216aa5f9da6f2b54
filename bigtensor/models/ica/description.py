"""Description of fitted sources: verdict, mixing columns, kurtosis and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bigtensor.models.description import Line
from bigtensor.models.independent_sources.faults import verdict_words
from bigtensor.models.independent_sources.report_sections import columns_section, kurtosis_section
from bigtensor.models.report_blocks import Notice, ReportParts
from bigtensor.models.transform import TransformDescription


class ICADescription(TransformDescription):
    """Facts and words on fitted sources, and the picture of their columns."""

    def facts(self, model: Any) -> dict[str, Any]:
        """Return facts as JSON holds them.

        Parameters
        ----------
        model : fitted or prepared model
        """
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["kurtosis"] = model.kurtosis_.tolist()
            facts["verdict"] = model.diagnostics_["verdict"]
        return facts

    def report(self, model: Any, rows: Any) -> ReportParts:  # noqa: ARG002
        """Return notices, sentences and sections of the report.

        Parameters
        ----------
        model : fitted model
        rows : SampledRows, optional
        """
        verdict = model.diagnostics_["verdict"]
        notice = Notice("good" if verdict["good"] else "warning", verdict_words(verdict))
        return ReportParts(
            notices=(notice,),
            method=tuple(method_in_words(model)),
            sections=(columns_section(model), kurtosis_section(model)),
        )


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    largest = ", ".join(f"{value:.2f}" for value in model.kurtosis_[:6])
    more = ", ..." if len(model.kurtosis_) > 6 else ""
    return [
        ("method", _method_words(found)),
        ("kurtosis", largest + more),
        ("verdict", verdict_words(found["verdict"])),
    ]


def method_in_words(model: Any) -> Iterator[str]:
    """Return sentences on how a model was fitted.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    yield f"The sources were found first in {found['pilot_rows']:,} rows."
    if found["method"] == "whitened":
        passes = len(found["turns"])
        yield (
            f"Whitened rows were rotated by {passes} fixed-point iteration{'s' * (passes > 1)} "
            "over all rows, with the contrast log cosh."
        )
    else:
        passes = len(found["gauss_newton"]["objective"])
        yield (
            "Terms of the fourth cumulant, in which Gaussian noise has no part, were refined by "
            f"Gauss-Newton steps in {passes} passes over all rows."
        )
    if found["noise_gain"]:
        gains = " and ".join(f"{100 * gain:.2f} %" for gain in found["noise_gain"])
        yield (
            "On held-out halves of the sample, oblique columns explained the fourth cumulant "
            f"better than orthonormal ones by {gains}; noise makes it positive."
        )
    if found["rows_out_of_reach"]:
        yield f"{found['rows_out_of_reach']:,} rows far from all others were left out of the sums."


def _method_words(found: dict[str, Any]) -> str:
    """Return the method and the reason for it."""
    chosen = bool(found["noise_gain"])
    if found["method"] == "whitened":
        return "whitened sources" + (", no sign of Gaussian noise" * chosen)
    return "fourth cumulant" + (", because of Gaussian noise" * chosen)
