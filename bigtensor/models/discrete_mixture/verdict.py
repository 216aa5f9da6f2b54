"""Judgement of a fitted discrete mixture: what should worry, in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bigtensor.errors import Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.discrete_mixture.alike_components import ALIKE, component_distances
from bigtensor.models.discrete_mixture.independence import views_are_independent
from bigtensor.models.discrete_mixture.initialisations import FEWEST_INITIALISATIONS
from bigtensor.models.discrete_mixture.settings import MOST_COUNTED
from bigtensor.models.discrete_mixture.solution import DiscreteFit, DiscreteSolution
from bigtensor.models.words.faults import Fault, as_warnings, confirmation_before_notes

FEW_ROWS = 5.0
"""A component of fewer rows is not told from chance."""


def judged(fit: DiscreteFit, weight: float, diagnostics: dict[str, Any], *, chosen: bool) -> Solved:
    """Return a solution with the verdict on it, and warn of a fault.

    Parameters
    ----------
    fit : DiscreteFit
        The fitted model.
    weight : float
        Of the rows that the mixture was estimated from.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    chosen : bool
        True if held-out rows chose the number of components.
    """
    remedy = (
        " Give a smaller " + Setting("n_components") + "."
        if chosen
        else (" Use fewer components, or " + Setting("n_components", "auto") + ".")
    )
    small = _small(fit.solution, weight)
    faults = as_warnings(*_undetermined(fit.solution))
    # held-out rows spoke for a small component that nobody asked for
    faults += (
        [(None, sentence) for sentence in small]
        if chosen
        else as_warnings(*(sentence + remedy for sentence in small))
    )
    faults += as_warnings(*_alike(fit.solution, remedy))
    faults += as_warnings(*_of_ids(diagnostics.get("views_of_ids", [])))
    # a number that held-out rows chose is better than one component
    if not (chosen or faults):
        faults += as_warnings(*_independent(diagnostics.get("independence", {})))
    faults += as_warnings(*_equal(diagnostics.get("equal_views", [])))
    faults += as_warnings(*_at_limit(diagnostics.get("component_choice", {}), fit.solution))
    k = fit.solution.n_components
    confirmation = Message(f"{k} component{'s' * (k > 1)}, no two alike and none almost empty.")
    notes = _reached_once(diagnostics)
    if k > 1 and not chosen:
        confirmation += (
            " Other numbers of components were not fitted: compare their bic, or use "
            + Setting("n_components", "auto")
            + "."
        )
        if not faults:
            notes += _no_better_than_one(diagnostics.get("independence", {}), k, weight)
    faults += confirmation_before_notes(notes, confirmation) if notes and not faults else notes
    return with_verdict(fit, faults, confirmation, diagnostics)


def _no_better_than_one(comparison: dict[str, float], k: int, weight: float) -> list[Fault]:
    """Return a sentence on components that BIC finds no better than one.

    It is a note only: see `independence.LEVEL` for how often BIC speaks against true components.
    """
    if not comparison or 2 * comparison["log_likelihood_gain"] > comparison["parameters"] * (
        math.log(max(weight, 1.0))
    ):
        return []
    sentence = f"BIC prefers one component to {k}."
    return [(None, sentence)]


def _reached_once(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on a search that ended before the best mixture recurred."""
    count = len(diagnostics.get("random_initialisations", ()))
    if count < FEWEST_INITIALISATIONS or diagnostics.get("best_reached", count) > 1:
        return []
    sentence = (
        f"The best likelihood was reached once only ({count} random initialisations). Others may "
        "reach a better one: use more (" + Setting("n_starts") + ")."
    )
    return [(None, sentence)]


def _undetermined(solution: DiscreteSolution) -> list[str]:
    """Return a sentence on more parameters than the joint table has probabilities."""
    free = math.prod(solution.sizes) - 1
    if solution.parameters <= free:
        return []
    return [
        f"{solution.n_components} components have {solution.parameters} parameters, but the "
        f"categories of the views can be combined in {free + 1} ways, which determine at most "
        f"{free}: other components explain the data as well. Use fewer components, or more views."
    ]


def _independent(comparison: dict[str, float]) -> list[Message]:
    """Return a sentence on views that do not depend on each other, and need no components."""
    if not views_are_independent(comparison):
        return []
    return [
        Message(
            "No view depends on another one more than chance explains, so that one component "
            "explains the rows as well. Use more rows, or "
        )
        + Setting("n_components", "auto")
        + "."
    ]


def _equal(groups: list[list[str]]) -> list[Message]:
    """Return a sentence on views that are equal, which no component makes independent."""
    if not groups:
        return []
    named = "; ".join(" and ".join(names) for names in groups)
    return [
        f"Views that are equal but for the names of their categories: {named}. Components are "
        "split along them, so that there may be too many. Leave out all but one of them ("
        + Setting("views")
        + ")."
    ]


def _at_limit(choice: dict[str, Any], solution: DiscreteSolution) -> list[Message]:
    """Return a sentence on a chosen number that is the largest one of the search.

    With weights that stand for people, learning rows contain the rows that judge them, so that
    every further component seems better.
    """
    if not choice or solution.n_components < MOST_COUNTED:
        return []
    return [
        f"{MOST_COUNTED} components are the most that are looked for. If sample weights stand for "
        "people of a population, use "
        + Setting("weights", "relative")
        + ". Otherwise check the number with "
        + Setting("n_components")
        + "."
    ]


def _of_ids(names: list[str]) -> list[Message]:
    """Return a sentence on views of which hardly two rows share a category, as with ids."""
    if not names:
        return []
    return [
        "Views with more than half as many categories as entries, such as ids: "
        f"{', '.join(names)}. They make the probabilities of components too extreme, also for rows "
        "that get a wrong component. Leave these features out of the data or of "
        + Setting("views")
        + "."
    ]


def _small(solution: DiscreteSolution, weight: float) -> list[str]:
    """Return a sentence on components of hardly any row."""
    few = np.flatnonzero(solution.weights * weight < FEW_ROWS)
    if not few.size or solution.n_components == 1:
        return []
    return [f"{few.size} of {solution.n_components} components have fewer than {FEW_ROWS:g} rows."]


def _alike(solution: DiscreteSolution, remedy: Message) -> list[Message]:
    """Return a sentence on the first two components that have the same probabilities."""
    distance = component_distances(solution)
    pairs = np.argwhere(np.triu(distance < ALIKE, 1))
    if not len(pairs):
        return []
    a, b = pairs[0]
    return [
        f"Components {a} and {b} have the same probabilities (mean distance {distance[a, b]:.3f})."
        + remedy
    ]
