"""Clusters of the rows of a sample, which compete with the terms of its moment tensor."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.decomposition.sample_tensors.discovery import DiscoverySettings, left_weight
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.errors import DataError, IdentifiabilityError, Setting
from bigtensor.features.clustering import kmeans
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.models.contract.script import Script, Step
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
from bigtensor.models.linear_mixture.labels import matched_to_labels
from bigtensor.models.linear_mixture.pilot_search import labelled_terms, searched_terms
from bigtensor.models.linear_mixture.search import UPDATES, FoundTerms
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.pilot_tensor import sample_initialisations
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.gaussian.label_means import LabelMeansResult
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import CovariancesResult

CLUSTERINGS = 5
"""Clusterings by k-means, of which the best goes on after a few EM iterations."""

FEWEST_ROWS = 2
"""Rows with a positive weight for every component, with fewer of which there are no clusters."""

ROWS_OF_SURE_MOMENTS = 100
"""Rows of the sample for every component, below which clusters compete although the moments have as
many terms as there are components.

With 10 to 75 rows a component, terms of six components ended at lower likelihoods in 4 of 12 fits.
"""

MOST_FIRST_GAIN, MOST_LATER_GAIN = 10.0, 0.02
"""Gains of a row, in nats, by the first EM iteration from the terms and by the next two, above
which clusters compete.

The means of wrong terms may leave no noise in a direction, whose variance is then at its floor. Of
19 fits with as many terms as components (3 to 8), the terms of 7 that lost components gained
200,000 and more at first, and .0001 to 1.4 later. Right terms gained up to 1.2 and .01, but for 6
whose means left no noise and one of 1,000 rows of 90 features.
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
        Components that clusters of the rows or means of labelled rows end at, if they are taken in
        the place of the terms.
    label_means : LabelMeansResult, optional
        Means of labelled rows; None without labels.
    """

    searched: FoundTerms
    clusters: GaussianComponents | None = None
    label_means: LabelMeansResult | None = None


def searched_components(
    tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotComponents]:
    """Return the terms of the sample, or the components that clusters of its rows end at.

    Clusters compete where the terms are in doubt (`Comparison.doubts`), unless the comparison takes
    long. They have no competitor where there are more components than the moment determines.

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
    comparison = Comparison.in_rows(tensor, rows, settings)
    if searched is None:
        return (yield from comparison.with_clusters(None))
    if not (may_compete and comparison.doubts(searched.terms)):
        return PilotComponents(searched)
    if comparison.takes_long:
        return PilotComponents(_not_compared(searched))
    return (yield from comparison.with_clusters(searched))


def labelled_components(tensor: SampleTensor, rows: Block, settings: LinearSettings) -> Script:
    """Ask for the means of labelled rows, and return the components that they lead to.

    The terms that the means of labelled rows move to are taken unless they are in doubt or belong
    to other labels. Then components from these means and from clusters of the rows compete with
    them. Every component has the label whose rows are most probable in it.
    """
    searched, label_means = yield from labelled_terms(tensor, rows, settings)
    terms = PilotComponents(searched, label_means=label_means)
    if settings.n_components == 1 or not settings.max_iter:
        return terms
    comparison = Comparison.in_rows(tensor, rows, settings)
    if not comparison.doubts(searched.terms, label_means):
        return terms
    if comparison.takes_long:
        return replace(terms, searched=_not_compared(searched))
    best = yield from comparison.with_clusters(searched, label_means)
    return replace(best, label_means=label_means)


def _not_compared(searched: FoundTerms) -> FoundTerms:
    """Return terms with the fact that clusters did not compete with them."""
    facts = {**searched.diagnostics, "clusters": "left out, because they take long"}
    return replace(searched, diagnostics=facts)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of initialisations by the likelihood that EM iterations in the sample reach.

    Attributes
    ----------
    tensor : SampleTensor
        Moment tensor of the rows.
    sample : SampleIterations
        EM iterations over the rows.
    moments : CovariancesResult
        Of the rows.
    settings : LinearSettings
        Resolved parameters of the fit.
    """

    tensor: SampleTensor
    sample: SampleIterations
    moments: CovariancesResult
    settings: LinearSettings

    @classmethod
    def in_rows(cls, tensor: SampleTensor, rows: Block, settings: LinearSettings) -> Comparison:
        """Return the comparison in the rows of a sample."""
        moments = sum_in_memory(tensor.covariances(), rows)
        sample = SampleIterations(
            SharedCovarianceEm(tensor.within, independent=settings.slices),
            rows,
            TotalMoments(moments.mean, moments.covariance),
            _TOLERANCE,
        )
        return cls(tensor, sample, moments, settings)

    @property
    def takes_long(self) -> bool:
        """True if the comparison with clusters takes more than `MOST_OPERATIONS`."""
        rows = self.sample.rows
        features = int(rows.dense_values.shape[1])
        operations = 4.0 * _STEPS * rows.rows * features * self.settings.n_components
        return operations > MOST_OPERATIONS

    def doubts(self, terms: Terms, label_means: LabelMeansResult | None = None) -> bool:
        """Return True if terms may be wrong.

        They are fewer than the components asked for, their weights do not add up, rows are few, EM
        iterations move them far, or rows of a label are more probable elsewhere.
        """
        k = self.settings.n_components
        weights, _ = columns_of(terms, self.tensor)
        components = self.components_of(terms)
        if components.n_components < k or not adds_up(float(weights.sum())):
            return True
        if self.sample.rows.total_weight() < ROWS_OF_SURE_MOMENTS * k:
            return True
        if label_means is not None:
            matched = matched_to_labels(components, label_means, self.settings.shape.groups)
            if not np.array_equal(matched.means, components.means):
                return True
        first, later = self.sample.first_gains(components)
        return first > MOST_FIRST_GAIN or later > MOST_LATER_GAIN

    def components_of(self, terms: Terms) -> GaussianComponents:
        """Return the components of the valid ones among terms."""
        shape = self.settings.shape
        return components_of(terms, self.tensor, self.moments, shape.views, shape.dtype)

    def mixture_of(self, shares: FloatArray, means: FloatArray) -> GaussianComponents:
        """Return components with these weights and means."""
        shape = self.settings.shape
        return mixture_of_means(shares, means, self.moments, shape.views, shape.dtype)

    def _named(self, components: GaussianComponents) -> GaussianComponents:
        """Return components of all labels with their names, which are never merged."""
        labels = self.settings.shape.groups
        return replace(components, names=labels if len(labels) == components.n_components else ())

    def with_clusters(
        self, searched: FoundTerms | None, label_means: LabelMeansResult | None = None
    ) -> Generator[Step, None, PilotComponents]:
        """Return the terms of the sample or clusters, whichever are better after EM iterations.

        The better ones have more components that hold enough rows, and among as many of them the
        larger likelihood. Clusters have to be clearly more likely than one component.

        Parameters
        ----------
        searched : FoundTerms or None
            Terms of the moment tensor; None if no term is a component.
        label_means : LabelMeansResult, optional
            Means of labelled rows, which compete too.
        """
        yield Step("comparing with clusters of the rows")
        sample, k = self.sample, self.settings.n_components
        one, of_one = sample.settled(self.mixture_of(np.ones(1), self.moments.mean[None]))
        first = [sample.settled(end, FIRST_ITERATIONS) for end in clusterings(self)]
        ends = {"k-means": sample.distinct(max(first, key=lambda end: end[1])[0])}
        if label_means is not None:
            # equally probable, as rows of a label say nothing of its weight
            labelled = self.mixture_of(np.full(k, 1 / k), label_means.means)
            ends["means of labels"] = sample.distinct(self._named(labelled))
        name = max(ends, key=lambda name: sample.merit(*ends[name], k))
        clusters, likelihood = ends[name]
        log_likelihood = {"one component": of_one} | {name: end[1] for name, end in ends.items()}
        numbers = (clusters.n_components - 1) * (1 + one.means.shape[1])
        # noise has clusters, too
        gain = sample.rows.total_weight() * (likelihood - of_one)
        are_components = gain > LEAST_GAIN_A_PARAMETER * numbers
        if searched is not None:
            of_terms = sample.distinct(self._named(self.components_of(searched.terms)))
            log_likelihood[searched.diagnostics["initialisation"]] = of_terms[1]
            as_good = sample.merit(*of_terms, k) >= sample.merit(clusters, likelihood, k)
            if label_means is not None and as_good:
                # terms may have the labels of others: their components do not, once matched
                name, clusters = searched.diagnostics["initialisation"], of_terms[0]
            elif as_good or not are_components:
                facts = {**searched.diagnostics, "log_likelihood": log_likelihood}
                return PilotComponents(replace(searched, diagnostics=facts))
        elif not are_components:
            raise no_component()
        if label_means is not None:
            clusters = matched_to_labels(clusters, label_means, self.settings.shape.groups)
        return self._of_clusters(name, clusters, log_likelihood, searched)

    def _of_clusters(
        self,
        name: str,
        clusters: GaussianComponents,
        log_likelihood: dict[str, float],
        searched: FoundTerms | None,
    ) -> PilotComponents:
        """Return components in the place of terms, with the facts of the comparison."""
        rows, settings, tensor = self.sample.rows, self.settings, self.tensor
        terms = terms_of(clusters.means, tensor, clusters.weights)
        of_search: dict[str, Any] = {"rounds": 0, "components_seen": clusters.n_components}
        if searched is not None and searched.terms.n_terms == settings.n_components:
            # what the search saw beyond the components asked for holds whatever they are
            of_search = searched.diagnostics
        else:
            starts = sample_initialisations(tensor, rows, settings.random_state)
            discovery = DiscoverySettings(settings.n_components, UPDATES)
            left = left_weight(tensor.contract_in_memory(rows), starts, terms, discovery)
            of_search["left_weight"] = left
        facts = {
            **of_search,
            "initialisation": name,
            "log_likelihood": log_likelihood,
            "tails": component_shapes(clusters, rows).tails,
        }
        return PilotComponents(FoundTerms(terms, facts), clusters)


def clusterings(comparison: Comparison) -> Generator[GaussianComponents, None, None]:
    """Yield components at the centres of clusters of the rows, by k-means of standardised rows."""
    rows, total, settings = comparison.sample.rows, comparison.sample.total, comparison.settings
    values, weight = rows.dense_values[: rows.rows].astype(np.float64), rows.row_weights()
    # the distances to centres are sums over features, whose rounding follows their order
    order = content_order_of_columns(values, weight)
    scaled = (values - total.mean) / np.sqrt(np.where(total.variances > 0, total.variances, 1.0))
    scaled, weighted = scaled[:, order], weight[:, None] * values
    k = settings.n_components
    for number in range(CLUSTERINGS):
        seed = settings.random_state + number
        labels = kmeans(scaled, k, seed, weight=weight, n_starts=1).labels
        masses = np.bincount(labels, weight, minlength=k)
        sums = np.zeros((k, values.shape[1]))
        np.add.at(sums, labels, weighted)
        filled = masses > 0
        means = sums[filled] / masses[filled, None]
        yield comparison.mixture_of(masses[filled] / masses.sum(), means)
