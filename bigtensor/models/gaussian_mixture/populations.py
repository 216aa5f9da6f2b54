"""Populations of Gaussian components, and their number by trees of halves of the sample."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.merging.replicated_trees import (
    SPLITS,
    Replicate,
    counted_by_replicates,
    levels_tree,
    separation_tree,
)
from bigtensor.errors import DataError, Setting
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.script import Solved, Step
from bigtensor.models.gaussian_mixture.component_choice import (
    Components,
    SampleFit,
    log_joint_densities,
)
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings, most_components
from bigtensor.purpose_seeds import purpose_seed
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums, CoPosteriorSumsResult
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.row_copies import random_order
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

FEWEST_ROWS = 4
"""Rows of which both halves have the two that two components need."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """Halves of the sample with components and trees of their own.

    Attributes
    ----------
    values : (n0, d) array
        Rows of the sample, with the features in the order of the data. NaN is missing.
    halves : tuple of Replicate
        Both halves of every split.
    """

    values: NDArray[np.floating]
    halves: tuple[Replicate, ...]


def grow_replicates(
    sample: SampleRows, places: NDArray[np.intp], settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, Replicates]:
    """Return trees of components that are fitted to both halves of random splits of the sample.

    Parameters
    ----------
    sample : SampleRows
        Rows of the sample.
    places : (d,) integer array
        Place of every feature of the data in the sample.
    settings : GaussianSettings
        Resolved parameters of the fit.
    fit : callable (sample, settings)
        Returns the components of rows.

    Raises
    ------
    DataError
        When a half of the rows would be a single row.
    """
    rows = sample.n_distinct
    if rows < FEWEST_ROWS:
        raise DataError(
            Setting("n_populations")
            + f" compares components of two halves of the rows, and the data have {rows} usable "
            f"distinct rows; give at least {FEWEST_ROWS} of them, or leave it out"
        )
    halves: list[Replicate] = []
    for split in range(SPLITS):
        yield Step("merging components of halves of the sample", split + 1, SPLITS)
        seed = purpose_seed(settings.random_state, f"replicates/{split}")
        second = random_order(sample.distinct, seed)[sample.distinct] % 2 == 1
        for half in (~second, second):
            replicate = yield from _replicate(sample, half, settings, fit)
            halves.append(replicate)
    values = sample.of_features(places).block.dense_values[: sample.block.rows]
    return Replicates(values, tuple(halves))


def _replicate(
    sample: SampleRows, half: NDArray[np.bool_], settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, Replicate]:
    """Fit components to some rows of the sample, and merge them."""
    part = sample.part(half)
    rows = part.n_distinct
    most = most_components(rows, settings.n_features)
    fewer = replace(
        settings,
        n_components=max(2, min(settings.n_components, most)),
        n_init=1,
        init="kmeans",
        initial=None,
        criterion=None,
    )
    components = yield from fit(part, fewer)
    sums = sum_in_memory(CoPosteriorSums(components.mixture()), part.block)
    labels = log_joint_densities(components, sample.block).argmax(axis=1)
    trees = separation_tree(sums), levels_tree(sums, components.means)
    return Replicate(trees, labels, rows)


def population_pass(
    components: Components, reach: Reach
) -> Pass[ResultWithin[CoPosteriorSumsResult]]:
    """Return the pass that sums what components share."""
    return Pass("populations", WithinReach(CoPosteriorSums(components.mixture()), reach))


def with_populations(
    solved: Solved, sums: CoPosteriorSumsResult, replicates: Replicates, n_populations: int | str
) -> Solved:
    """Return a solution whose components are merged into populations.

    Parameters
    ----------
    solved : Solved
        With the components in their final order.
    sums : CoPosteriorSumsResult
        What these components share, over all rows.
    replicates : Replicates
        Halves of the sample.
    n_populations : int or "auto"
        Number of populations.
    """
    components: Components = solved.fitted
    diagnostics = dict(solved.diagnostics)
    tree = levels_tree(sums, components.means)
    if components.n_components > 1:
        block = Block(replicates.values, components.slices, 0, len(replicates.values))
        labels = log_joint_densities(components, block).argmax(axis=1)
        tree, count = counted_by_replicates(tree, sums, labels, replicates.halves)
        diagnostics["population_count"] = asdict(count)
    populations = Populations.cut(tree, n_populations)
    diagnostics["n_populations"] = populations.count
    return Solved(replace(components, populations=populations), diagnostics)
