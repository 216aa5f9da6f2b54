"""Populations of a fit: a tree of its components, and the cut that halves of the rows agree on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.component_merging import (
    LEVELS,
    SEPARATION,
    merge_components,
)
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.replicated_trees import (
    component_means,
    counted_by_replicates,
    least_mass,
    levels_tree,
    separation_tree,
)
from bigtensor.models.answers.populations import Populations
from bigtensor.models.kernel_mixture.choices.dependence import correlations_within
from bigtensor.models.kernel_mixture.choices.replicates import grow_replicates
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation, sample_positions
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.kernel_mixture.solution import KernelSolution, responsibilities_of
from bigtensor.statistics.densities.co_posterior import CoPosteriorSumsResult


def find_populations(
    solution: KernelSolution,
    sums: CoPosteriorSumsResult,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
) -> Populations:
    """Merge the components of a fit into populations.

    Parameters
    ----------
    solution : KernelSolution
        With its components in their final order.
    sums : CoPosteriorSumsResult
        Of the same components, over all rows.
    preparation : KernelMixturePreparation
        Without rows of the pilot sample there are no means of components, and they are merged by
        how separate they are.
    diagnostics : dict
        Receives ``outlying_components``, ``probability_temperature`` and, for a tree in levels of
        features, ``population_count``.
    """
    settings, sample = preparation.settings, preparation.pilot
    assert settings.n_populations is not None
    light = sums.mass < least_mass(sums)
    diagnostics["outlying_components"] = {
        "count": int(light.sum()),
        "share": float(sums.mass[light].sum() / sums.mass.sum()),
    }
    temperature, posterior = 1.0, None
    if sample is not None:
        posterior = responsibilities_of(solution.mixture(), sample, solution.slices)
        temperature = product_temperature(posterior, preparation)
    if posterior is None or settings.merging != LEVELS or len(sums.mass) == 1:
        tree = _tree_of_shared_rows(sums, settings)
    else:
        tree = _tree_in_levels(posterior, sums, preparation, diagnostics)
    diagnostics["probability_temperature"] = temperature
    return Populations.cut(tree, settings.n_populations, temperature)


def _tree_of_shared_rows(sums: CoPosteriorSumsResult, settings: KernelMixtureSettings) -> MergeTree:
    """Return the tree by the criterion of the settings, or by one that needs no means."""
    if settings.merging in (LEVELS, SEPARATION):
        return separation_tree(sums)
    return merge_components(sums, criterion=settings.merging, least_mass=least_mass(sums))


def _tree_in_levels(
    posterior: FloatArray,
    sums: CoPosteriorSumsResult,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
) -> MergeTree:
    """Return the tree in levels of features, and the cut that halves of the sample agree on."""
    positions = sample_positions(preparation.rows, preparation.settings)
    replicates = grow_replicates(positions, preparation)
    tree = levels_tree(sums, component_means(positions, posterior))
    labels = posterior.argmax(axis=1)
    tree, population_count = counted_by_replicates(tree, sums, labels, replicates)
    diagnostics["population_count"] = asdict(population_count)
    return tree


def product_temperature(posterior: FloatArray, preparation: KernelMixturePreparation) -> float:
    """Return the factor by which log ratios of products of densities overstate the evidence.

    A product counts evidence that several views share once for each of them. Let two components
    have the correlation matrix R of the views within them and means that differ by d standard
    deviations. The log ratio of their products then has ``d'Rd / d'd`` times the variance that
    belongs to its mean, and divided by this number it is the log ratio of true densities that are
    normal along d. Its expectation over differences along which rows vary is
    ``tr(R R) / tr(R) = 1 + mean_i sum_(j != i) R_ij**2`` (the products are a composite likelihood,
    see Varin, Reid and Firth 2011, "An overview of composite likelihood methods", Statistica
    Sinica 21).

    It is at least one, and one without two views of one measured feature.

    Parameters
    ----------
    posterior : (n0, components) float64 array
        Posterior probabilities of the rows of the pilot sample, times their weights.
    preparation : KernelMixturePreparation
        Decisions from the pilot sample, with its rows.
    """
    columns = list(preparation.grids.columns)
    pairs = np.tri(len(columns), k=-1, dtype=bool)
    if not pairs.any():
        return 1.0
    assert preparation.pilot is not None
    share = preparation.pilot.independent_share
    correlations = correlations_within(preparation.rows[:, columns], posterior, pairs, share)
    return 1.0 + (len(columns) - 1) * correlations.root_mean_square**2
