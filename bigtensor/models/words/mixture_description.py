"""Description of a fitted mixture: weights, populations where there are any, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import NoPopulationsError
from bigtensor.models.words.described_model import DescribedMixture, LabelsRows
from bigtensor.models.words.description import (
    Facts,
    Line,
    ModelDescription,
)
from bigtensor.models.words.faults import verdict_words
from bigtensor.models.words.label_level import is_cut, level_of, tree_of
from bigtensor.models.words.summary_table import SummaryTable

MOST_MEMBERS = 12
"""Components of a population that are listed."""

Mixture = TypeVar("Mixture", bound=DescribedMixture, contravariant=True)
"""Fitted mixture with the attributes that a description uses."""


class MixtureDescription(ModelDescription[Mixture]):
    """Facts and words on a mixture: its weights besides how the fit ended."""

    def facts(self, model: Mixture) -> Facts:
        """Return number, weights and populations of the components.

        ``weights`` and ``populations`` are None before a fit.
        """
        facts = {
            **super().facts(model),
            "n_components": model.n_components,
            "weights": None,
            "populations": None,
            "names": None,
        }
        if not model.__sklearn_is_fitted__():
            return facts
        level = level_of(model)
        facts["n_components"] = len(level.component_weights)
        facts["weights"] = level.component_weights.tolist()
        facts["names"] = list(level.names)
        if level.of_component is not None:
            facts["populations"] = {
                "merged_by": merged_by(model),
                "weights": level.weights.tolist(),
                "stability": _stability(level.stability),
                "components": [
                    (level.of_component == population).nonzero()[0].tolist()
                    for population in range(level.count)
                ],
            }
        return facts

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the numbers of components and populations in words."""
        k, populations = facts["n_components"], facts["populations"]
        if isinstance(k, str):
            return "components to be counted"
        merged = "" if populations is None else f" ({len(populations['weights'])} populations)"
        return f"{k} components{merged}"

    def lines(self, facts: Mapping[str, Any]) -> Iterator[Line]:
        """Return how the fit ended, and how components were merged."""
        yield from super().lines(facts)
        populations = facts["populations"]
        if populations is not None:
            merged = (
                f"{len(populations['weights'])}, merged from {facts['n_components']} components"
            )
            yield "populations", f"{merged} by {populations['merged_by']}"

    def table(self, facts: Mapping[str, Any]) -> SummaryTable:
        """Return the weights of populations with their components, or of components."""
        populations = facts["populations"]
        labels = _labels(facts["names"], facts.get("suggested_names", ()))
        if populations is None:
            rows = list(zip(labels, facts["weights"], strict=True))
            return SummaryTable(("component", "weight"), rows)
        columns: dict[str, Sequence[str | float]] = {
            "population": labels,
            "weight": populations["weights"],
        }
        if populations["stability"] is not None:
            columns["stability"] = [
                "" if value is None else f"{value:.2f}" for value in populations["stability"]
            ]
        columns["components"] = [_members(members) for members in populations["components"]]
        return SummaryTable(tuple(columns), list(zip(*columns.values(), strict=True)))

    def row_outputs(
        self, model: Mixture, level: str | None = None, *, probabilities: bool = False
    ) -> tuple[str, ...]:
        """Return the names of labels, and of probabilities and densities on request.

        Parameters
        ----------
        model : fitted mixture
            Fitted mixture, which may have populations.
        level : {"population", "component"}, optional
            Components are written besides populations. Populations are refused where there are
            none.
        probabilities : bool, default False
            True for probabilities and log-densities besides the labels.

        Raises
        ------
        NoPopulationsError
        """
        merged = level_of(model).of_component is not None
        if level == "population" and not merged:
            raise NoPopulationsError("the model has no populations, only components")
        names = ["label"]
        names += ["probability", "log_density"] if probabilities else []
        if level == "component" and merged:
            names += ["component_label"]
            names += ["component_probability"] if probabilities else []
        return tuple(names)


class JudgedMixtureDescription(MixtureDescription[Mixture]):
    """Facts and words on a mixture whose diagnostics hold a verdict and log-likelihoods."""

    def facts(self, model: Mixture) -> Facts:
        """Return the facts of a mixture with its verdict, its notes and its log-likelihoods."""
        diagnostics = model.diagnostics_
        fitted = model.__sklearn_is_fitted__()
        return {
            **super().facts(model),
            "verdict": diagnostics.get("verdict"),
            "notes": list(self.notes(diagnostics)) if fitted else [],
            "mean_log_likelihood": list(diagnostics.get("mean_log_likelihood") or ()),
        }

    def lines(self, facts: Mapping[str, Any]) -> Iterator[Line]:
        """Return how the fit ended, and the notes."""
        yield from super().lines(facts)
        for note in facts["notes"]:
            yield "note", note

    def notes(self, diagnostics: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        """Return sentences on the choices of a fit.

        Parameters
        ----------
        diagnostics : mapping
            Diagnostics of a fitted model.
        """
        yield from ()


def judged_outcome(
    diagnostics: Mapping[str, Any], initialisation: str, measure: str = "log-likelihood"
) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of a fitted model, with a verdict and log-likelihoods.
    initialisation : str
        Name of the method that made the initialisation.
    measure : str, default "log-likelihood"
        Name of the measure that EM iterations raise.
    """
    return [
        ("initialisation", initialisation),
        ("verdict", verdict_words(diagnostics["verdict"])),
        (measure, _likelihoods_in_words(diagnostics["mean_log_likelihood"])),
    ]


def _likelihoods_in_words(likelihoods: Sequence[float]) -> str:
    """Say how the mean log-likelihood changed from the first EM iteration to the last one."""
    if not likelihoods:
        return "unknown, because no EM iteration was made"
    first, last = (f"{likelihoods[place]:.4f}" for place in (0, -1))
    if len(likelihoods) == 1:
        return f"{last} nats a row before the one EM iteration over all rows"
    iterations = f"{len(likelihoods)} EM iterations over all rows"
    if first == last:
        return f"{last} nats a row, the same to four digits during {iterations}"
    changed = "rose" if likelihoods[-1] > likelihoods[0] else "fell"
    return f"{last} nats a row; it {changed} from {first} during {iterations}"


def merged_by(model: LabelsRows) -> str:
    """Return the criterion by which components were merged, and ``"hand"`` if a user did."""
    tree = tree_of(model)
    if tree is None:
        return "hand"
    cut = is_cut(tree, np.asarray(model.population_of_component_))
    return str(tree.criterion) if cut else f"{tree.criterion}, and by hand"


def _stability(stability: FloatArray | None) -> list[float | None] | None:
    """Return stability as JSON holds it, None where it is not known."""
    if stability is None:
        return None
    return [None if np.isnan(value) else float(value) for value in stability]


def _labels(names: Sequence[str], suggested: Sequence[str]) -> list[str]:
    """Return numbers with names; a suggestion stands in parentheses where there is no name."""
    labels = []
    for number, name in enumerate(names):
        label = str(number)
        if name != label:
            label += f" {name}"
        elif suggested and suggested[number]:
            label += f" ({suggested[number]})"
        labels.append(label)
    return labels


def _members(members: Sequence[int]) -> str:
    """List the components of a population; of many the first ones and their number."""
    listed = ", ".join(map(str, members[:MOST_MEMBERS]))
    return f"{listed}, ... {len(members)} in all" if len(members) > MOST_MEMBERS else listed
