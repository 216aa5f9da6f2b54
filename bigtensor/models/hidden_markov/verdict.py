"""Judgement of a fitted hidden Markov model: what should worry is a warning with advice."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from bigtensor.errors import Message, SequenceWarning, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.hidden_markov.emissions.categorical_emissions import CategoricalEmissions
from bigtensor.models.hidden_markov.emissions.gaussian_emissions import (
    REGULARISATION,
    GaussianEmissions,
)
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.pilot.outliers import sample_outliers
from bigtensor.models.words.faults import Fault, as_warnings
from bigtensor.models.words.wording import percent
from bigtensor.statistics.codes.triple_counts import TripleCountsResult

FEW_TRIPLES = 10.0
"""Triples for every free parameter below which states rest on pseudo-counts."""

FEW_STEPS = 100.0
"""Steps below which a state rests on a few runs of a sequence."""

MANY_SINGLE_ROWS = 0.5
"""Share of sequences of one row from which ids are probably those of rows, not of sequences."""

NO_SPREAD = 10 * REGULARISATION
"""Variance in a state, in parts of that of all rows, below which its values are the same."""

ALIKE = 0.02
"""Total variation between emissions, and between transitions, of states that are the same."""

CLEAR_BIC = 10.0
"""Difference of BIC that is very strong evidence (Kass and Raftery 1995, "Bayes factors")."""

MANY_INCOMPLETE_ROWS = 0.05
"""Share of rows with missing values that makes a note on a number of states chosen from them."""


def judged(
    fit: MarkovFit, counts: TripleCountsResult, rows: float, diagnostics: dict[str, Any]
) -> Solved:
    """Return the solution with its verdict, and warn of a fault.

    Parameters
    ----------
    fit : MarkovFit
        Solution.
    counts : TripleCountsResult
        Windows that the solution was initialised by.
    rows : float
        Number of rows that the weighted rows stand for.
    diagnostics : dict
        Decisions and numbers of the fit.
    """
    faults = _single_rows(counts) + _bounded(diagnostics) + _chosen_with_gaps(diagnostics)
    faults += _against_bic(fit.n_states, diagnostics)
    faults += as_warnings(
        *_without_spread(fit),
        *(
            _few(fit, counts)
            or [*_rare(fit, rows), *_alike(fit, counts, diagnostics)]
            or _without_order(diagnostics)
        ),
    )
    if "outlying_rows" in diagnostics:
        has_tails = isinstance(fit.emissions, KernelEmissions)
        faults += sample_outliers(diagnostics, "pilot sample" if has_tails else "fit")
    confirmation = f"{fit.n_states} states differ in their emissions or transitions."
    if fit.n_states == 1:
        confirmation = "One state: rows are modelled as independent of each other."
    return with_verdict(fit, faults, confirmation, diagnostics)


def _bounded(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on a search that ended at its largest number of states."""
    choice = diagnostics.get("state_choice", {})
    if not choice.get("ended_at_largest"):
        return []
    sentence = (
        f"{choice['tried']} states, the largest number that was tried, still explain rows better "
        "than fewer states, so that there may be more; compare larger numbers with "
    ) + Setting("n_components")
    return as_warnings(sentence)


def _against_bic(chosen: int, diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a note on a chosen number of states if BIC clearly prefers more.

    It is no warning, because BIC counts states of independent rows that are not Gaussian.
    """
    bic = diagnostics.get("state_choice", {}).get("bic", {})
    if not bic:
        return []
    preferred = int(min(bic, key=bic.__getitem__))
    difference = bic[str(chosen)] - bic[str(preferred)]
    if preferred < chosen or difference <= CLEAR_BIC:
        return []
    sentence = (
        f"bic prefers {preferred} states by {difference:,.0f}, though the order of the rows does "
        f"not support more than {chosen}: the values in a state have another distribution than "
        "its emission, such as heavier tails. For their densities use "
    ) + Setting("n_components", preferred)
    return [(None, sentence + ".")]


def _chosen_with_gaps(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a note on a number of states that was chosen from rows with missing values."""
    share = diagnostics.get("incomplete_rows", 0.0)
    if "state_choice" not in diagnostics or share < MANY_INCOMPLETE_ROWS:
        return []
    sentence = (
        f"The number of states was chosen from rows of which {percent(share)} have missing values. "
        "If features are missing for many rows in turn, one state may be found once for each set "
        "of features: compare bic of fewer states ("
    ) + Setting("n_components")
    return [(None, sentence + ").")]


def _single_rows(counts: TripleCountsResult) -> list[Fault]:
    """Return a sentence on sequences of one row, which give no triple."""
    if not counts.single_rows or counts.single_rows < MANY_SINGLE_ROWS * counts.sequences:
        return []
    message = (
        f"{counts.single_rows:,} of {counts.sequences:,} sequences have one row, which gives no "
        "triple of rows; they count for the initial states alone: check that "
        + Setting("sequence")
        + " names the sequence of a row, not the row"
    )
    return [(SequenceWarning, message)]


def _has_categories(fit: MarkovFit) -> bool:
    """Return True if a row is a category, so that categories may be put together."""
    return isinstance(fit.emissions, CategoricalEmissions)


def _without_order(diagnostics: dict[str, Any]) -> list[str | Message]:
    """Return a sentence on rows whose order the states do not explain.

    The rule was chosen on 112 fits to independent rows and 120 to states. It preferred no order in
    77 % without states, and in 2 % with paths that agreed with the states (adjusted Rand index
    above 0.2). Akaike's criterion with all parameters beyond one state would do so in 22 %, and a
    test of pairs of consecutive cells in 36 %. On 135 other fits to states, it did so in seven of
    200 rows, which are warned of as too few, and in none of 500 or 2,000 rows.
    """
    if diagnostics.get("gain_of_order", np.inf) >= diagnostics.get("gain_of_chance", 0.0):
        return []
    return [
        "the next state does not depend on the present one more than chance explains: rows in any "
        "other order are explained as well; use a mixture model, which ignores the order of the "
        "rows, or more rows"
    ]


def _few(fit: MarkovFit, counts: TripleCountsResult) -> list[str | Message]:
    """Return a sentence on too few triples."""
    triples = float(counts.weight.sum())
    if triples >= FEW_TRIPLES * fit.parameters:
        return []
    fewer = "fewer states or categories" if _has_categories(fit) else "fewer states"
    return [
        f"the data have {triples:,.0f} triple{'' if round(triples) == 1 else 's'} of consecutive "
        f"rows, fewer than {FEW_TRIPLES:g} for each of the {fit.parameters:,} free parameters, "
        f"which are uncertain; use {fewer}, or more rows"
    ]


def _rare(fit: MarkovFit, rows: float) -> list[str | Message]:
    """Return a sentence on states of hardly any step."""
    rare = int(np.count_nonzero(fit.occupancy() * rows < FEW_STEPS))
    if not rare or fit.n_states == 1:
        return []
    return [
        f"{rare} of {fit.n_states} states ha{'s' if rare == 1 else 've'} fewer than "
        f"{FEW_STEPS:g} steps, so that their transitions are uncertain; use more rows, or fewer "
        "states" + (", or put rare categories together" if _has_categories(fit) else "")
    ]


def _without_spread(fit: MarkovFit) -> list[str | Message]:
    """Return a sentence on states whose values of a feature are the same, and of no other state.

    Their Gaussian density is as high as the floor of the variance lets it be. A feature that is
    constant in all states tells no states apart.
    """
    emissions = fit.emissions
    if not isinstance(emissions, GaussianEmissions):
        return []
    variances = np.diagonal(emissions.matrices(), axis1=1, axis2=2)
    flat = variances < NO_SPREAD
    flat &= ~flat.all(axis=0)
    if not flat.any():
        return []
    state, place = map(int, np.argwhere(flat)[0])
    name = [name for _, members in emissions.views for name in members][place]
    spread = 1 / float(emissions.frame.scaling[place])
    # without digits of rounding
    value = spread * round(float(emissions.feature_means()[state, place]) / spread, 6) + 0.0
    return [
        f"the values of {name!r} in state {state} are all about {value:.3g}, so that the variance "
        "is near its floor, and likelihoods are as large as the floor makes them; use "
        + Setting("emissions", "kernel")
        + ", whose densities are bounded, or "
        + Setting("emissions", "poisson")
        + " for counts"
    ]


def _alike(
    fit: MarkovFit, counts: TripleCountsResult, diagnostics: dict[str, Any]
) -> list[str | Message]:
    """Return a sentence on states that are the same: all of them, or the first two.

    Independent rows have states of the same emissions, though features vary. The order of equal
    rows says nothing.
    """
    states = range(fit.n_states)
    distances = {(a, b): fit.emissions.distance(a, b) for a, b in combinations(states, 2)}
    if distances and max(distances.values()) < ALIKE:
        rows_differ = len(counts.weight) > 1
        return (rows_differ and _without_order(diagnostics)) or [
            f"the {fit.n_states} states have the same emissions, so that rows do not tell states "
            "apart; use fewer states, or other features"
        ]
    for (a, b), distance in distances.items():
        moves = 0.5 * float(np.abs(fit.transition[a] - fit.transition[b]).sum())
        if max(distance, moves) < ALIKE:
            return [
                f"states {a} and {b} have the same emissions and transitions (distance "
                f"{max(distance, moves):.3f}); use fewer states"
            ]
    return []
