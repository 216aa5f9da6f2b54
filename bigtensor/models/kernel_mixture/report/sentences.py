"""Sentences on the fit of a kernel mixture and on its components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.component_merging import LEVELS
from bigtensor.descending_order import descending_order
from bigtensor.models.kernel_mixture.choices.alternative_initialisations import (
    began_with_moments,
)
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.words.label_level import population_of_component, tree_of
from bigtensor.models.words.wording import counted, independence_sentence, words_of

NOTABLE_TEMPERATURE = 1.005
"""Temperature of probabilities from which on a report tells of it."""

_INITIALISATIONS = {
    "spectral": "The components were found from moments of kernel features",
    "kmeans": "The initialisation was k-means clusters of the sample",
}
_METHODS = {"jacobi": "joint diagonalisation", "power": "the robust tensor power method"}
_LANDMARKS = {
    "kmeans": "centres of clusters",
    "kmeans++": "rows that the seeding of clusters chose",
    "uniform": "rows at random",
    "cholesky": "pivots of a randomly pivoted incomplete Cholesky decomposition",
}
MOST_NAMED_FEATURES = 4
"""Features that describe a component."""

_CRITERIA = {
    "misclassification": "the larger part of the rows of one that are labelled as the other",
    "mean_misclassification": "the mean part of the rows of one that are labelled as the other",
    "quadratic_entropy": "the fall of the quadratic entropy of the labels",
    "overlap": "the cosine of their probabilities",
    "separation": "which weighs how often one is taken for the other by their mass",
}


def method_sentences(model: DescribedKernelMixture) -> tuple[str, ...]:
    """Return sentences on components, their initialisation and their merging.

    Returns
    -------
    tuple of str
        Whole sentences.
    """
    return (
        independence_sentence(model.views_.features),
        *_kernel_sentences(model),
        *_initialisation_sentences(model),
        *_population_sentences(model),
    )


def component_description(standardised: FloatArray, features: Sequence[str]) -> str:
    """Describe a component, or a population, by the features in which it differs from the whole.

    Parameters
    ----------
    standardised : (features,) array
        Means in overall standard deviations.
    features : sequence of str
        Names of the features.

    Returns
    -------
    str
        Such as ``"CD19 very high, CD3 low"``: from 0.75 and 1.75 deviations on, the features that
        differ most first.
    """
    order = descending_order(np.abs(standardised))
    words = []
    for index in order[:MOST_NAMED_FEATURES]:
        value = standardised[index]
        if abs(value) >= 0.75:
            very = "very " if abs(value) >= 1.75 else ""
            words.append(f"{features[index]} {very}{'high' if value > 0 else 'low'}")
    return ", ".join(words) or "near the overall mean in every feature"


def cuts_sentences(model: DescribedKernelMixture) -> list[str]:
    """Say how to read the agreement of cuts, and which other numbers are about as good.

    Parameters
    ----------
    model : fitted model
        Fitted model with populations.

    Returns
    -------
    list of str
        Whole sentences, none where no cuts were compared.
    """
    count_choice = model.diagnostics_.get("population_count")
    if not count_choice or "stability" not in count_choice:
        return []
    sentences = [
        "Above is the mean agreement with fits of halves of the rows: 1 stands for populations "
        "with the same rows. The score combines a high agreement with many populations. Of the "
        "numbers whose score is about the best, the smallest is chosen. If a cut is wholly stable "
        "and no finer one is, the cut is chosen.",
        "Below is how often rows of the two most similar populations are taken for each other.",
    ]
    if "separate_below" in count_choice:
        sentences[-1] += " Cuts above the dashed line, and all finer ones, are not considered."
    if count_choice["as_good"]:
        others = words_of(count_choice["as_good"])
        sentences.append(
            f"{others} populations are about as good: the difference to the best score is within "
            "the standard error between random halves."
        )
    return sentences


def likelihood_sentence(diagnostics: Mapping[str, Any]) -> str:
    """Say how to read the likelihood of the passes.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics.
    """
    sentence = "Every posterior pass scores the rows with the densities of the pass before."
    if not diagnostics.get("posterior_widths"):
        return sentence
    return (
        f"{sentence} These densities are broadened for labels, so that the value may fall without "
        "a fault."
    )


def _initialisation_sentences(model: DescribedKernelMixture) -> list[str]:
    """Say how the components were found."""
    diagnostics = model.diagnostics_
    initialisation = "spectral" if began_with_moments(diagnostics) else "kmeans"
    sentence = _INITIALISATIONS[initialisation]
    if initialisation == "spectral":
        spectral = diagnostics["spectral"]
        residual = spectral["candidates"][spectral["chosen"]]["residual"]
        groups = " | ".join(", ".join(names) for names in diagnostics["groups"])
        sentence += (
            f" in three groups of views ({groups}) by {_METHODS[spectral['method']]}; of "
            f"{counted(len(spectral['candidates']), 'candidate')} the one called "
            f"“{spectral['chosen']}” was taken, which leaves {100 * residual:.2g} % of the moments "
            "unexplained"
        )
    passes = len(diagnostics["mean_log_likelihood"])
    if not passes:
        return [f"{sentence}.", "No posterior pass has refined them."]
    return [
        f"{sentence}.",
        f"{counted(passes, 'posterior pass', 'posterior passes')} then re-estimated weights and "
        "densities. Bandwidths and landmarks come from a sample of "
        f"{counted(diagnostics['sample_rows'], 'row')}.",
    ]


def _kernel_sentences(model: DescribedKernelMixture) -> list[str]:
    """Say which kernels and landmarks features are made of, where there is something to say."""
    diagnostics = model.diagnostics_
    sentences = []
    kernels = diagnostics.get("kernels", {})
    if len({*kernels.values()}) == 1 and len(kernels) == len(model.views_.features):
        sentences.append(f"Kernel of all views: {next(iter(kernels.values()))}.")
    elif kernels:
        listed = ", ".join(f"{name} {kernel}" for name, kernel in kernels.items())
        others = "; Gaussian for all other views" * (len(kernels) < len(model.views_.features))
        sentences.append(f"Kernels: {listed}{others}.")
    if diagnostics.get("shared"):
        sentences.append("A component has the same density in all views.")
    landmarks = diagnostics.get("landmarks")
    if landmarks:
        counts = {one["count"] for one in landmarks.values()}
        many = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(counts.pop())
        sentences.append(
            f"The kernel features of a view have {many} landmarks: "
            f"{_LANDMARKS[diagnostics.get('landmark_choice', 'kmeans')]}."
        )
    width = diagnostics.get("posterior_width")
    if width is not None:
        sentences.append(
            "Labels and probabilities come from densities at least "
            f"{width:g} times as wide as the spread of the feature inside components; those shown "
            "here are finer."
        )
    temperature = diagnostics.get("probability_temperature", 1.0)
    if temperature >= NOTABLE_TEMPERATURE:
        sentences.append(
            "Features are correlated within components, so that probabilities of populations would "
            f"be too extreme. They were flattened (temperature {temperature:.2f})."
        )
    return sentences


def _population_sentences(model: DescribedKernelMixture) -> list[str]:
    """Say how components were merged into populations."""
    of_component, tree = population_of_component(model), tree_of(model)
    if of_component is None:
        return []
    count = int(of_component.max()) + 1
    if tree is None:
        return [
            f"The {counted(len(of_component), 'component')} are {counted(count, 'population')}, as "
            "they were named and merged by hand."
        ]
    criterion = tree.criterion
    if criterion == LEVELS:
        return [
            f"The {counted(len(of_component), 'component')} were merged, pair by pair, into "
            f"{counted(count, 'population')}. Pairs whose rows are hard to tell apart, or that "
            "are high and low in the same features, are merged first, and light pairs before heavy "
            "ones. Labels are those of populations, whose densities are the weighted sums of those "
            "of their components.",
        ]
    return [
        f"The {counted(len(of_component), 'component')} were merged, pair by pair, into "
        f"{counted(count, 'population')}: always the two with the largest "
        f"{criterion.replace('_', ' ')}, {_CRITERIA[criterion]}. Labels are those of populations, "
        "whose densities are the weighted sums of those of their components.",
    ]
