"""Description of a fitted density: how it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.answers.density import LOG_DENSITY
from bigtensor.models.tensor_train_density.sections import (
    DescribedDensity,
    choice_block,
    sections_of,
)
from bigtensor.models.tensor_train_density.verdict import shares_in_words
from bigtensor.models.words.description import Facts, Line, ModelDescription
from bigtensor.models.words.faults import verdict_notice, verdict_words
from bigtensor.models.words.report_blocks import ReportParts
from bigtensor.models.words.sampled_rows import SampledRows

_SYSTEMS = {
    "z": "standardised variables",
    "ns": "normal scores",
    "pca": "principal components",
    "ns-pca": "principal components of normal scores",
    "zca": "whitened variables",
    "ns-zca": "whitened normal scores",
}


class TrainDescription(ModelDescription[DescribedDensity]):
    """Facts and words on tensor-train densities."""

    row_answer = LOG_DENSITY

    def outcome(self, model: DescribedDensity) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return [
            ("density", "; ".join(_choices(diagnostics))),
            ("order", ", ".join(model.order_)),
            ("held out", f"{diagnostics['validation_log_density']:.4g} nats a row in the sample"),
            ("verdict", verdict_words(diagnostics["verdict"])),
        ]

    def facts(self, model: DescribedDensity) -> Facts:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts |= {
                "rank": model.rank_,
                "coordinates": model.coordinates_,
                "order": model.order_,
            }
        return facts

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the rank in words.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        return f"rank {facts['rank']}" if "rank" in facts else ""

    def report(self, model: DescribedDensity, rows: SampledRows | None) -> ReportParts:
        """Return notices, sentences and sections of the report."""
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            method=tuple(_method_in_words(model.diagnostics_)),
            sections=sections_of(model, rows),
            diagnostics=(choice_block(model),),
        )


def _method_in_words(diagnostics: Mapping[str, Any]) -> Iterator[str]:
    """Return sentences on how a density was fitted."""
    yield (
        f"The model is fitted to {_SYSTEMS[diagnostics['system']]}. These coordinates, the widths "
        f"of the narrow densities, the rank and the number of EM steps were chosen by validation "
        f"in {diagnostics['pilot_rows']:,} rows."
    )
    scores = diagnostics["held_out_log_density"]
    if scores:
        yield (
            f"{len(scores)} passes of expectation maximisation over all rows followed; rows held "
            f"out had a mean log-density of {scores[0]:.4f} nats before and {scores[-1]:.4f} "
            "before the last."
        )
    if shares := shares_in_words(diagnostics):
        yield f"The density is {shares}, chosen by validation."
    if diagnostics.get("atoms"):
        yield (
            "Variables with values that many rows share, each with a probability of its own "
            f"(atoms): {', '.join(diagnostics['atoms'])}."
        )
    if diagnostics["categorical"]:
        yield f"Categorical variables: {', '.join(diagnostics['categorical'])}."


def _choices(diagnostics: Mapping[str, Any]) -> Iterator[str]:
    """Return what validation chose, in words."""
    yield f"rank {diagnostics['rank']}"
    yield f"{_SYSTEMS[diagnostics['system']]}"
    if shares := shares_in_words(diagnostics):
        yield shares
    yield "bumps of width " + ", ".join(f"{width:g}" for width in diagnostics["widths"])
