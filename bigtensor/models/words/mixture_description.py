"""Description of a fitted mixture: weights, populations where there are any, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import Message, NoPopulationsError
from bigtensor.models.words.described_model import DescribedMixture, LabelsRows
from bigtensor.models.words.description import (
    Facts,
    Line,
    ModelDescription,
    SummaryTable,
    outcome_lines,
)
from bigtensor.models.words.label_level import level_of, tree_of
from bigtensor.models.words.report_blocks import Notice

MOST_WEIGHTS = 30
"""Weights that are shown at the end of a fit."""

MOST_TABLE_ROWS = 40
"""Weights that the HTML summary lists one by one, the heaviest first."""

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
                "components": [
                    (level.of_component == population).nonzero()[0].tolist()
                    for population in range(level.count)
                ],
            }
        return facts

    def summary_table(self, model: Mixture) -> SummaryTable:
        """Return the weights of populations, or of components."""
        level = level_of(model)
        return weight_table(level.weights, level.of_component, level.names)

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the numbers of components and populations in words."""
        k, populations = facts["n_components"], facts["populations"]
        if isinstance(k, str):
            return "components to be counted"
        merged = "" if populations is None else f" in {len(populations['weights'])} populations"
        return f"{k} components{merged}"

    def lines(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Return the weights, and how the fit ended, line by line."""
        yield from weight_lines(facts)
        yield from outcome_lines(facts)

    def fit_facts(self, model: Mixture) -> Facts:
        """Return numbers and weights of components and populations, and how the fit ended."""
        level = level_of(model)
        merged = level.of_component is not None
        return {
            "components": len(level.component_weights),
            "weights": level.component_weights,
            "populations": level.count if merged else None,
            "population_weights": level.weights if merged else None,
            "names": list(level.names),
            "outcome": dict(self.outcome(model)),
        }

    def fit_size(self, model: Mixture) -> str:
        """Return the numbers of components and populations in words."""
        level = level_of(model)
        merged = level.of_component is not None
        populations = f", merged into {level.count} populations," if merged else ""
        return f"{len(level.component_weights)} components{populations}"

    def fit_lines(self, model: Mixture) -> Iterator[Line]:
        """Return the weights of populations, or of components, and how the fit ended."""
        yield "weights", listed_weights(model)
        yield from super().fit_lines(model)

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
        """Return the facts of a mixture with its verdict and its log-likelihoods."""
        diagnostics = model.diagnostics_
        return {
            **super().facts(model),
            "verdict": diagnostics.get("verdict"),
            "mean_log_likelihood": list(diagnostics.get("mean_log_likelihood") or ()),
        }

    def fit_facts(self, model: Mixture) -> Facts:
        """Return the facts of a mixture with its verdict."""
        return {**super().fit_facts(model), "verdict": model.diagnostics_["verdict"]}

    def fit_lines(self, model: Mixture) -> Iterator[Line]:
        """Return the weights, the verdict and the notes. A fault was told in a warning."""
        yield "weights", listed_weights(model)
        verdict = model.diagnostics_["verdict"]
        if verdict["good"]:
            yield "verdict", verdict_in_words(verdict)
        for note in self.notes(model.diagnostics_):
            yield "note", note

    def notes(self, diagnostics: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        """Return sentences on the choices of a fit.

        Parameters
        ----------
        diagnostics : mapping
            Diagnostics of a fitted model.
        """
        yield from ()


def verdict_in_words(verdict: Mapping[str, Any]) -> str:
    """Return the sentences of a verdict as one text."""
    return Message(" ").join(verdict["sentences"])


def verdict_notice(verdict: Mapping[str, Any]) -> Notice:
    """Return the notice of the report that tells a verdict."""
    return Notice("good" if verdict["good"] else "warning", verdict_in_words(verdict))


def judged_outcome(diagnostics: Mapping[str, Any], initialisation: str) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of a fitted model, with a verdict and log-likelihoods.
    initialisation : str
        Name of the method that made the initialisation.
    """
    likelihoods = diagnostics["mean_log_likelihood"]
    return [
        ("initialisation", initialisation),
        ("verdict", verdict_in_words(diagnostics["verdict"])),
        (
            "log-likelihood",
            f"{likelihoods[-1]:.4f} nats a row" if likelihoods else "before an EM iteration",
        ),
    ]


def weight_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """List the weights: of populations with their components, or of components.

    Parameters
    ----------
    facts : mapping
        From `MixtureDescription.facts` of a fitted mixture.
    """
    populations = facts["populations"]
    labels = _labels(facts["names"], facts.get("suggested_names", ()))
    width = max(20, *(len(label) for label in labels))
    if populations is None:
        yield "weights"
        for label, weight in zip(labels, facts["weights"], strict=True):
            yield f"  {label:<{width}} {weight:.5f}"
        return
    yield f"merged by  {populations['merged_by']}"
    yield "populations"
    pairs = zip(populations["weights"], populations["components"], strict=True)
    for population, (weight, members) in enumerate(pairs):
        plural = "s" if len(members) > 1 else ""
        listed = ", ".join(map(str, members[:MOST_MEMBERS]))
        listed += f", ... {len(members)} in all" if len(members) > MOST_MEMBERS else ""
        yield f"  {labels[population]:<{width}} {weight:.5f}, component{plural} {listed}"


def merged_by(model: LabelsRows) -> str:
    """Return the criterion by which components were merged, or ``"hand"`` without a tree."""
    tree = tree_of(model)
    return "hand" if tree is None else str(tree.criterion)


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


def listed_weights(model: LabelsRows) -> str:
    """Return the largest weights of populations, or of components, as one line."""
    level = level_of(model)
    weights = level.weights
    texts = [f"{weight:.4f}" for weight in weights[:MOST_WEIGHTS]]
    if level.has_names:
        texts = [f"{name} {text}" for name, text in zip(level.names, texts, strict=False)]
    listed = ", ".join(texts)
    more = len(weights) - MOST_WEIGHTS
    return f"{listed} and {more} more" if more > 0 else listed


def weight_table(
    weights: NDArray[np.float64],
    of_component: NDArray[np.intp] | None,
    names: Sequence[str] = (),
) -> SummaryTable:
    """Return head and rows of a table of weights.

    Parameters
    ----------
    weights : (components or populations,) float64 array
        Mixing weights in the order of the rows.
    of_component : (components,) integer array, optional
        The population of every component, where the weights are of populations.
    names : sequence of str
        Names of the components or populations. A name that is the number is not repeated.
    """
    head: tuple[str, ...] = ("component", "weight")
    rows = [[str(h), f"{weight:.4f}"] for h, weight in enumerate(weights)]
    if of_component is not None:
        head = ("population", "weight", "components")
        sizes = np.bincount(of_component)
        rows = [[*row, str(size)] for row, size in zip(rows, sizes, strict=True)]
    if any(name != str(number) for number, name in enumerate(names)):
        head = (head[0], "name", *head[1:])
        rows = [[row[0], name, *row[1:]] for row, name in zip(rows, names, strict=True)]
    if len(rows) > MOST_TABLE_ROWS:
        rest = float(sum(weights[MOST_TABLE_ROWS:]))
        more = [f"{len(rows) - MOST_TABLE_ROWS} more", *[""] * ("name" in head), f"{rest:.4f}"]
        rows = [*rows[:MOST_TABLE_ROWS], more]
    return head, rows
