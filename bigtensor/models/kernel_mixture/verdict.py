"""Verdict on a kernel mixture: numbers, and the faults that they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.solution import Outcome
from bigtensor.errors import Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.kernel_mixture.pilot_scores import Difference, PilotScores
from bigtensor.models.kernel_mixture.solution import KernelFit
from bigtensor.models.kernel_mixture.solve import LEAST_WEIGHT
from bigtensor.models.words.convergence_warning import ConvergenceWarning
from bigtensor.models.words.faults import Fault, as_warnings
from bigtensor.models.words.label_level import RELIABLE_ROWS

FEW_ROWS = 10
"""Fewer rows do not make a component or a population, and do not show that there is none."""

MOST_NAMED = 8
"""Components, or pairs of these, that a sentence names."""

SMALL_SHARE = 0.01
"""Largest share of so few rows: of small data, few rows may be a large part."""

LEAST_ROWS = 100
"""Fewest rows of a sample whose held-out likelihood is judged: it is too noisy in fewer."""

EVIDENCE = 15.0
"""Log-likelihood, in nats of all rows together, that a component has to be worth.

On 70 simulated sets of 500 to 30,000 rows, superfluous components were worth at most 10 nats
(the responsibilities have seen the held-out rows), and true ones at least 27.
"""

STANDARD_ERRORS = 2.0
"""Standard errors by which the worth of a component has to exceed zero."""

CHANGED = 0.01
"""Share of labels that the last pass may change.

On 40 fits of simulated and real sets, 80 passes changed 2 to 40 % of the labels that the default
passes gave where the last of these had changed more than this share, and else at most 4 %, but for
two of seven percent.
"""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a verdict on a final mixture is formed from.

    Attributes
    ----------
    weights : (k,) float64 array
        Of the components, in their final order.
    order : (k,) integer array
        The components of `scores` and `labelled` in their final order.
    rows : float
        Rows, or their total weight, that the densities were made from.
    scores : PilotScores, optional
        None if no row is at hand.
    labelled : (k,) array, optional
        Rows that have every component as the most probable one, or their weight, of all rows.
    population_weights : (populations,) float64 array, optional
        Weights of the populations, where components are merged.
    judge_settling : bool
        True if the passes were meant to continue until labels settle.
    passes : int
        Number of posterior passes.
    outliers : list of Fault
        Warning of outlying rows, or none.
    spectral : dict, optional
        Diagnostics of the decomposition of the moments.
    """

    weights: NDArray[np.float64]
    order: NDArray[np.intp]
    rows: float
    scores: PilotScores | None = None
    labelled: NDArray[Any] | None = None
    population_weights: NDArray[np.float64] | None = None
    judge_settling: bool = False
    passes: int = 0
    outliers: list[Fault] = field(default_factory=list)
    spectral: dict[str, Any] | None = None


def judged(fit: KernelFit, evidence: Evidence, diagnostics: dict[str, Any]) -> Solved:
    """Return a final mixture with the verdict on it, and warn of faults.

    Parameters
    ----------
    fit : KernelFit
        The fitted model.
    evidence : Evidence
        Everything that the verdict is formed from.
    diagnostics : dict
        Of the fit.
    """
    numbers = _numbers(evidence)
    of_kind = _component_faults if evidence.population_weights is None else _population_faults
    faults = [*as_warnings(*of_kind(evidence, numbers)), *evidence.outliers]
    if evidence.judge_settling and numbers.get("labels_changed", 0.0) > CHANGED:
        sentence = (
            f"The last of {evidence.passes} EM iterations still changed the labels of "
            f"{100 * numbers['labels_changed']:.1f} % of the rows, so that the labels depend on "
            "the number of iterations. Use "
            + Setting("max_iter", max(20, 3 * evidence.passes))
            + ", or another initialisation ("
            + Setting("init")
            + ")."
        )
        faults.append((ConvergenceWarning, sentence))
    if faults and evidence.scores is not None:
        faults.append((None, f"Held-out log-likelihood {numbers['held_out_log_likelihood']:.2f}."))
    return with_verdict(fit, faults, _confirmation(evidence, numbers), diagnostics, numbers)


def judged_moments(fit: KernelFit, diagnostics: dict[str, Any], outliers: list[Fault]) -> Solved:
    """Return a mixture that was solved from moments, before any EM iteration, with a verdict.

    Parameters
    ----------
    fit : KernelFit
        The fitted model.
    diagnostics : dict
        With those of the decomposition, as ``spectral``.
    outliers : list of Fault
        Warning of outlying rows, or none.
    """
    k = len(fit.solution.weights)
    doubt = _initialisation(diagnostics["spectral"], k)
    if doubt is None:
        confirmation = "The moments separate the components."
        notes: list[Fault] = [(None, confirmation)] if outliers else []
        return with_verdict(fit, [*outliers, *notes], confirmation, diagnostics)
    sentence = (
        f"{doubt} No EM iteration has judged the components yet. Accumulate posterior sums and "
        "solve again, or use fewer components than " + Setting("n_components", k) + "."
    )
    return with_verdict(fit, [*as_warnings(sentence), *outliers], "", diagnostics)


def _numbers(evidence: Evidence) -> dict[str, Any]:
    """Return the numbers behind the verdict, with components in their final order."""
    weights, scores, k = evidence.weights, evidence.scores, len(evidence.weights)
    place = np.argsort(evidence.order)
    empty = weights < 2 * LEAST_WEIGHT / k
    few = ~empty & _few(weights, evidence.rows)
    numbers: dict[str, Any] = {
        "empty_components": _positions(empty),
        "components_of_few_rows": _positions(few),
        "components_without_labels": [],
        "duplicated_components": [],
    }
    rows, labelled = evidence.rows, evidence.labelled
    if scores is not None:
        rows, labelled = scores.rows, scores.labelled
    if labelled is not None:
        # of rarer components a sample has too few rows to miss their labels
        expected = weights * rows >= FEW_ROWS
        without = expected & ~empty & ~few & (labelled[evidence.order] == 0)
        numbers["components_without_labels"] = _positions(without)
    if evidence.population_weights is not None:
        share = evidence.population_weights
        numbers["populations_of_few_rows"] = _positions(_few(share, evidence.rows))
    if scores is None:
        return numbers
    numbers |= {
        "held_out_rows": scores.rows,
        "held_out_log_likelihood": scores.log_likelihood,
        "gain_over_one_component": scores.gain.mean,
        "labels_changed": scores.changed,
    }
    if scores.rows >= LEAST_ROWS:
        judged = ~empty & ~few & (weights * scores.rows >= FEW_ROWS)
        numbers["duplicated_components"] = sorted(
            sorted((int(place[a]), int(place[b])))
            for (a, b), loss in scores.merging_losses.items()
            if judged[place[a]] and judged[place[b]] and _is_nothing(loss, evidence.rows)
        )
        numbers["independent_views"] = k > 1 and _is_nothing(scores.gain, evidence.rows)
    return numbers


def _component_faults(evidence: Evidence, numbers: dict[str, Any]) -> list[str]:
    """Say which components the data do not support."""
    k = len(evidence.weights)
    empty, few = numbers["empty_components"], numbers["components_of_few_rows"]
    unlabelled, pairs = numbers["components_without_labels"], numbers["duplicated_components"]
    without = {*empty, *few, *unlabelled}
    supported = max(1, _supported(k, without, pairs))
    if numbers.get("independent_views") or (supported == 1 < k and evidence.scores is not None):
        return [
            f"The data show no components: {k} components give held-out rows no better "
            "log-likelihood than a single one. Labels then say nothing. Use "
            + Setting("n_components", 1)
            + ", or views that depend on each other."
        ]
    reasons = [
        f"{_named('component', empty)} {_verb(empty, 'holds', 'hold')} next to no rows"
        if empty
        else "",
        f"{_named('component', few)} {_verb(few, 'holds', 'hold')} fewer than {FEW_ROWS} rows"
        if few
        else "",
        f"{_named('component', unlabelled)} {_verb(unlabelled, 'is', 'are')} the most probable "
        f"{_verb(unlabelled, 'one', 'ones')} of no row"
        if unlabelled
        else "",
        *_pairs_in_words([pair for pair in pairs if without.isdisjoint(pair)]),
    ]
    reason = "; ".join(filter(None, reasons))
    if not reason:
        return []
    return [
        f"The mixture supports only {supported} of {k} components: {reason}. Labels may split one "
        "population or miss another. Use "
        + Setting("n_components", supported)
        + ", or merge many components into populations with "
        + Setting("n_populations", k)
        + "."
    ]


def _pairs_in_words(pairs: Sequence[Sequence[int]]) -> list[str]:
    """Say which components describe the same rows."""
    sentences = [f"components {a} and {b} describe the same rows" for a, b in pairs[:MOST_NAMED]]
    rest = pairs[MOST_NAMED:]
    return [*sentences, f"so do {len(rest)} more pairs"] if rest else sentences


def _population_faults(evidence: Evidence, numbers: dict[str, Any]) -> list[str]:
    """Say which populations are a handful of rows."""
    assert evidence.population_weights is not None
    few, count = numbers["populations_of_few_rows"], len(evidence.population_weights)
    if not few or count == 1:
        return []
    rows = evidence.population_weights[few].sum() * evidence.rows
    return [
        f"{_named('population', few).capitalize()} {_verb(few, 'holds', 'hold')} {rows:.0f} of "
        f"{evidence.rows:,.0f} rows: {_verb(few, 'it is', 'they are')} a few outlying rows, and "
        "larger populations were merged in "
        f"{_verb(few, 'its', 'their')} place. Use "
        + Setting("n_populations", count + len(few))
        + ", or leave the outlying rows out."
    ]


def _confirmation(evidence: Evidence, numbers: dict[str, Any]) -> str:
    """Say that the mixture holds, and what the initialisation met."""
    doubt = _initialisation(evidence.spectral, len(evidence.weights))
    # components that are merged may be empty
    part = "component" if evidence.population_weights is None else "population"
    result = f"no empty {part}"
    if evidence.population_weights is not None:
        small = int(np.count_nonzero(evidence.population_weights * evidence.rows < RELIABLE_ROWS))
        result += f", {small} of fewer than {RELIABLE_ROWS} rows" if small else ""
    if evidence.scores is not None:
        result = f"held-out log-likelihood {numbers['held_out_log_likelihood']:.2f}, {result}"
    if doubt is None:
        return f"No fault was found in the mixture ({result})."
    if doubt.startswith(_FOUND_FEWER):
        return f"{doubt} EM iterations recovered them ({result})."
    return f"{doubt} EM iterations mended this ({result})."


_FOUND_FEWER = "The initialisation found only"


def _initialisation(spectral: dict[str, Any] | None, n_components: int) -> str | None:
    """Say what the decomposition of the moments met, or None if it met nothing."""
    outcome = Outcome.CONVERGED.value if spectral is None else spectral["outcome"]
    if spectral is None or outcome == Outcome.CONVERGED.value:
        return None
    if outcome == Outcome.RANK_DEFICIENT.value:
        chosen = spectral["candidates"][spectral["chosen"]]
        return (
            f"{_FOUND_FEWER} {n_components - chosen['floored_eigenvalues']} of {n_components} "
            "components, because the views do not separate the rest."
        )
    if outcome == Outcome.SMALL_SPECTRAL_GAP.value:
        return "In the initialisation the last component hardly stood out from noise."
    return "The decomposition of the initialisation did not converge."


def _few(weights: NDArray[np.float64], rows: float) -> NDArray[np.bool_]:
    """Return the shares that are a handful of rows."""
    return np.asarray((weights * rows < FEW_ROWS) & (weights < SMALL_SHARE))


def _is_nothing(worth: Difference, rows: float) -> bool:
    """Return True if a difference of held-out log-likelihoods shows nothing."""
    return worth.mean * rows < EVIDENCE or worth.mean < STANDARD_ERRORS * worth.error


def _supported(k: int, without: set[int], pairs: Sequence[Sequence[int]]) -> int:
    """Return the number of components that are left when duplicated ones become one."""
    group = list(range(k))
    for a, b in pairs:
        old, new = group[b], group[a]
        group = [new if entry == old else entry for entry in group]
    return len({group[h] for h in range(k) if h not in without})


def _positions(flags: NDArray[np.bool_]) -> list[int]:
    """Return the positions of true entries as integers."""
    return [int(position) for position in np.flatnonzero(flags)]


def _named(noun: str, numbers: Sequence[int]) -> str:
    """Write numbers with their noun: "components 1, 2 and 5"."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    *named, last = [str(number) for number in numbers[:MOST_NAMED]]
    if len(numbers) > MOST_NAMED:
        named, last = [*named, last], f"{len(numbers) - MOST_NAMED} more"
    return f"{noun}s {', '.join(named)} and {last}"


def _verb(numbers: Sequence[int], one: str, several: str) -> str:
    """Return the form of a verb for so many subjects."""
    return one if len(numbers) == 1 else several
