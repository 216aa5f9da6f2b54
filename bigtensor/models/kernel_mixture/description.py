"""Description of a fitted kernel mixture: its verdict, likelihoods and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.errors import Message
from bigtensor.models.description import Facts, Line
from bigtensor.models.mixture_description import (
    MixtureDescription,
    listed_weights,
    weight_lines,
)
from bigtensor.models.report_blocks import ReportParts


class KernelMixtureDescription(MixtureDescription):
    """Facts and words on a kernel mixture: its verdict, notes and likelihoods."""

    def facts(self, model: Any) -> Facts:
        """Return the facts of a mixture with its verdict and its likelihoods.

        Parameters
        ----------
        model : fitted or prepared model
        """
        found = model.diagnostics_
        return {
            **super().facts(model),
            "verdict": found.get("verdict"),
            "mean_log_likelihood": list(found.get("mean_log_likelihood") or ()),
        }

    def lines(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Return weights, verdict and likelihoods in words.

        Parameters
        ----------
        facts : mapping
        """
        yield from weight_lines(facts)
        if facts["verdict"] is not None:
            yield f"verdict    {' '.join(facts['verdict']['sentences'])}"
        if facts["mean_log_likelihood"]:
            values = ", ".join(f"{value:.4f}" for value in facts["mean_log_likelihood"])
            yield f"mean log-likelihood before each posterior pass, nats a row: {values}"

    def fit_facts(self, model: Any) -> Facts:
        """Return the facts of a mixture with its verdict and notes.

        Parameters
        ----------
        model : fitted model
        """
        found = model.diagnostics_
        told = {"verdict": found["verdict"], "notes": found["notes"]}
        return {**super().fit_facts(model), **told}

    def fit_lines(self, model: Any) -> Iterator[Line]:
        """Return the weights, the verdict and the notes. A fault was told in a warning.

        Parameters
        ----------
        model : fitted model
        """
        yield "weights", listed_weights(model)
        verdict = model.diagnostics_["verdict"]
        if verdict["good"]:
            yield "verdict", Message(" ").join(verdict["sentences"])
        for note in model.diagnostics_["notes"]:
            yield "note", note + "."

    def report(self, model: Any, rows: Any) -> ReportParts:
        """Return notices, sentences and sections of the report.

        Parameters
        ----------
        model : fitted model
        rows : LabelledRows, optional
        """
        # needed by reports alone
        from bigtensor.models.kernel_mixture.report.parts import report_parts

        return report_parts(model, rows)


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    likelihoods = found["mean_log_likelihood"]
    return [
        ("initialisation", "spectral" if "spectral" in found else "k-means"),
        ("verdict", " ".join(found["verdict"]["sentences"])),
        (
            "log-likelihood",
            f"{likelihoods[-1]:.4f} nats a row" if likelihoods else "before a posterior pass",
        ),
    ]
