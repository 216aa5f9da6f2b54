"""Dependence of features within components: whether products fit, and how much they overcount."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.models.kernel_mixture.passes import posterior_pass
from bigtensor.models.kernel_mixture.preparation import Preparation, prepare
from bigtensor.models.kernel_mixture.refinement import clustered_start, refined
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.solution import responsibilities_of
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.row_sample import Sample

FloatArray = NDArray[np.float64]

DEPENDENT_FROM = 0.085
"""Root mean square correlation of features of different views within components.

It was 0.09 to 0.2 on gated cells, 0.15 to 0.2 on cells with correlations of 0.3 to 0.7, and at most
0.06 on 28 simulated mixtures of products. On skewed cells it lies about the threshold (0.08 to
0.12), because too few components are counted. Chosen on these sets.
"""

ITERATIONS = 20
"""EM iterations on the pilot sample, from the clusters of k-means."""

FEWEST_ROWS = 30
"""Rows of a component from which on its correlations count."""


def dependence_within_components(sample: Sample, settings: Settings) -> float:
    """Return the root mean square correlation of features of different views within components.

    Components are fitted to the sample alone. The square that sampling noise gives is subtracted.

    Parameters
    ----------
    sample : Sample
    settings : Settings
        With the number of components.

    Returns
    -------
    float
        Zero without two measured views.
    """
    alone = replace(settings, spectral=False, posterior_width=None, rows=len(sample.values))
    preparation = prepare(sample, alone)
    solution = clustered_start(sample, preparation)
    block = Block(sample.values, preparation.slices, 0, len(sample.values), sample.weight)
    for _ in range(ITERATIONS):
        pass_ = posterior_pass(solution.mixture(), preparation)
        solution = refined(sum_in_memory(pass_.statistic, block), preparation)
    posterior = responsibilities_of(solution.mixture(), sample, preparation.slices)
    pairs = _pairs_of_views(preparation, settings)
    if not pairs.any():
        return 0.0
    return _mean_correlation(np.asarray(sample.values, np.float64), posterior, pairs)


def product_temperature(
    mixture: MixtureDensities, sample: Sample, preparation: Preparation
) -> float:
    """Return by how much log ratios of products of densities overstate what the views tell.

    A product counts what several views tell alike once for each of them. Let two components have
    the correlation matrix R of the views within them and means that differ by d standard
    deviations. The log ratio of their products then has ``d'Rd / d'd`` times the variance that
    belongs to its mean, and divided by this number it is the log ratio of true densities that are
    normal along d. Its expectation over differences along which rows vary is
    ``tr(R R) / tr(R) = 1 + mean_i sum_(j != i) R_ij**2`` (the products are a composite likelihood,
    see Varin, Reid and Firth 2011, "An overview of composite likelihood methods", Statistica
    Sinica 21).

    Parameters
    ----------
    mixture : MixtureDensities
    sample : Sample
    preparation : Preparation

    Returns
    -------
    float
        At least one; one without two views of one measured feature.
    """
    columns = list(preparation.grids.columns)
    values = np.asarray(sample.values[:, columns], np.float64)
    pairs = np.tri(len(columns), k=-1, dtype=bool)
    if not pairs.any():
        return 1.0
    posterior = responsibilities_of(mixture, sample, preparation.slices)
    return 1.0 + (len(columns) - 1) * _mean_correlation(values, posterior, pairs) ** 2


def _pairs_of_views(preparation: Preparation, settings: Settings) -> NDArray[np.bool_]:
    """Return which pairs of features are measured and of different views: ``(d, d)``."""
    view = np.concatenate(
        [np.full(len(members), place) for place, (_, members) in enumerate(preparation.views)]
    )
    measured = np.ones(len(view), bool)
    measured[settings.categorical_columns] = False
    pairs = (view[:, None] < view) & measured[:, None] & measured
    return np.asarray(pairs)


def _mean_correlation(values: FloatArray, posterior: FloatArray, pairs: NDArray[np.bool_]) -> float:
    """Return the root of the mean squared correlation of pairs within components."""
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    total = weight = 0.0
    for shares in posterior.T:
        mass = float(shares.sum())
        if mass < FEWEST_ROWS:
            continue
        centred = scaled - shares @ scaled / mass
        covariance = (centred * shares[:, None]).T @ centred / mass
        spread = np.sqrt(np.diag(covariance))
        spreads = np.multiply.outer(spread, spread)
        usable = pairs & (spreads > 0)
        if usable.any():
            squares = (covariance[usable] / spreads[usable]) ** 2
            total += mass * (float(squares.mean()) - 1 / mass)
            weight += mass
    return float(np.sqrt(max(total / weight, 0.0))) if weight else 0.0
