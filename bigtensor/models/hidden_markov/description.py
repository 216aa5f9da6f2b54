"""Description of a fitted hidden Markov model: states, dwell times, emissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import xarray as xr

from bigtensor.descending_order import largest_in_place
from bigtensor.models.hidden_markov.decoded_section import (
    DecodesRows,
    decoded_summary,
    dwell_section,
    strip_section,
)
from bigtensor.models.hidden_markov.density_section import (
    HasStateMeans,
    density_section,
    means_section,
    standard_deviations,
)
from bigtensor.models.hidden_markov.emissions.categorical_emissions import CategoricalEmissions
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.hmmlearn_models import SOURCE
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.description import (
    Facts,
    Line,
    ModelDescription,
)
from bigtensor.models.words.faults import verdict_notice, verdict_words
from bigtensor.models.words.report_blocks import Group, ReportParts, Section, Words
from bigtensor.models.words.report_figures import Bars, Heatmap
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.models.words.summary_table import SummaryTable
from bigtensor.models.words.wording import sentence_of

MOST_LISTED = 3
"""Features whose means, and standard deviations, stand in the table of the states."""

MOST_COLUMNS = 60
"""Categories that the picture shows; of more, those that are most frequent in some state."""


class DescribedChain(DescribedModel, DecodesRows, HasStateMeans, Protocol):
    """Attributes of a hidden Markov model that its description uses."""

    n_components: int | str
    transition_: xr.DataArray
    emission_: xr.DataArray


class HiddenMarkovDescription(ModelDescription[DescribedChain]):
    """Facts and words on a hidden Markov model."""

    def outcome(self, model: DescribedChain) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        if diagnostics["refined"] == SOURCE:
            return [("parameters", f"taken over from {SOURCE}")]
        if diagnostics["mean_log_likelihood"]:
            likelihood = f"{diagnostics['mean_log_likelihood'][-1]:.4f} nats a step"
        else:
            likelihood = f"{diagnostics['triple_log_likelihood'][-1]:.4f} nats a triple"
        states = []
        if "state_choice" in diagnostics:
            states.append(("states", states_in_words(diagnostics)))
        return [
            *states,
            ("refined", f"on {diagnostics['refined']}"),
            ("verdict", verdict_words(diagnostics["verdict"])),
            ("log-likelihood", likelihood),
        ]

    def facts(self, model: DescribedChain) -> Facts:
        """Return the number of states, their shares and the verdict."""
        facts = {**super().facts(model), "n_components": model.n_components}
        if not model.__sklearn_is_fitted__():
            return facts
        return {
            **facts,
            "n_components": len(model.occupancy_),
            "occupancy": model.occupancy_.tolist(),
            "dwell_time": dwell_times(model).tolist(),
            **value_facts(model),
            "verdict": model.diagnostics_["verdict"],
        }

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the number of states in words."""
        return f"{facts['n_components']} states"

    def table(self, facts: Mapping[str, Any]) -> SummaryTable:
        """Return the share and the dwell time of every state, and values of a few features."""
        head = ["state", "share in the long run", "steps at a time"]
        occupancy = facts["occupancy"]
        columns: list[list[str | float]] = [
            [str(state) for state in range(len(occupancy))],
            occupancy,
            [f"{dwell:,.1f}" for dwell in facts["dwell_time"]],
        ]
        means, spreads = facts.get("means", {}), facts.get("standard_deviations", {})
        for name in means if len(means) <= MOST_LISTED else ():
            for word, values in (("mean", means[name]), ("sd", spreads.get(name))):
                if values is not None:
                    head.append(f"{word} of {name}")
                    columns.append([f"{value:.4g}" for value in values])
        return SummaryTable(tuple(head), list(zip(*columns, strict=True)))

    def row_outputs(
        self,
        model: DescribedChain,  # noqa: ARG002
        level: str | None = None,  # noqa: ARG002
        *,
        probabilities: bool = False,
    ) -> tuple[str, ...]:
        """Return the names of the answers that ``bigtensor predict`` writes for every row.

        Parameters
        ----------
        model : fitted model
            Not used: all models answer alike.
        level : str, optional
            Not used: states are not merged.
        probabilities : bool, default False
            True for the probabilities of the states besides the labels.
        """
        return ("label", "probability") if probabilities else ("label",)

    def report(self, model: DescribedChain, rows: SampledRows | None) -> ReportParts:
        """Return notices, sentences and sections of the report.

        Parameters
        ----------
        model : fitted model
            Fitted model that the report describes.
        rows : SampledRows, optional
            Of the data, which are decoded in two passes: sampled rows have no sequence.
        """
        decoded: list[Section] = []
        method = [*method_in_words(model)]
        if rows is not None and rows.samples is not None:
            method.append("Decoded states and dwell times come from all rows, not from a sample.")
            summary = decoded_summary(model, rows.samples)
            stay = np.diag(model.transition_.to_numpy())
            decoded = [strip_section(summary), dwell_section(model.occupancy_, stay, summary)]
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            headline=(("states", str(len(model.occupancy_))),),
            axes=("steps", "features"),
            method=tuple(method),
            sections=(states_section(model), *decoded, emissions_section(model)),
        )


def value_facts(model: DescribedChain) -> dict[str, dict[str, list[float]]]:
    """Return means and standard deviations of the states by feature, of those there are."""
    means = getattr(model, "means_", None)
    if means is None:
        return {}
    names = [str(name) for name in means["feature"].to_numpy()]
    facts = {"means": means.to_numpy(), "standard_deviations": standard_deviations(model)}
    return {
        kind: dict(zip(names, values.T.tolist(), strict=True))
        for kind, values in facts.items()
        if values is not None
    }


def states_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Return how the number of states was chosen.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics with a ``state_choice``.
    """
    choice = diagnostics["state_choice"]
    if "reason" in choice:
        return f"{diagnostics['n_components']}: {choice['reason']}"
    tried, chosen = choice["tried"], diagnostics["n_components"]
    return f"{chosen}, chosen from 1 to {tried}: {choice['criterion']}"


def dwell_times(model: DescribedChain) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the expected number of steps in a state before it is left: ``(k,)``."""
    return np.asarray(1 / np.maximum(1 - np.diag(model.transition_.to_numpy()), 1e-12))


def method_in_words(model: DescribedChain) -> Iterator[str]:
    """Return sentences on how a model was fitted."""
    diagnostics = model.diagnostics_
    if diagnostics["refined"] == SOURCE:
        yield f"The parameters were taken over from {SOURCE}."
        return
    if "state_choice" in diagnostics:
        yield sentence_of(f"number of states: {states_in_words(diagnostics)}")
    if not any(name.startswith("exterior_point") for name in diagnostics):
        reason = diagnostics.get("no_spectral", "one state needs no other")
        yield sentence_of(f"random initialisations: {reason}")
    else:
        yield "Initialisation by the exterior point method on triples of consecutive rows."
    yield f"{len(diagnostics['triple_log_likelihood'])} EM iterations on triples followed."
    if diagnostics["mean_log_likelihood"]:
        count = len(diagnostics["mean_log_likelihood"])
        yield f"{count} EM iterations along whole sequences ended the fit."
        if "initialisations" in diagnostics:
            numbers = " and other numbers of states" * (
                "bic" in diagnostics.get("state_choice", {})
            )
            yield (
                f"They started from the best of {len(diagnostics['initialisations'])} "
                "initialisations, most of them random; further passes over the data are EM "
                f"iterations of the others{numbers}."
            )
    else:
        yield (
            "No iteration along whole sequences followed: each reads all rows twice, and is asked "
            "for with refine = 'sequences'."
        )


def states_section(model: DescribedChain) -> Section:
    """Return the pictures of the shares of the states and of the transitions."""
    names = tuple(str(state) for state in range(len(model.occupancy_)))
    dwell = ", ".join(
        f"{state}: {steps:,.1f}" for state, steps in zip(names, dwell_times(model), strict=True)
    )
    bars = Bars("Shares of the states", model.occupancy_, "state", "share in the long run (%)")
    heatmap = Heatmap(
        "Transitions from the state of a line to the state of a column",
        model.transition_.to_numpy(),
        names,
        names,
        "probability",
        row_axis="state",
        column_axis="next state",
        decimals=3,
    )
    words = (
        "Share of every state in the long run, and probability of the next state. Expected number "
        f"of steps in a state before it is left: {dwell}."
    )
    return Section("states", "States", (Words(words), Group((bars, heatmap), layout="beside")))


def emissions_section(model: DescribedChain) -> Section:
    """Return the picture of the emissions."""
    emissions = model._solution().emissions
    if isinstance(emissions, KernelEmissions):
        return density_section(model, emissions)
    if not isinstance(emissions, CategoricalEmissions):
        return means_section(model)
    table = model.emission_.to_numpy()
    categories = model.emission_["category"].to_numpy()
    chosen = largest_in_place(table.max(axis=0), MOST_COLUMNS)
    words = "Probability of every category in every state."
    if len(chosen) < len(categories):
        words += f" Shown are {len(chosen)} of {len(categories):,}."
    heatmap = Heatmap(
        "Probabilities of categories by state",
        table[:, chosen].T,
        tuple(str(categories[at]) for at in chosen),
        tuple(str(state) for state in range(len(table))),
        "probability",
        float(table.max()),
        row_axis="category",
        column_axis="state",
        decimals=3,
    )
    return Section("emissions", "Categories of every state", (Words(words), heatmap), "Categories")
