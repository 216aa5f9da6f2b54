"""Clusters of the rows of a sample, which compete with the terms of its moment tensor."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.decomposition.sample_tensors.discovery import DiscoverySettings, left_weight
from bigtensor.errors import DataError, IdentifiabilityError, Setting
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
    no_component,
    terms_of,
)
from bigtensor.models.linear_mixture.pilot_search import searched_terms
from bigtensor.models.linear_mixture.search import UPDATES, FoundTerms
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.pilot_tensor import sample_initialisations
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.in_memory import sum_in_memory

CLUSTERINGS = 5
"""Clusterings by k-means, of which the best goes on after a few EM iterations."""

FEWEST_ROWS = 2
"""Rows with a positive weight for every component, with fewer of which there are no clusters."""

ROWS_OF_SURE_MOMENTS = 100
"""Rows of the sample for every component, below which clusters compete although the moments have as
many terms as there are components.

With 10 to 75 rows a component, terms of six components ended at lower likelihoods in 4 of 12 fits.
"""

LEAST_GAIN_A_PARAMETER = 1.6
"""Gain of all rows over one component, in nats for each further parameter, of clusters that are no
noise. Clusters of Gaussian noise gained at most 1.45 in 150 sets of 60 to 3,000 rows and one to ten
features a view.
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
        Components that clusters of the rows end at, if they are taken in the place of the terms.
    """

    searched: FoundTerms
    clusters: GaussianComponents | None = None


def searched_components(
    tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotComponents]:
    """Return the terms of the sample, or the components that clusters of its rows end at.

    Clusters compete where the search misses components, where the weights of its terms do not add
    up, and where rows are few, unless the comparison takes long. They have no competitor where
    there are more components than the moment determines.

    Raises
    ------
    IdentifiabilityError
        When no term is a component, and one component describes the rows as well as clusters do.
    DataError
        When rows are too few for components that clusters alone can find.
    """
    k, positive = settings.n_components, int(np.count_nonzero(rows.row_weights()))
    may_compete = bool(settings.max_iter) and k > 1 and FEWEST_ROWS * k <= positive
    searched: FoundTerms | None = None
    if not settings.exceeds_moment:
        try:
            searched = yield from searched_terms(tensor, rows, settings)
        except IdentifiabilityError:
            if not may_compete:
                raise
    elif not may_compete:
        raise DataError(
            f"the sample has {positive:,} rows with a positive weight, too few for {k} components, "
            "which clusters alone can find in views of so few features: use at least "
            f"{FEWEST_ROWS} rows a component, or fewer components (" + Setting("n_components") + ")"
        )
    if searched is None:
        return (yield from compared_with_clusters(None, tensor, rows, settings))
    weights, _ = columns_of(searched.terms, tensor)
    is_doubtful = (
        searched.terms.n_terms < k
        or not adds_up(float(weights.sum()))
        or rows.total_weight() < ROWS_OF_SURE_MOMENTS * k
    )
    if not (may_compete and is_doubtful):
        return PilotComponents(searched)
    if _operations(rows, settings) > MOST_OPERATIONS:
        facts = {**searched.diagnostics, "clusters": "left out, because they take long"}
        return PilotComponents(replace(searched, diagnostics=facts))
    return (yield from compared_with_clusters(searched, tensor, rows, settings))


def _operations(rows: Block, settings: LinearSettings) -> float:
    """Return about how many operations the comparison with clusters takes."""
    features = int(rows.dense_values.shape[1])
    return 4.0 * _STEPS * rows.rows * features * settings.n_components


def compared_with_clusters(
    searched: FoundTerms | None, tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotComponents]:
    """Return the terms of the sample or clusters, whichever are better after EM iterations.

    The better ones have more components that hold enough rows, and among as many of them the larger
    likelihood. Clusters have to be clearly more likely than one component.

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
    one, of_one = sample.settled(
        mixture_of_means(np.ones(1), moments.mean[None], moments, shape.views, shape.dtype)
    )
    first = [sample.settled(end, FIRST_ITERATIONS) for end in clusterings(sample, settings)]
    clusters, likelihood = sample.distinct(max(first, key=lambda end: end[1])[0])
    log_likelihood = {"one component": of_one, "k-means": likelihood}
    numbers = (clusters.n_components - 1) * (1 + one.means.shape[1])
    # noise has clusters, too
    gain = rows.total_weight() * (likelihood - of_one)
    are_components = gain > LEAST_GAIN_A_PARAMETER * numbers
    if searched is not None:
        of_terms, of_moments = sample.distinct(
            components_of(searched.terms, tensor, moments, shape.views, shape.dtype)
        )
        log_likelihood[searched.diagnostics["initialisation"]] = of_moments
        facts = {**searched.diagnostics, "log_likelihood": log_likelihood}
        as_good = sample.merit(of_terms, of_moments, k) >= sample.merit(clusters, likelihood, k)
        if as_good or not are_components:
            return PilotComponents(replace(searched, diagnostics=facts))
    elif not are_components:
        raise no_component()
    terms = terms_of(clusters.means, tensor, clusters.weights)
    of_search: dict[str, Any] = {"rounds": 0, "components_seen": clusters.n_components}
    if searched is not None and searched.terms.n_terms == k:
        # what the search saw beyond the components asked for holds whatever they are
        of_search = searched.diagnostics
    else:
        starts = sample_initialisations(tensor, rows, settings.random_state)
        discovery = DiscoverySettings(k, UPDATES)
        left = left_weight(tensor.contract_in_memory(rows), starts, terms, discovery)
        of_search["left_weight"] = left
    facts = {
        **of_search,
        "initialisation": "k-means",
        "log_likelihood": log_likelihood,
        "tails": component_shapes(clusters, rows).tails,
    }
    return PilotComponents(FoundTerms(terms, facts), clusters)


def clusterings(
    sample: SampleIterations, settings: LinearSettings
) -> Generator[GaussianComponents, None, None]:
    """Yield components at the centres of clusters of the rows, by k-means of standardised rows.

    Parameters
    ----------
    sample : SampleIterations
        Rows of the sample.
    settings : LinearSettings
        Resolved parameters of the fit.
    """
    rows, total = sample.rows, sample.total
    values, weight = rows.dense_values[: rows.rows].astype(np.float64), rows.row_weights()
    # the distances to centres are sums over features, whose rounding follows their order
    order = content_order_of_columns(values, weight)
    scaled = (values - total.mean) / np.sqrt(np.where(total.variances > 0, total.variances, 1.0))
    scaled, weighted = scaled[:, order], weight[:, None] * values
    k, shape = settings.n_components, settings.shape
    for number in range(CLUSTERINGS):
        seed = settings.random_state + number
        labels = kmeans(scaled, k, seed, weight=weight, n_starts=1).labels
        masses = np.bincount(labels, weight, minlength=k)
        sums = np.zeros((k, values.shape[1]))
        np.add.at(sums, labels, weighted)
        filled = masses > 0
        means = sums[filled] / masses[filled, None]
        yield mixture_of_means(
            masses[filled] / masses.sum(), means, total, shape.views, shape.dtype
        )
