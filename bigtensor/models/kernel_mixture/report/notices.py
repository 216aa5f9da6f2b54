"""Notices about a fitted kernel mixture: its verdict, choices that the data made, doubts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtensor.models.kernel_mixture.options import SpectralOptions
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.report.levels import Level
from bigtensor.models.words.faults import verdict_notice
from bigtensor.models.words.label_level import is_cut, population_of_component, tree_of
from bigtensor.models.words.report_blocks import Notice
from bigtensor.models.words.wording import counted, percent, sentence_of, words_of

CLEAR = 1.2
"""Ratio of a singular value to what it has to exceed from which on a count is clear."""

COARSE = 0.1
"""Part of the trace of a kernel matrix that landmarks should not leave out."""

ALIKE = 0.5
"""Affinity of two components from which on they may be one population in two parts."""

MOST_NAMED = 8
"""Pairs of similar components that a warning names."""

_SCORES = {
    "spectral_gaps": "the largest spectral gap",
    "held_out_log_likelihood": "the best likelihood of held-out rows",
}


def fit_notices(model: DescribedKernelMixture, shown: Level) -> tuple[Notice, ...]:
    """Return notices on the end of the fit and its doubts.

    Parameters
    ----------
    model : fitted model
        Fitted model.
    shown : Level
        Its components, or populations.
    """
    diagnostics = model.diagnostics_
    return (
        verdict_notice(diagnostics["verdict"]),
        *_component_count_notices(model),
        *bandwidth_notices(diagnostics.get("bandwidth_choice")),
        *landmark_notices(diagnostics.get("landmarks", {})),
        *population_notices(model),
        *outlier_notices(model),
        *alike_notices(shown),
        *(Notice("note", sentence_of(note)) for note in diagnostics.get("notes", [])),
    )


def _component_count_notices(model: DescribedKernelMixture) -> list[Notice]:
    """Say how clear the number of components is, unless these are merged into populations."""
    if population_of_component(model) is not None:
        return []
    return count_notices(model.diagnostics_.get("component_count"))


def population_notices(model: DescribedKernelMixture) -> list[Notice]:
    """Say whether the tree of components is cut where it would be cut by itself.

    Parameters
    ----------
    model : fitted model
        Fitted model.

    Returns
    -------
    list of Notice
        None without populations.
    """
    of_component, tree = population_of_component(model), tree_of(model)
    if of_component is None or tree is None or not is_cut(tree, of_component):
        return []
    k, count = len(of_component), int(of_component.max()) + 1
    count_choice = model.diagnostics_.get("population_count")
    if count_choice is not None and "stability" in count_choice:
        return [_agreement_notice(count_choice, count)]
    own, what = tree.cut_automatically(), tree.criterion.replace("_", " ")
    last = f"{tree.heights[k - count - 1]:.2g}" if count < k else ""
    following = f"{tree.heights[k - count]:.2g}" if count > 1 else ""
    heights = "; ".join(
        filter(
            None,
            [
                f"the last merge that was made has a {what} of {last}" if last else "",
                f"the next one would have {following}" if following else "",
            ],
        )
    )
    populations = counted(count, "population")
    if count == 1 and k > 1:
        text = (
            f"All components are one population: {heights}. Labels then say nothing; give a number "
            "of populations (n_populations), or narrower densities for the labels "
            f"({SpectralOptions.setting('posterior_width')})."
        )
        return [Notice("warning", text)]
    if count == own:
        return [Notice("good", f"The tree of components has {populations}: {heights}.")]
    if count < own:
        text = (
            f"Components that hardly share rows were merged to get {populations}: {heights}. "
            f"Cut by itself, the tree has {own}."
        )
        return [Notice("warning", text)]
    text = (
        f"The tree is cut into {populations} where by itself it has {own}: {heights}. The "
        "populations to be merged next share more rows than separate ones do."
    )
    return [Notice("note", text)]


def _agreement_notice(count_choice: Mapping[str, Any], count: int) -> Notice:
    """Say how well so many populations agree with fits of halves of the rows."""
    chosen, others = count_choice["chosen"], count_choice["as_good"]
    if count == 1:
        text = (
            "All components are one population, and labels say nothing. Give a number of "
            "populations (n_populations), or narrower densities for the labels "
            f"({SpectralOptions.setting('posterior_width')})."
        )
        return Notice("warning", text)
    populations = counted(count, "population").capitalize()
    if count not in count_choice["counts"]:
        largest = max(count_choice["counts"], default=1)
        text = f"{populations} were not compared with halves of the rows, but up to {largest} were."
        return Notice("note", text)
    place = count_choice["counts"].index(count)
    agreement, confused = count_choice["agreement"][place], count_choice["misclassification"][place]
    text = (
        f"{populations}: on average, they agree with those of fits of halves of the rows by "
        f"{agreement:.2f}, where 1 stands for the same rows. Of the two "
        f"populations that are most alike, {100 * confused:.0f} % of the rows are taken for the "
        "other."
    )
    as_good = f" {words_of(others)} would be about as good." if others else ""
    if count == chosen:
        return Notice("good", f"{text} This is the number that the data suggest.{as_good}")
    return Notice("note", f"{text} The data suggest {chosen}.{as_good}")


def outlier_notices(model: DescribedKernelMixture) -> list[Notice]:
    """Return notices on outliers and their labels.

    Parameters
    ----------
    model : fitted model
        Fitted model.

    Returns
    -------
    list of Notice
        None without populations, without components that are too light to be one, or where the
        tree is cut so finely that they are not merged.
    """
    of_component, tree = population_of_component(model), tree_of(model)
    outlying = model.diagnostics_.get("outlying_components", {"count": 0})
    if of_component is None or tree is None or not outlying["count"]:
        return []
    if of_component.max() + 1 > len(of_component) - outlying["count"]:
        return []
    # components are too light below a mass, so that they are the lightest
    light = np.argsort(tree.weights, kind="stable")[: outlying["count"]]
    numbers, members = np.unique(of_component[light], return_counts=True)
    places = ", ".join(
        f"{number} ({counted(int(count), 'component')})"
        for number, count in zip(numbers, members, strict=True)
    )
    text = (
        f"Outliers: {counted(outlying['count'], 'component')} hold {percent(outlying['share'])} of "
        "the rows together, too few for populations of their own. Their rows have the label of the "
        f"most similar population: {places}."
    )
    return [Notice("note", text)]


def count_notices(component_count: Mapping[str, Any] | None) -> list[Notice]:
    """Say how clear the number of components is, where it was counted.

    Parameters
    ----------
    component_count : mapping, optional
        ``count``, ``singular_values``, ``null`` and ``ratio`` of the diagnostics.
    """
    if not component_count:
        return []
    ratio = component_count["ratio"]
    groups = list(zip(component_count["singular_values"], component_count["null"], strict=True))
    values, null = max(groups, key=lambda group: standing_out(group[0], group[1], ratio))
    kept = standing_out(values, null, ratio)
    times = np.asarray(values[: len(null)]) / np.asarray(null[: len(values)])
    components = counted(component_count["count"], "component")
    if kept == 0:
        text = (
            "No views depend on each other more than by chance, so one component was taken. Use "
            "more rows or other views, or give a number of components."
        )
        return [Notice("warning", text)]
    if kept == len(times):
        text = (
            f"The data show at least {components}, the most that was looked for. Give a number of "
            "components (n_components)."
        )
        return [Notice("warning", text)]
    text = (
        f"{components.capitalize()} were counted. The views depend on each other in "
        f"{components} by at least {times[kept - 1]:.3g} times as much as by chance, and in a "
        f"further one by {times[kept]:.3g} times. A component counts from {ratio:g} times on."
    )
    clear = times[kept - 1] >= CLEAR * ratio and times[kept] * CLEAR <= ratio
    doubt = " The count is a close one; compare with one more and one less."
    return [Notice("good", text) if clear else Notice("warning", text + doubt)]


def bandwidth_notices(choice: Mapping[str, Any] | None) -> list[Notice]:
    """Say which bandwidth the data chose.

    Parameters
    ----------
    choice : mapping, optional
        ``chosen``, ``factors`` and their scores of the diagnostics.
    """
    if not choice:
        return []
    chosen, factors = choice["chosen"], choice["factors"]
    name = next(name for name in _SCORES if name in choice)
    if all(score is None for score in choice[name]):
        text = (
            "No bandwidth that was tried gave a mixture that could be scored, so that of the rule "
            "was taken. Use fewer components or more rows."
        )
        return [Notice("warning", text)]
    text = f"The bandwidth of {chosen:g} times that of the rule has {_SCORES[name]}"
    if chosen in (min(factors), max(factors)):
        end = "narrowest" if chosen == min(factors) else "widest"
        beyond = chosen / 2 if chosen == min(factors) else chosen * 2
        text += (
            f". It is the {end} of those tried; one beyond may be better still, such as "
            f"bandwidth={beyond:g}."
        )
        return [Notice("warning", text)]
    return [Notice("note", f"{text} of {counted(len(factors), 'bandwidth')} tried.")]


def landmark_notices(landmarks: Mapping[str, Mapping[str, Any]]) -> list[Notice]:
    """Name the view whose landmarks say least of it, where that is too little.

    Parameters
    ----------
    landmarks : mapping of str to mapping
        ``count`` and ``trace_error`` by view.
    """
    errors = {
        view: float(one["trace_error"])
        for view, one in landmarks.items()
        if one["trace_error"] is not None and np.isfinite(one["trace_error"])
    }
    if not errors or max(errors.values()) <= COARSE:
        return []
    worst = max(errors, key=lambda view: errors[view])
    poor = sum(error > COARSE for error in errors.values())
    others = f" (and of {counted(poor - 1, 'other view')})" if poor > 1 else ""
    return [
        Notice(
            "warning",
            f"The {landmarks[worst]['count']} landmarks of view {worst}{others} leave "
            f"{100 * errors[worst]:.0f} % of the trace of its kernel matrix. Allow more "
            f"({SpectralOptions.setting('n_landmarks')}), use a wider bandwidth, or make views of "
            "fewer features.",
        )
    ]


def standing_out(values: Sequence[float], null: Sequence[float], ratio: float) -> int:
    """Return how many leading singular values exceed their null by a ratio.

    Parameters
    ----------
    values, null : sequences of float
        Descending singular values, and the null of the first of them.
    ratio : float
        Smallest ratio of a value to its null that stands out.
    """
    exceeds = np.asarray(values)[: len(null)] > ratio * np.asarray(null)[: len(values)]
    return int(np.cumprod(exceeds).sum())


def alike_notices(shown: Level) -> list[Notice]:
    """Name the pairs that resemble each other, most alike first."""
    overlap, name = shown.overlap, shown.name
    alike = np.argwhere(np.triu(overlap, 1) >= ALIKE).tolist()
    if not alike:
        return []
    alike.sort(key=lambda pair: -overlap[pair[0], pair[1]])
    listed = ", ".join(f"{a} and {b} ({overlap[a, b]:.2f})" for a, b in alike[:MOST_NAMED])
    more = f" and {len(alike) - MOST_NAMED} more pairs" if len(alike) > MOST_NAMED else ""
    remedy = (
        "Compare with fewer components."
        if name == "component"
        else "Merge them (bigtensor merge-populations), or compare with fewer populations "
        "(bigtensor cut)."
    )
    return [
        Notice(
            "warning",
            f"These pairs of {name}s overlap, and each may be one population in two parts: "
            f"{listed}{more}. Numbers in parentheses are affinities, where 1 means the same. "
            f"{remedy}",
        )
    ]
