"""The figures of how a fit went: spectra, their null, and the likelihood of every pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.report.style import INK, MUTED, empty_figure, palette, report_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def spectrum(singular_values: Sequence[Sequence[float]], k: int, names: Sequence[str]) -> Figure:
    """Draw the singular values of the pair moments of every group of views.

    Parameters
    ----------
    singular_values : sequence of sequences of float
        Descending.
    k : int
        How many are kept: these are filled, the others hollow.
    names : sequence of str
        Of the groups.

    Returns
    -------
    Figure
        One axes with two lines a group: all values, and hollow marks on those left out.
    """
    with report_style():
        figure = empty_figure(4.6, 3.2)
        axes = figure.add_subplot()
        for values, name, colour in zip(singular_values, names, palette(len(names)), strict=True):
            _values_and_kept(axes, values, k, name, colour)
        axes.axvline(k + 0.5, color=MUTED, linewidth=0.9, linestyle=":")
        axes.set(xlabel="direction", title="Singular values")
        _logarithmic(axes)
        figure.legend(loc="outside lower left", ncols=1)
        return figure


def scree(
    singular_values: Sequence[Sequence[float]],
    null: Sequence[Sequence[float]],
    ratio: float,
    names: Sequence[str],
) -> Figure:
    """Draw the singular values that components were counted by, and what they have to exceed.

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

    Returns
    -------
    Figure
        One axes with three lines a group: all values, hollow marks on those that do not stand
        out, and dashes at ``ratio`` times the null.
    """
    with report_style():
        figure = empty_figure(4.6, 3.2)
        axes = figure.add_subplot()
        for values, limit, name, colour in zip(
            singular_values, null, names, palette(len(names)), strict=True
        ):
            needed = ratio * np.asarray(limit)
            _values_and_kept(axes, values, standing_out(values, limit, ratio), name, colour)
            axes.plot(np.arange(1, len(needed) + 1), needed, "--", color=colour, linewidth=1)
        axes.plot([], [], "--", color=INK, linewidth=1, label=f"{ratio:g} times independence")
        axes.set(xlabel="direction", title="Counting components")
        _logarithmic(axes)
        figure.legend(loc="outside lower left", ncols=1)
        return figure


def standing_out(values: Sequence[float], null: Sequence[float], ratio: float) -> int:
    """Return how many leading singular values exceed their null by a ratio.

    Parameters
    ----------
    values, null : sequences of float
        Descending singular values, and the null of the first of them.
    ratio : float
    """
    exceeds = np.asarray(values)[: len(null)] > ratio * np.asarray(null)[: len(values)]
    return int(np.cumprod(exceeds).sum())


def likelihood_by_pass(mean_log_likelihood: Sequence[float]) -> Figure:
    """Draw the mean log-likelihood of a row that every posterior pass found.

    Parameters
    ----------
    mean_log_likelihood : sequence of float
        In nats.

    Returns
    -------
    Figure
        One axes with one line.
    """
    passes = np.arange(1, len(mean_log_likelihood) + 1)
    with report_style():
        figure = empty_figure(4.6, 3.2)
        axes = figure.add_subplot()
        axes.plot(passes, mean_log_likelihood, "o-", color=palette(1)[0], markersize=5)
        axes.set(title="Mean log-likelihood", xlabel="posterior pass", ylabel="nats a row")
        axes.set_xlim(0.5, len(passes) + 0.5)
        axes.locator_params(axis="x", integer=True)
        axes.ticklabel_format(axis="y", useOffset=False)
        return figure


def agreement_of_cuts(found: Mapping[str, Any], shown: int) -> Figure:
    """Draw how well every number of populations is reproduced, and how separate populations are.

    Parameters
    ----------
    found : mapping
        The diagnostics' ``population_count``, with at least one number of populations.
    shown : int
        Number of populations of the model, which may have been cut elsewhere.

    Returns
    -------
    Figure
        Two axes, each with a line over the numbers of populations. Above: the agreement of two
        halves. Below: the misclassification of the worst pair. Both mark the number that was
        chosen by a dot, and the number shown by a dotted line.
    """
    counts, chosen = found["counts"], found["chosen"]
    with report_style():
        figure = empty_figure(4.6, 3.6)
        above, below = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
        for axes, values in ((above, found["agreement"]), (below, found["misclassification"])):
            axes.plot(counts, values, ".-", color=palette(1)[0], linewidth=1.1, markersize=4)
            axes.axvline(shown, color=INK, linewidth=0.9, linestyle=":", label=f"shown: {shown}")
            if chosen in counts:
                axes.plot(
                    [chosen],
                    [values[counts.index(chosen)]],
                    "o",
                    color=palette(2)[1],
                    markersize=7,
                    label=f"chosen: {chosen}",
                )
        if "separate_below" in found:
            below.axhline(
                found["separate_below"],
                color=MUTED,
                linewidth=0.9,
                linestyle="--",
                label="largest that is considered",
            )
        above.set(title="Agreement of two halves", ylabel="adjusted Rand index")
        above.set_ylim(min(0.0, *found["agreement"]), 1.03)
        below.set(xlabel="populations", ylabel="worst pair")
        below.set_ylim(0, 1.15 * max(0.15, *found["misclassification"]))
        below.locator_params(axis="x", integer=True)
        handles, names = below.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=3)
        return figure


def _values_and_kept(
    axes: Axes, values: Sequence[float], kept: int, name: str, colour: str
) -> None:
    """Draw descending values as a line, with hollow marks on those after the first ``kept``."""
    number = np.arange(1, len(values) + 1)
    size = 4 if len(values) <= 60 else 2.5
    axes.plot(number, values, "o-", color=colour, markersize=size, linewidth=1, label=name)
    axes.plot(number[kept:], values[kept:], "o", color=colour, markersize=size, mfc="white")


def _logarithmic(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers."""
    axes.set_yscale("log")
    axes.locator_params(axis="x", integer=True)
    # the default labels of a logarithmic axis are mathematics, which the style switches off
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
