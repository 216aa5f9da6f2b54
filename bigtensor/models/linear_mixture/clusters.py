"""Clusters of the rows of a sample, which compete with the terms of its moment tensor."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.errors import IdentifiabilityError
from bigtensor.features.clustering import kmeans
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.models.contract.script import Step
from bigtensor.models.gaussian.component_shapes import component_shapes
from bigtensor.models.gaussian.em_iterations import SharedCovarianceEm
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian.sample_iterations import FIRST_ITERATIONS, SampleIterations
from bigtensor.models.linear_mixture.columns import (
    adds_up,
    columns_of,
    components_of,
    mixture_of_means,
    terms_of,
)
from bigtensor.models.linear_mixture.pilot_search import searched_terms
from bigtensor.models.linear_mixture.search import FoundTerms
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.in_memory import sum_in_memory

CLUSTERINGS = 5
"""Clusterings by k-means, of which the best goes on after a few EM iterations."""

FEW_ROWS = 100
"""Rows of the sample for every component, below which clusters compete although the moments have as
many terms as there are components.

With 10 to 75 rows a component, terms of six components ended at lower likelihoods in 4 of 12 fits.
"""

MOST_OPERATIONS = 3e11
"""Operations of the comparison, about six seconds, above which moments alone are taken."""

_STEPS = 350
"""Iterations over all rows that a comparison makes, of k-means and of EM."""

_TOLERANCE = 1e-5
"""Gain of a row, in nats, below which EM iterations in the sample end."""


@dataclass(frozen=True, eq=False)
class PilotComponents:
    """Components of a pilot sample.

    Attributes
    ----------
    searched : FoundTerms
        Terms with their diagnostics.
    clusters : GaussianComponents, optional
        Components that clusters of the rows end at, where they are more likely than the terms.
    """

    searched: FoundTerms
    clusters: GaussianComponents | None = None


def searched_components(
    tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotComponents]:
    """Return the terms of the sample, or clusters that are more likely.

    Clusters compete where the search misses components, where the weights of its terms do not add
    up, and where rows are few, unless the comparison takes long. They have no competitor where
    there are more components than the moment determines.

    Raises
    ------
    IdentifiabilityError
        When no term is a component, and clusters cannot compete.
    """
    k, positive = settings.n_components, int(np.count_nonzero(rows.row_weights()))
    may_compete = bool(settings.max_iter) and 1 < k < positive
    searched: FoundTerms | None = None
    if not settings.exceeds_moment:
        try:
            searched = yield from searched_terms(tensor, rows, settings)
        except IdentifiabilityError:
            if not may_compete:
                raise
    if searched is None:
        return (yield from compared_with_clusters(None, tensor, rows, settings))
    weights, _ = columns_of(searched.terms, tensor)
    is_doubtful = (
        searched.terms.n_terms < k
        or not adds_up(float(weights.sum()))
        or rows.total_weight() < FEW_ROWS * k
    )
    if may_compete and is_doubtful and _operations(rows, settings) <= MOST_OPERATIONS:
        return (yield from compared_with_clusters(searched, tensor, rows, settings))
    return PilotComponents(searched)


def _operations(rows: Block, settings: LinearSettings) -> float:
    """Return about how many operations the comparison with clusters takes."""
    return 4.0 * _STEPS * rows.rows * rows.dense_values.shape[1] * settings.n_components


def compared_with_clusters(
    searched: FoundTerms | None, tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotComponents]:
    """Return the terms of the sample or clusters, whichever are more likely after EM iterations.

    Parameters
    ----------
    searched : FoundTerms or None
        Terms of the moment tensor; None if no term is a component.
    tensor : SampleTensor
        Moment tensor of the rows.
    rows : Block
        Rows of the sample.
    settings : LinearSettings
        Resolved parameters of the fit.
    """
    yield Step("comparing with clusters of the rows")
    moments = sum_in_memory(tensor.covariances(), rows)
    k, shape = settings.n_components, settings.shape
    sample = SampleIterations(
        SharedCovarianceEm(tensor.within, independent=settings.slices),
        rows,
        TotalMoments(moments.mean, moments.covariance),
        _TOLERANCE,
    )
    first = [
        sample.settled(clustered(sample, settings, number), FIRST_ITERATIONS)
        for number in range(CLUSTERINGS)
    ]
    clusters, likelihood = sample.distinct(max(first, key=lambda end: end[1])[0])
    log_likelihood = {"k-means": likelihood}
    if searched is not None:
        of_terms, of_moments = sample.distinct(
            components_of(searched.terms, tensor, moments, shape.views, shape.dtype)
        )
        log_likelihood = {searched.diagnostics["initialisation"]: of_moments, **log_likelihood}
        facts = {**searched.diagnostics, "log_likelihood": log_likelihood}
        if sample.merit(of_terms, of_moments, k) >= sample.merit(clusters, likelihood, k):
            return PilotComponents(FoundTerms(searched.terms, facts))
    # what the search saw beyond the components asked for holds whatever they are
    of_search = searched.diagnostics if searched and searched.terms.n_terms == k else {}
    facts = {
        "rounds": 0,
        "components_seen": clusters.n_components,
        "left_weight": None,
        **of_search,
        "initialisation": "k-means",
        "log_likelihood": log_likelihood,
        "tails": component_shapes(clusters, rows).tails,
    }
    terms = terms_of(clusters.means, tensor, clusters.weights)
    return PilotComponents(FoundTerms(terms, facts), clusters)


def clustered(
    sample: SampleIterations, settings: LinearSettings, number: int
) -> GaussianComponents:
    """Return the centres of clusters of the rows by k-means, in units of standard deviations.

    Parameters
    ----------
    sample : SampleIterations
        Rows of the sample.
    settings : LinearSettings
        Resolved parameters of the fit.
    number : int
        Number of the clustering, from which its random numbers follow.
    """
    rows, total = sample.rows, sample.total
    values, weight = rows.dense_values[: rows.rows].astype(np.float64), rows.row_weights()
    # the distances to centres are sums over features, whose rounding follows their order
    order = content_order_of_columns(values, weight)
    scaled = (values - total.mean) / np.sqrt(np.where(total.variances > 0, total.variances, 1.0))
    k, seed = settings.n_components, settings.random_state
    labels = kmeans(scaled[:, order], k, seed + number, weight=weight, n_starts=1).labels
    masses = np.bincount(labels, weight, minlength=k)
    sums = np.zeros((k, values.shape[1]))
    np.add.at(sums, labels, weight[:, None] * values)
    filled = masses > 0
    return mixture_of_means(
        masses[filled] / masses.sum(),
        sums[filled] / masses[filled, None],
        total,
        settings.shape.views,
        settings.shape.dtype,
    )
