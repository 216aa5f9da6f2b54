"""Diagnostics of a kernel mixture: spectra, their null, likelihoods, bandwidths, landmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.report.notices import standing_out
from bigtensor.models.kernel_mixture.report.sentences import likelihood_sentence
from bigtensor.models.words.report_blocks import Block, Cell, Group, Table, Words
from bigtensor.models.words.report_figures import Curve, Curves, Panel, Rule

SMALL_MARKS_FROM = 60
"""Points of a curve above which its marks are smaller."""


def diagnostic_blocks(model: DescribedKernelMixture) -> tuple[Block, ...]:
    """Return figures and tables of how a fit went."""
    diagnostics = model.diagnostics_
    spectral, counted = diagnostics.get("spectral"), diagnostics.get("component_count")
    names = [", ".join(members) for members in diagnostics.get("groups", [])]
    blocks: list[Block] = []
    if counted:
        blocks.append(_counting_group(counted, names))
    if spectral:
        k = len(model.weights_)
        text = (
            "Pair moments of every group of views. Filled: kept, one a component. Hollow: left "
            "out. A clear step at the dotted line says that the number of components fits the data."
        )
        blocks.append(Group((spectrum(spectral["singular_values"], k, names), Words(text))))
    if diagnostics["mean_log_likelihood"]:
        curve = likelihood_by_pass(diagnostics["mean_log_likelihood"])
        blocks.append(Group((curve, Words(likelihood_sentence(diagnostics)))))
    if "bandwidth_choice" in diagnostics:
        table = bandwidth_table(diagnostics["bandwidth_choice"])
        blocks.append(Group((table,), "Bandwidth of the moments"))
    if diagnostics.get("landmarks"):
        blocks.append(Group((landmark_table(diagnostics["landmarks"]),), "Landmarks"))
    gallery = (Group(tuple(blocks), layout="wide"),) if blocks else ()
    if not spectral:
        return gallery
    return (*gallery, Group((conditioning_table(spectral, diagnostics["groups"]),), "Conditioning"))


def _counting_group(counted: Mapping[str, Any], names: Sequence[str]) -> Group:
    """Return the singular values that components were counted by."""
    null = counted["null"]
    if len(names) != len(null):
        names = [f"group {number}" for number in range(1, len(null) + 1)]
    text = (
        "Cross-covariance of the kernel features of every group of views with the others, in the "
        "sample. Filled: above what independent views give, the dashed line; there is one "
        "component more than the largest number of these."
    )
    figure = scree(counted["singular_values"], null, counted["ratio"], names)
    return Group((figure, Words(text)))


def spectrum(singular_values: Sequence[Sequence[float]], k: int, names: Sequence[str]) -> Curves:
    """Return the singular values of the pair moments of every group of views.

    Parameters
    ----------
    singular_values : sequence of sequences of float
        Descending.
    k : int
        Number that is kept: these are filled, the others hollow.
    names : sequence of str
        Of the groups.
    """
    curves = [
        _values_and_kept(values, k, name, colour)
        for colour, (values, name) in enumerate(zip(singular_values, names, strict=True))
    ]
    panel = Panel(
        (*curves, Rule(k + 0.5)), "Singular values", x_label="direction", logarithmic=True
    )
    return Curves("Singular values of the pair moments of the groups of views", (panel,))


def scree(
    singular_values: Sequence[Sequence[float]],
    null: Sequence[Sequence[float]],
    ratio: float,
    names: Sequence[str],
) -> Curves:
    """Return the singular values that components were counted by, and their thresholds.

    Parameters
    ----------
    singular_values : sequence of sequences of float
        Of the centred cross-covariance of every group of views with the others, descending.
    null : sequence of sequences of float
        The largest singular value under independence, for each that was tested.
    ratio : float
        By which a singular value has to exceed its null.
    names : sequence of str
        Of the groups.
    """
    items = []
    for colour, (values, limit, name) in enumerate(zip(singular_values, null, names, strict=True)):
        needed = ratio * np.asarray(limit)
        items += [
            _values_and_kept(values, standing_out(values, limit, ratio), name, colour),
            Curve(np.arange(1, len(needed) + 1), needed, colour=colour, dashed=True),
        ]
    items.append(Curve([], [], f"{ratio:g} times independence", colour=None, dashed=True))
    panel = Panel(tuple(items), "Counting components", x_label="direction", logarithmic=True)
    alternative = "Singular values that components were counted by, and what they have to exceed"
    return Curves(alternative, (panel,))


def likelihood_by_pass(mean_log_likelihood: Sequence[float]) -> Curves:
    """Return the mean log-likelihood of a row that every posterior pass found.

    Parameters
    ----------
    mean_log_likelihood : sequence of float
        In nats.
    """
    passes = np.arange(1, len(mean_log_likelihood) + 1)
    panel = Panel(
        (Curve(passes, mean_log_likelihood, marker=5),),
        "Mean log-likelihood",
        "posterior pass",
        "nats a row",
        x_limits=(0.5, len(passes) + 0.5),
    )
    return Curves("Mean log-likelihood by posterior pass", (panel,))


def agreement_of_cuts(count_choice: Mapping[str, Any], shown: int) -> Curves:
    """Return how well halves agree on every cut, and how separate its populations are.

    Parameters
    ----------
    count_choice : mapping
        The diagnostics' ``population_count``, with at least one number of populations.
    shown : int
        Number of populations of the model, which may have been cut elsewhere.

    Returns
    -------
    Curves
        Above: the mean agreement. Below: the misclassification of the worst pair. Both
        mark the number that was chosen by a dot, and the number shown by a dotted line.
    """
    counts, chosen = count_choice["counts"], count_choice["chosen"]
    items: list[list[Curve | Rule]] = []
    for values in (count_choice["agreement"], count_choice["misclassification"]):
        items.append([Curve(counts, values, marker=2), Rule(shown, f"shown: {shown}")])
        if chosen in counts:
            value = values[counts.index(chosen)]
            items[-1].append(Curve([chosen], [value], f"chosen: {chosen}", 1, marker=7))
    if "separate_below" in count_choice:
        name = "largest that is considered"
        items[1].append(Rule(count_choice["separate_below"], name, upright=False))
    agreement = Panel(
        tuple(items[0]),
        "Agreement with halves of the rows",
        y_label="mean over rows",
        y_limits=(0, 1.03),
        share=3,
    )
    worst = Panel(
        tuple(items[1]),
        x_label="populations",
        y_label="worst pair",
        y_limits=(0, 1.15 * max(0.15, *count_choice["misclassification"])),
        share=2,
    )
    alternative = "Agreement of populations with fits of halves of the rows, by their number"
    return Curves(alternative, (agreement, worst), legend_columns=3)


def _values_and_kept(values: Sequence[float], kept: int, name: str, colour: int) -> Curve:
    """Return descending values, of which those after the first ``kept`` are hollow."""
    size = 4.0 if len(values) <= SMALL_MARKS_FROM else 2.5
    number = np.arange(1, len(values) + 1)
    return Curve(number, values, name, colour, marker=size, hollow_from=kept)


def conditioning_table(spectral: dict[str, Any], groups: Sequence[Sequence[str]]) -> Table:
    """Return condition numbers and spectral gaps of the three groups of views."""
    names = [", ".join(members) for members in groups]
    rows = [
        (Cell(f"second moments of {name}"), Cell(f"{value:.3g}"))
        for name, value in zip(names, spectral["condition_numbers"]["seconds"], strict=True)
    ]
    for pair, value in spectral["condition_numbers"]["pairs"].items():
        first, second = (names[int(group)] for group in pair.split("-"))
        rows.append((Cell(f"pair moments of {first} with {second}"), Cell(f"{value:.3g}")))
    for name, gap in zip(names, spectral["spectral_gap"], strict=True):
        rows.append(
            (Cell(f"spectral gap of {name}"), Cell("none" if gap is None else f"{gap:.3g}"))
        )
    return Table(
        ("figure", "value"),
        tuple(rows),
        "The larger a condition number, and the closer a spectral gap to one, the less certain is "
        "the spectral initialisation.",
    )


def bandwidth_table(choice: Mapping[str, Any]) -> Table:
    """Return the bandwidths that were tried, and the criterion of each.

    Parameters
    ----------
    choice : mapping
        The diagnostics' ``bandwidth_choice``.
    """
    kind = "spectral_gaps" if "spectral_gaps" in choice else "held_out_log_likelihood"
    score, caption = {
        "spectral_gaps": (
            "spectral gap",
            "By how much the last singular value that is kept exceeds the next one, over the "
            "largest: in the sample, and in the group of views where it is least.",
        ),
        "held_out_log_likelihood": (
            "held-out log-likelihood",
            "Mean log-likelihood of rows that the mixture has not seen, in nats a row.",
        ),
    }[kind]
    rows = tuple(
        (
            Cell(f"{factor:g}"),
            Cell("none" if value is None else f"{value:.4g}" if "gap" in kind else f"{value:.4f}"),
            Cell("chosen" if factor == choice["chosen"] else ""),
        )
        for factor, value in zip(choice["factors"], choice[kind], strict=True)
    )
    return Table(("times the rule", score, ""), rows, caption)


def landmark_table(landmarks: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the number of landmarks of every view, and their trace error.

    Parameters
    ----------
    landmarks : mapping of str to mapping
        The diagnostics' ``landmarks``.
    """
    rows = tuple(
        (
            Cell(view),
            Cell(str(one["count"])),
            Cell("unknown" if one["trace_error"] is None else f"{one['trace_error']:.2g}"),
        )
        for view, one in landmarks.items()
    )
    return Table(
        ("view", "landmarks", "trace error"),
        rows,
        "Trace error: the part of the trace of the kernel matrix of the sample that the landmarks "
        "leave out. Zero is best.",
    )
