"""How the fit went, and what to worry about, in whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.kernel_mixture.passes import SETTLED
from bigtensor.report.choice_notices import (
    bandwidth_notices,
    count_notices,
    landmark_notices,
    outlier_notices,
    population_notices,
)
from bigtensor.report.level import Level
from bigtensor.report.rows import ReportRows
from bigtensor.report.words import Notice, counted, sentence_of

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


def fit_notices(model: Any, shown: Level) -> list[Notice]:
    """Say how the fit ended and what is doubtful about it.

    Parameters
    ----------
    model : fitted model
    shown : Level
        Its components, or populations.

    Returns
    -------
    list of Notice
        Warnings first.
    """
    found = model.diagnostics_
    notices = [
        *_verdict_notices(found),
        *count_notices(found.get("component_count")),
        *bandwidth_notices(found.get("bandwidth_choice")),
        *landmark_notices(found.get("landmarks", {})),
        *_missing_notices(found.get("rows_left_out", 0)),
        *population_notices(model),
        *outlier_notices(model),
        *_small_notices(shown, found["rows"]),
        *_alike_notices(shown),
        *(Notice("note", sentence_of(note)) for note in found.get("notes", [])),
    ]
    return warnings_first(notices)


def row_notices(rows: ReportRows, shown: Level) -> list[Notice]:
    """Say how the sampled rows fit the model.

    Parameters
    ----------
    rows : ReportRows
    shown : Level

    Returns
    -------
    list of Notice
    """
    weights, name = shown.weights, shown.name
    sure = float(np.average(rows.certainty > SURE, weights=rows.weight))
    notices = [
        Notice(
            "note",
            f"{100 * sure:.0f} % of the sampled rows belong to their {name} with a probability "
            f"above {SURE}.",
        )
    ]
    difference = rows.shares(len(weights)) - weights
    worst = int(np.argmax(np.abs(difference)))
    share = weights[worst] + difference[worst]
    if abs(difference[worst]) > FOREIGN:
        notices.append(
            Notice(
                "warning",
                f"{name.capitalize()} {worst} holds {100 * share:.1f} % of the labelled rows, "
                f"but its weight is {100 * weights[worst]:.1f} %. Either the "
                f"data are not those of the fit, or the {name}s overlap so much that the most "
                "probable one says little; look at probabilities instead of labels.",
            )
        )
    if rows.left_out:
        notices.append(
            Notice(
                "warning",
                f"{counted(rows.left_out, 'row')} of the sample hold missing values and are left "
                "out of this report.",
            )
        )
    return notices


def warnings_first(notices: Sequence[Notice]) -> list[Notice]:
    """Order notices by how much they matter, keeping the order of equals."""
    return sorted(notices, key=lambda notice: ("warning", "good", "note").index(notice.level))


def _verdict_notices(found: dict[str, Any]) -> list[Notice]:
    """Give the verdict on the final mixture, and what intermediate steps met where there is none.

    Parameters
    ----------
    found : dict
        Diagnostics. Models of earlier versions have no verdict.
    """
    verdict = found.get("verdict")
    if verdict is not None:
        return [Notice("good" if verdict["good"] else "warning", " ".join(verdict["sentences"]))]
    # passes with broad densities are not meant to climb the likelihood
    return _spectral_notices(found) + (
        []
        if "posterior_widths" in found
        else _likelihood_notices(found["mean_log_likelihood"], "spectral" in found)
    )


def _spectral_notices(found: dict[str, Any]) -> list[Notice]:
    """Say how the decomposition ended."""
    spectral = found.get("spectral")
    if spectral is None:
        return []
    gap = _gap_words(spectral["spectral_gap"], found["groups"])
    concerns = spectral["concerns"]
    if not concerns:
        return [Notice("good", sentence_of(f"The spectral start settled; {gap}"))]
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
            f"{counted(left_out, 'row')} with missing values {'was' if left_out == 1 else 'were'} "
            "left out of the fit.",
        )
    ]


def _small_notices(shown: Level, rows: int) -> list[Notice]:
    """Name the components, or populations, of a few rows."""
    weights, name = shown.weights, shown.name
    small = np.flatnonzero(weights * rows < FEW_ROWS)
    if not small.size:
        return []
    named = small[:MOST_NAMED]
    listed = ", ".join(f"{h} (about {weights[h] * rows:,.0f} rows)" for h in named)
    listed += f" and {small.size - named.size} more" if small.size > named.size else ""
    one = small.size == 1
    how = " (model.cut_populations)" if name == "population" else ""
    return [
        Notice(
            "warning",
            f"{name.capitalize()}{'' if one else 's'} {listed} {'is' if one else 'are'} so small "
            f"that {'its' if one else 'their'} densities are mostly noise. Compare with fewer "
            f"{name}s{how}.",
        )
    ]


def _alike_notices(shown: Level) -> list[Notice]:
    """Name the pairs that resemble each other, most alike first."""
    overlap, name = shown.overlap, shown.name
    alike = np.argwhere(np.triu(overlap, 1) >= ALIKE).tolist()
    if not alike:
        return []
    alike.sort(key=lambda pair: -overlap[pair[0], pair[1]])
    listed = ", ".join(f"{a} and {b} ({overlap[a, b]:.2f})" for a, b in alike[:MOST_NAMED])
    more = f" and {len(alike) - MOST_NAMED} more pairs" if len(alike) > MOST_NAMED else ""
    meaning = (
        "Such a pair may be one population in two parts; compare with fewer components."
        if name == "component"
        else "Such a pair may be one population; compare with fewer populations "
        "(model.cut_populations)."
    )
    return [
        Notice(
            "warning",
            f"Hard to tell apart, by affinity (1 means the same): {name}s {listed}{more}. "
            f"{meaning}",
        )
    ]
