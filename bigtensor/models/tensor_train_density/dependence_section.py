"""Section of the report of a density: dependence of the variables along the chain."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bigtensor.array_types import FloatArray
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.models.words.report_blocks import Group, Section, Words
from bigtensor.models.words.report_figures import ArcDiagram, Heatmap

MOST_VARIABLES = 40
"""Variables of the pictures of dependence."""

LEAST_STRENGTH = 0.3
"""Dependence from which a pair has an arc: .05 nats of mutual information."""

_MOST_BESIDE = 16
"""Variables up to which both pictures are legible beside each other."""


def dependence_section(
    density: TrainDensity | EmbeddedDensity, drawn: FloatArray, *, categorical: bool
) -> Section:
    """Return the dependence of pairs of variables, at least one, in the order of the chain.

    Parameters
    ----------
    density : TrainDensity or EmbeddedDensity
        Density whose variables are compared.
    drawn : (n, d) float64 array
        Rows drawn from the density.
    categorical : bool
        True if all values are codes of categories, which have no order and no rank correlation.
    """
    order = density.order[:MOST_VARIABLES]
    if isinstance(density, EmbeddedDensity) or not density.answers_queries:
        words = "Rank correlations of draws from the density."
        if density.coordinates.axes is not None:
            words += " The coordinates mix the variables, so that their order is arbitrary."
        return _section(density, words, _rank_correlations(density, drawn, order))
    neighbours = "Variables that depend on each other stand beside each other. "
    words = (
        f"The dependence is between 0 and 1, with arcs from {LEAST_STRENGTH:g} on. "
        "For two normal variables it is the absolute correlation (informational correlation, "
        "Linfoot 1957)."
    )
    arcs = _arcs(density, drawn, order)
    if categorical:
        words = neighbours + "Arcs join variables that depend on each other. " + words
        return _section(density, words, arcs)
    words = (
        neighbours + "Colours are rank "
        "correlations: both variables grow together (red), or one grows as the other falls (blue). "
        "Arcs join variables that depend on each other in any way, also if they neither grow nor "
        "fall together. " + words
    )
    beside = len(order) <= _MOST_BESIDE
    heatmap = _rank_correlations(density, drawn, order)
    pictures = Group((arcs, heatmap), layout="beside" if beside else "stacked")
    return _section(density, words, pictures)


def mutual_informations(
    density: TrainDensity, drawn: FloatArray, variables: list[int]
) -> FloatArray:
    """Return the mutual information of every pair of variables, (m, m), in nats.

    Means over draws; the diagonal is zero.

    Parameters
    ----------
    density : TrainDensity or EmbeddedDensity
        Without axes.
    drawn : (n, d) float64 array
        Rows drawn from the density.
    variables : list of int
        Numbers of the variables to compare.
    """
    alone = {j: _only(density, [j]).log_densities_of(drawn[:, [j]]) for j in variables}
    information = np.zeros((len(variables), len(variables)))
    for a, b in combinations(range(len(variables)), 2):
        pair = sorted((variables[a], variables[b]))
        together = _only(density, pair).log_densities_of(drawn[:, pair])
        gain = together - alone[pair[0]] - alone[pair[1]]
        # the mean of independent variables is off zero by the noise of the draws
        information[a, b] = information[b, a] = max(float(gain.mean()), 0.0)
    return information


def _section(
    density: TrainDensity | EmbeddedDensity, words: str, pictures: Group | ArcDiagram | Heatmap
) -> Section:
    """Return the section, which tells of variables that are not shown."""
    d = len(density.features)
    if d > MOST_VARIABLES:
        words += f" The first {MOST_VARIABLES} of {d} variables are shown."
    return Section("dependence", "Dependence of the variables", (Words(words), pictures))


def _only(density: TrainDensity, variables: list[int]) -> TrainDensity:
    """Return the density of some variables, in ascending order."""
    others = {j: None for j in range(len(density.features)) if j not in variables}
    return density.without(others) if others else density


def _arcs(density: TrainDensity, drawn: FloatArray, order: NDArray[np.int64]) -> ArcDiagram:
    """Return the dependence of pairs as arcs."""
    informations = mutual_informations(density, drawn, order.tolist())
    strengths = np.sqrt(-np.expm1(-2 * informations))
    return ArcDiagram(
        "Dependence of pairs of variables along the latent chain",
        np.where(strengths < LEAST_STRENGTH, 0.0, strengths),
        tuple(density.features[j] for j in order),
        "dependence",
    )


def _rank_correlations(
    density: TrainDensity | EmbeddedDensity, drawn: FloatArray, order: NDArray[np.int64]
) -> Heatmap:
    """Return the rank correlations of draws."""
    columns = drawn[:, order]
    # a draw of a symbol that the data do not have is not a number, and a variable may have no other
    has_values = ~np.isnan(columns).all(axis=0)
    complete = columns[~np.isnan(columns[:, has_values]).any(axis=1)]
    ranks = np.stack([rankdata(column) for column in complete.T])
    # a constant variable has no correlation
    varies = has_values & (ranks.std(axis=1) > 0)
    correlation = np.zeros((len(order), len(order)))
    correlation[np.ix_(varies, varies)] = np.atleast_2d(np.corrcoef(ranks[varies]))
    names = tuple(density.features[j] for j in order)
    return Heatmap(
        "Rank correlation of the variables",
        correlation,
        names,
        names,
        "rank correlation",
        1.0,
        diverging=True,
    )
