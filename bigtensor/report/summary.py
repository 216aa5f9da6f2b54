"""The report in words: what was fitted on what, and what components are like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.summary import population_of_component
from bigtensor.report.rows import ReportRows
from bigtensor.report.words import counted, size, words_of

FloatArray = NDArray[np.float64]

NOTABLE_TEMPERATURE = 1.005
"""Temperature of probabilities from which on a report tells of it."""

_STARTS = {
    "spectral": "The components were found from moments of kernel features",
    "kmeans": "The components started from k-means clusters of the sample",
}
_METHODS = {"jacobi": "joint diagonalisation", "power": "the robust tensor power method"}
_LANDMARKS = {
    "kmeans": "centres of clusters",
    "kmeans++": "rows that the seeding of clusters chose",
    "uniform": "rows at random",
    "cholesky": "pivots of a randomly pivoted incomplete Cholesky decomposition",
}
_CRITERIA = {
    "misclassification": "the larger part of the rows of one that are labelled as the other",
    "mean_misclassification": "the mean part of the rows of one that are labelled as the other",
    "entropy": "the fall of the entropy of the labels",
    "quadratic_entropy": "the fall of the quadratic entropy of the labels",
    "overlap": "the cosine of their probabilities",
    "separation": "which weighs how often one is taken for the other by their mass",
}


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
        f"A {kind} of {counted(len(model.weights_), 'component')} was fitted to "
        f"{counted(found['rows'], 'row')} of {counted(features, 'feature')}.",
        f"The data: {found['data']}.",
        _views_sentence(model.views_.features),
        *_kernel_sentences(model),
        *_method_sentences(model),
        *_population_sentences(model),
        _passes_sentence(found["passes"]),
        *([_plan_sentence(found["plan"])] if "plan" in found else []),
        _seed_sentence(model.get_params(deep=False).get("random_state")),
    ]


def sample_sentence(rows: ReportRows) -> str:
    """Say which rows the figures and tables of rows are made of."""
    count = len(rows.label)
    if count + rows.left_out == rows.total:
        return f"Figures and tables of rows show all {counted(count, 'row')} of the data."
    return (
        f"Figures and tables of rows show a sample of {count:,} of the {counted(rows.total, 'row')}"
        ", in windows spread evenly over the data."
    )


def component_description(standardised: FloatArray, features: Sequence[str], most: int = 4) -> str:
    """Describe a component, or a population, by the features in which it differs from the whole.

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


def cuts_sentences(model: Any) -> list[str]:
    """Say how to read the agreement of cuts, and which other numbers are about as good.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    list of str
        Whole sentences, none where no cuts were compared.
    """
    found = model.diagnostics_.get("population_count")
    if not found:
        return []
    sentences = [
        "Above is the agreement of the labels from two random halves of the rows: 1 is perfect, "
        "0 is chance. The number chosen combines a high agreement with many populations.",
        "Below is how often rows of the two most similar populations are taken for each other.",
    ]
    if "separate_below" in found:
        sentences[-1] += " Cuts above the dashed line, and all finer ones, are not considered."
    if found["as_good"]:
        others = words_of(found["as_good"])
        sentences.append(
            f"{others} populations are about as good: their scores are within 2 % of the score of "
            f"{found['chosen']}."
        )
    return sentences


def likelihood_sentence(found: Mapping[str, Any]) -> str:
    """Say how to read the likelihood of the passes.

    Parameters
    ----------
    found : mapping
        Diagnostics.
    """
    sentence = "Every posterior pass scores the rows with the densities of the pass before."
    if not found.get("posterior_widths"):
        return sentence
    return (
        f"{sentence} These densities are broadened for labels, so that the value may fall without "
        "a fault."
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
            f"{counted(len(spectral['candidates']), 'candidate')} the one called "
            f"“{spectral['chosen']}” was taken, which leaves {100 * residual:.2g} % of the moments "
            "unexplained"
        )
    passes = len(found["mean_log_likelihood"])
    if not passes:
        return [f"{sentence}.", "No posterior pass has refined them."]
    return [
        f"{sentence}.",
        f"{counted(passes, 'posterior pass', 'posterior passes')} then re-estimated weights and "
        "densities. Bandwidths and landmarks come from a sample of "
        f"{counted(found['sample_rows'], 'row')}.",
    ]


def _kernel_sentences(model: Any) -> list[str]:
    """Say which kernels and landmarks features are made of, where there is something to say."""
    given, found = model.get_params(deep=False), model.diagnostics_
    sentences = []
    kernels = given.get("kernels", "gaussian")
    if isinstance(kernels, Mapping):
        listed = ", ".join(f"{name} {_kernel_name(kind)}" for name, kind in kernels.items())
        sentences.append(f"Kernels: {listed}; Gaussian for all other views.")
    elif kernels != "gaussian":
        sentences.append(f"Kernel of all views: {_kernel_name(kernels)}.")
    if given.get("views_share_components"):
        sentences.append("A component has the same density in all views.")
    landmarks = found.get("landmarks")
    if landmarks:
        counts = {one["count"] for one in landmarks.values()}
        many = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(counts.pop())
        sentences.append(
            f"The kernel features of a view have {many} landmarks: "
            f"{_LANDMARKS[given['landmarks']]}."
        )
    width = found.get("posterior_width")
    if width is not None:
        sentences.append(
            "Labels and probabilities come from densities at least "
            f"{width:g} times as wide as the spread of the feature inside components; those shown "
            "here are finer."
        )
    temperature = found.get("probability_temperature", 1.0)
    if temperature >= NOTABLE_TEMPERATURE:
        sentences.append(
            "Features depend on each other within components, so that products of densities are "
            "too sure: probabilities of populations are raised to the power "
            f"1 / {temperature:.2f}, and scaled to sum to one."
        )
    return sentences


def _kernel_name(kernel: Any) -> str:
    """Return the name of a kernel; one's own has that of its class."""
    return kernel if isinstance(kernel, str) else type(kernel).__name__


def _population_sentences(model: Any) -> list[str]:
    """Say how components were merged into populations."""
    of_component = population_of_component(model)
    if of_component is None:
        return []
    count = int(of_component.max()) + 1
    criterion = model.merge_tree_.criterion
    if criterion not in _CRITERIA:
        return [
            f"The {counted(len(of_component), 'component')} were merged into "
            f"{counted(count, 'population')} that several trees agree on, one of all rows and the "
            "others of random halves of the pilot sample. Labels are those of populations, whose "
            "densities are the weighted sums of those of their components.",
        ]
    return [
        f"The {counted(len(of_component), 'component')} were merged, pair by pair, into "
        f"{counted(count, 'population')}: always the two with the largest "
        f"{criterion.replace('_', ' ')}, {_CRITERIA[criterion]}. Labels are those of populations, "
        "whose densities are the weighted sums of those of their components.",
    ]


def _passes_sentence(passes: Sequence[dict[str, Any]]) -> str:
    """Say what was read."""
    listed = ", ".join(f"{one['name']} ({counted(one['rows'], 'row')})" for one in passes)
    sentence = f"The data were read in {counted(len(passes), 'pass', 'passes')}: {listed}"
    reused = sum(one["reused_parts"] for one in passes)
    if reused:
        sentence += f"; {counted(reused, 'part')} came from a checkpoint"
    return f"{sentence}."


def _plan_sentence(plan: dict[str, Any]) -> str:
    """Say where it ran and what was planned for."""
    allowed = plan["allowed_nbytes"]
    limit = f"of {size(allowed)} allowed" if allowed else "with no limit given"
    return (
        f"It ran on {counted(plan['workers'], 'process', 'processes')} of "
        f"{counted(plan['threads'], 'thread')}, up to {counted(plan['tasks'], 'task')} a pass; the "
        f"plan was to read at most {size(plan['read_nbytes'])} and to hold at most "
        f"{size(plan['projected_nbytes'])} in a process, {limit}."
    )


def _seed_sentence(random_state: int | None) -> str:
    """Say what makes the fit repeatable."""
    seed = "0 (the default)" if random_state is None else str(random_state)
    return f"Random state {seed}: the same data and parameters give the same model."
