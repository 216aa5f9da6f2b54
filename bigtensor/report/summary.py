"""The report in words: what was fitted on what, how it went, and what to worry about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.kernel_mixture.passes import SETTLED
from bigtensor.report.rows import ReportRows

FloatArray = NDArray[np.float64]

FEW_ROWS = 200
"""Expected rows of a component below which its densities are mostly noise."""

ALIKE = 0.5
"""Affinity of two components from which on they may be one population in two parts."""

MOST_NAMED = 8
"""Pairs of similar components that a warning names."""

FOREIGN = 0.05
"""Difference between a weight and the share of labelled rows that wants an explanation."""

SURE = 0.9

_STARTS = {
    "spectral": "The components were found from moments of kernel features",
    "kmeans": "The components started from k-means clusters of the sample",
}
_METHODS = {"jacobi": "joint diagonalisation", "power": "the robust tensor power method"}
_CONCERNS = {
    "small spectral gap": (
        "The last component asked for hardly stands out: {gap}. The data may support fewer "
        "components; compare with fewer and with more, or use more rows."
    ),
    "rank deficient": (
        "The pair moments have fewer clearly positive eigenvalues than components. Use fewer "
        "components, more rows, or views that tell the components apart better."
    ),
    "not converged": (
        "The decomposition used up its steps before it settled. The posterior passes started from "
        "it all the same; use more rows or fewer components if the populations look wrong."
    ),
}


@dataclass(frozen=True)
class Notice:
    """One thing that a reader should know.

    Attributes
    ----------
    level : {"good", "note", "warning"}
    text : str
        Whole sentences.
    """

    level: Literal["good", "note", "warning"]
    text: str


def fit_sentences(model: Any) -> list[str]:
    """Say what was fitted on what, and in how many passes.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    list of str
        Whole sentences.
    """
    found = model.diagnostics_
    features = len(model.views_.feature_names)
    kind = type(model).__name__
    return [
        f"A {kind} of {_count(len(model.weights_), 'component')} was fitted to "
        f"{_count(found['rows'], 'row')} of {_count(features, 'feature')}.",
        f"The data: {found['data']}.",
        _views_sentence(model.views_.features),
        *_method_sentences(model),
        _passes_sentence(found["passes"]),
        _plan_sentence(found["plan"]),
        _seed_sentence(model.get_params(deep=False).get("random_state")),
    ]


def fit_notices(model: Any, overlap: FloatArray) -> list[Notice]:
    """Say how the fit ended and what is doubtful about it.

    Parameters
    ----------
    model : fitted model
    overlap : (k, k) array
        See `bigtensor.report.profiles.overlaps`.

    Returns
    -------
    list of Notice
        Warnings first.
    """
    found = model.diagnostics_
    notices = [
        *_spectral_notices(found),
        *_likelihood_notices(found["mean_log_likelihood"], "spectral" in found),
        *_missing_notices(found.get("rows_left_out", 0)),
        *_small_component_notices(np.asarray(model.weights_), found["rows"]),
        *_alike_notices(overlap),
        *(Notice("note", _sentence(note)) for note in found.get("notes", [])),
    ]
    return warnings_first(notices)


def row_notices(rows: ReportRows, weights: FloatArray) -> list[Notice]:
    """Say how the sampled rows fit the model.

    Parameters
    ----------
    rows : ReportRows
    weights : (k,) array

    Returns
    -------
    list of Notice
    """
    sure = float(np.average(rows.certainty > SURE, weights=rows.weight))
    notices = [
        Notice(
            "note",
            f"{100 * sure:.0f} % of the sampled rows belong to their component with a probability "
            f"above {SURE}.",
        )
    ]
    difference = rows.shares(len(weights)) - weights
    worst = int(np.argmax(np.abs(difference)))
    if abs(difference[worst]) > FOREIGN:
        notices.append(
            Notice(
                "warning",
                f"Component {worst} holds {100 * (weights[worst] + difference[worst]):.1f} % of "
                f"the labelled rows, but its weight is {100 * weights[worst]:.1f} %. Either the "
                "data are not those of the fit, or the components overlap so much that the most "
                "probable one says little; look at probabilities instead of labels.",
            )
        )
    if rows.left_out:
        notices.append(
            Notice(
                "warning",
                f"{_count(rows.left_out, 'row')} of the sample hold missing values and are left "
                "out of this report.",
            )
        )
    return notices


def sample_sentence(rows: ReportRows) -> str:
    """Say which rows the figures and tables of rows are made of."""
    count = len(rows.label)
    if count + rows.left_out == rows.total:
        return f"Figures and tables of rows show all {_count(count, 'row')} of the data."
    return (
        f"Figures and tables of rows show a sample of {count:,} of the {_count(rows.total, 'row')}"
        ", in windows spread evenly over the data."
    )


def component_description(standardised: FloatArray, features: Sequence[str], most: int = 4) -> str:
    """Describe one component by the features in which it differs from the whole.

    Parameters
    ----------
    standardised : (features,) array
        Means in overall standard deviations.
    features : sequence of str
    most : int, default 4
        Features named at most; those that differ most come first.

    Returns
    -------
    str
        Such as ``"CD19 very high, CD3 low"``: from 0.75 and 1.75 deviations on.
    """
    order = np.argsort(-np.abs(standardised), kind="stable")
    words = []
    for index in order[:most]:
        value = standardised[index]
        if abs(value) >= 0.75:
            very = "very " if abs(value) >= 1.75 else ""
            words.append(f"{features[index]} {very}{'high' if value > 0 else 'low'}")
    return ", ".join(words) or "near the overall mean in every feature"


def warnings_first(notices: Sequence[Notice]) -> list[Notice]:
    """Order notices by how much they matter, keeping the order of equals."""
    return sorted(notices, key=lambda notice: ("warning", "good", "note").index(notice.level))


def size(nbytes: int) -> str:
    """Write a number of bytes with a unit."""
    amount, units = float(nbytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return (
        f"{amount:.0f} {units[0]}"
        if amount >= 100 or units[0] == "bytes"
        else (f"{amount:.1f} {units[0]}")
    )


def _views_sentence(views: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Say which features may depend on each other within a component."""
    if all(len(members) == 1 for _, members in views):
        return (
            "Every feature is a view of its own: features are taken as independent within a "
            "component."
        )
    listed = "; ".join(f"{name} ({', '.join(members)})" for name, members in views)
    return f"Views, independent of each other within a component: {listed}."


def _method_sentences(model: Any) -> list[str]:
    """Say how the components were found."""
    found = model.diagnostics_
    start = "spectral" if "spectral" in found else "kmeans"
    sentence = _STARTS[start]
    if start == "spectral":
        spectral = found["spectral"]
        residual = spectral["candidates"][spectral["chosen"]]["residual"]
        groups = " | ".join(", ".join(names) for names in found["groups"])
        sentence += (
            f" in three groups of views ({groups}) by {_METHODS[spectral['method']]}; of "
            f"{_count(len(spectral['candidates']), 'candidate')} the one called "
            f"“{spectral['chosen']}” was taken, which leaves {100 * residual:.2g} % of the moments "
            "unexplained"
        )
    passes = len(found["mean_log_likelihood"])
    return [
        f"{sentence}.",
        f"{_count(passes, 'posterior pass', 'posterior passes')} then re-estimated weights and "
        "densities. Bandwidths and landmarks come from a sample of "
        f"{_count(found['sample_rows'], 'row')}.",
    ]


def _passes_sentence(passes: Sequence[dict[str, Any]]) -> str:
    """Say what was read."""
    listed = ", ".join(f"{one['name']} ({_count(one['rows'], 'row')})" for one in passes)
    sentence = f"The data were read in {_count(len(passes), 'pass', 'passes')}: {listed}"
    reused = sum(one["reused_parts"] for one in passes)
    if reused:
        sentence += f"; {_count(reused, 'part')} came from a checkpoint"
    return f"{sentence}."


def _plan_sentence(plan: dict[str, Any]) -> str:
    """Say where it ran and what was planned for."""
    allowed = plan["allowed_nbytes"]
    limit = f"of {size(allowed)} allowed" if allowed else "with no limit given"
    return (
        f"It ran on {_count(plan['workers'], 'process', 'processes')} of "
        f"{_count(plan['threads'], 'thread')}, up to {_count(plan['tasks'], 'task')} a pass; the "
        f"plan was to read at most {size(plan['read_nbytes'])} and to hold at most "
        f"{size(plan['projected_nbytes'])} in a process, {limit}."
    )


def _seed_sentence(random_state: int | None) -> str:
    """Say what makes the fit repeatable."""
    seed = "0 (the default)" if random_state is None else str(random_state)
    return f"Random state {seed}: the same data and parameters give the same model."


def _spectral_notices(found: dict[str, Any]) -> list[Notice]:
    """Say how the decomposition ended."""
    spectral = found.get("spectral")
    if spectral is None:
        return []
    gap = _gap_words(spectral["spectral_gap"], found["groups"])
    concerns = spectral["concerns"]
    if not concerns:
        return [Notice("good", _sentence(f"The spectral start settled; {gap}"))]
    return [
        Notice(
            "warning",
            _CONCERNS.get(concern, "The spectral start: {concern}.").format(
                gap=gap, concern=concern
            ),
        )
        for concern in concerns
    ]


def _gap_words(gaps: Sequence[float | None], groups: Sequence[Sequence[str]]) -> str:
    """Say by how much the last component stands out, in the group where it does so least."""
    known = [(gap, names) for gap, names in zip(gaps, groups, strict=True) if gap is not None]
    if not known:
        return "no direction was left out, so there is no spectral gap to judge by"
    least, names = min(known, key=lambda entry: entry[0])
    return (
        f"the last singular value kept is {least:.3g} times the first one left out, in the group "
        f"{', '.join(names)}"
    )


def _likelihood_notices(likelihoods: Sequence[float], spectral: bool) -> list[Notice]:
    """Say whether the posterior passes went the right way, and far enough."""
    changes = [after - before for before, after in pairwise(likelihoods)]
    notices = [
        Notice(
            "warning",
            f"The mean log-likelihood fell by {-change:.3g} nats a row in posterior pass "
            f"{index + 2}; the smoothing of the densities may be too strong or too weak for them.",
        )
        for index, change in enumerate(changes)
        if change < -SETTLED
    ]
    if not spectral and changes and changes[-1] >= SETTLED:
        notices.append(
            Notice(
                "warning",
                f"The mean log-likelihood still rose by {changes[-1]:.2g} nats a row in the last "
                "posterior pass. Allow more passes (posterior_passes).",
            )
        )
    return notices


def _missing_notices(left_out: int) -> list[Notice]:
    """Say how many rows the fit did without."""
    if not left_out:
        return []
    return [
        Notice(
            "warning",
            f"{_count(left_out, 'row')} with missing values {'was' if left_out == 1 else 'were'} "
            "left out of the fit.",
        )
    ]


def _small_component_notices(weights: FloatArray, rows: int) -> list[Notice]:
    """Name the components of a few rows."""
    small = np.flatnonzero(weights * rows < FEW_ROWS)
    if not small.size:
        return []
    listed = ", ".join(f"{h} (about {weights[h] * rows:,.0f} rows)" for h in small)
    one = small.size == 1
    return [
        Notice(
            "warning",
            f"{'Component' if one else 'Components'} {listed} {'is' if one else 'are'} so small "
            f"that {'its' if one else 'their'} densities are mostly noise. Compare with fewer "
            "components.",
        )
    ]


def _alike_notices(overlap: FloatArray) -> list[Notice]:
    """Name the pairs of components that resemble each other, most alike first."""
    alike = np.argwhere(np.triu(overlap, 1) >= ALIKE).tolist()
    if not alike:
        return []
    alike.sort(key=lambda pair: -overlap[pair[0], pair[1]])
    listed = ", ".join(f"{a} and {b} ({overlap[a, b]:.2f})" for a, b in alike[:MOST_NAMED])
    more = f" and {len(alike) - MOST_NAMED} more pairs" if len(alike) > MOST_NAMED else ""
    return [
        Notice(
            "warning",
            f"Hard to tell apart, by affinity (1 means the same): components {listed}{more}. Such "
            "a pair may be one population in two parts; compare with fewer components.",
        )
    ]


def _count(number: int, one: str, several: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def _sentence(text: str) -> str:
    """Give a text a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
