"""Populations of a fit: the consensus of trees, and the cut that halves of the rows agree on."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from bigtensor.decomposition.merging.component_merging import SEPARATION, merge_components
from bigtensor.decomposition.merging.consensus_tree import CONSENSUS
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.replicated_trees import (
    consensus_of_replicates,
    least_mass,
    separation_tree,
)
from bigtensor.models.answers.populations import Populations
from bigtensor.models.kernel_mixture.choices.components import mean_correlation
from bigtensor.models.kernel_mixture.choices.replicates import grow_replicates
from bigtensor.models.kernel_mixture.preparation import Preparation
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.solution import KernelSolution, responsibilities_of
from bigtensor.statistics.densities.co_posterior import CoPosteriorSumsResult
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.row_sample import Sample


def find_populations(
    solution: KernelSolution,
    sums: CoPosteriorSumsResult,
    preparation: Preparation,
    diagnostics: dict[str, Any],
) -> Populations:
    """Merge the components of a fit into populations.

    Parameters
    ----------
    solution : KernelSolution
        With its components in their final order.
    sums : CoPosteriorSumsResult
        Of the same components, over all rows.
    preparation : Preparation
        Without rows of the pilot sample there is no consensus, and the tree of all rows stands
        alone.
    diagnostics : dict
        Receives ``outlying_components``, ``probability_temperature`` and, for the consensus,
        ``population_count``.
    """
    settings, sample = preparation.settings, preparation.pilot
    assert settings.n_populations is not None
    light = sums.mass < least_mass(sums)
    diagnostics["outlying_components"] = {
        "count": int(light.sum()),
        "share": float(sums.mass[light].sum() / sums.mass.sum()),
    }
    temperature = 1.0
    if sample is None or settings.merging != CONSENSUS or len(sums.mass) == 1:
        tree = _tree_of_all_rows(sums, settings)
    else:
        tree = _consensus(solution, sums, sample, preparation, settings, diagnostics)
    if sample is not None:
        temperature = product_temperature(solution.mixture(), sample, preparation)
    diagnostics["probability_temperature"] = temperature
    return Populations.cut(tree, settings.n_populations, temperature)


def _tree_of_all_rows(sums: CoPosteriorSumsResult, settings: Settings) -> MergeTree:
    """Return the tree by the criterion of the settings, or by that which a consensus unites."""
    if settings.merging in (CONSENSUS, SEPARATION):
        return separation_tree(sums)
    return merge_components(sums, criterion=settings.merging, least_mass=least_mass(sums))


def _consensus(
    solution: KernelSolution,
    sums: CoPosteriorSumsResult,
    sample: Sample,
    preparation: Preparation,
    settings: Settings,
    diagnostics: dict[str, Any],
) -> MergeTree:
    """Return the consensus of the trees of all rows and of halves of the pilot sample."""
    unweighted = replace(sample, weight=None)
    posterior = responsibilities_of(solution.mixture(), unweighted, solution.slices)
    tree, population_count = consensus_of_replicates(
        sums,
        sums.weight,
        np.argmax(posterior, axis=1),
        posterior,
        grow_replicates(sample, preparation, settings),
    )
    diagnostics["population_count"] = asdict(population_count)
    return tree


def product_temperature(
    mixture: MixtureDensities, sample: Sample, preparation: Preparation
) -> float:
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
    """
    columns = list(preparation.grids.columns)
    values = np.asarray(sample.values[:, columns], np.float64)
    pairs = np.tri(len(columns), k=-1, dtype=bool)
    if not pairs.any():
        return 1.0
    posterior = responsibilities_of(mixture, sample, preparation.slices)
    return 1.0 + (len(columns) - 1) * mean_correlation(values, posterior, pairs) ** 2
