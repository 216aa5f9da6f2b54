"""Script of a linear mixture's fit: a pilot sample, the terms of all rows, and EM iterations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.iteration import Iterations
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.models.gaussian.em_iterations import EmIterate, SharedCovarianceEm, em_iterations
from bigtensor.models.gaussian.fitted_components import GaussianComponents, distinct_components
from bigtensor.models.linear_mixture.clusters import labelled_components, searched_components
from bigtensor.models.linear_mixture.columns import LinearTerms, mixture_of
from bigtensor.models.linear_mixture.from_formed_tensor import (
    from_compressed_tensor,
    from_explicit_tensor,
)
from bigtensor.models.linear_mixture.from_passes import (
    from_passes,
    from_power_updates,
    no_steps,
)
from bigtensor.models.linear_mixture.from_sample import from_sample
from bigtensor.models.linear_mixture.located import LinearPreparation, Located
from bigtensor.models.linear_mixture.pilot_search import starting_columns
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.linear_mixture.verdict import is_too_few, judged
from bigtensor.models.moment_tensors.pilot_tensor import centred_tensor
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.models.pilot.outliers import ordinary_rows
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.gaussian.label_means import LabelMeans, LabelMeansResult
from bigtensor.statistics.moments.covariances import Covariances, CovariancesResult
from bigtensor.statistics.moments.projected_moment import ProjectedMoment
from bigtensor.statistics.moments.tensor_contractions import TensorContractions
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.within_reach import Reach, WithinReach

ORDERS = (1, 1, 1)

FEW_COMPONENTS = 4
"""Largest number of components that need a large constant.

About the mean, the columns of k components have rank k - 1, and a tensor of so few columns is not
unique (Kruskal 1977) unless the constant makes up for the lost one.
"""

CONSTANT, CONSTANT_OF_FEW = 0.25, 1.0
"""Constant feature of a view, in units of the typical length of its columns.

Measured on 50 to 100 features a view: with 200 and more components a constant above .35 hides
components behind the mean; with 2 to 4, constants below 1 lose precision.
"""


STORED_CLASSES = (
    *(Populations, MergeTree),
    *(GaussianComponents, LinearPreparation, LinearSettings, SampleTensor, Terms, Reach),
    *(WithinReach, Together, TensorContractions, Covariances, GaussianPosteriorSums),
    ProjectedMoment,
    *(GaussianDensities, LabelMeans, LabelMeansResult),
)
"""Dataclasses that a saved linear mixture, prepared or fitted, is made of."""


def prepare(settings: LinearSettings) -> Script:
    """Ask for a pilot sample, and find the components in it."""
    sample: Sample = yield pilot_pass(settings)
    k = settings.n_components
    scale = CONSTANT_OF_FEW if k <= FEW_COMPONENTS else CONSTANT
    ordinary = ordinary_rows(sample, settings.columns, settings.shape)
    # initialisations, scales and shapes count rows, which weights repeat
    rows = ordinary.sample.by_occurrence(settings.pilot_rows).block(settings.shape.slices)
    tensor = centred_tensor(
        rows, ordinary.reach, ORDERS, scale, settings.shape.dtype, standardised=True
    )
    diagnostics: dict[str, Any] = {"rows": len(sample.values), **ordinary.diagnostics}
    if settings.method != "sample":
        return LinearPreparation(
            settings, tensor, starting_columns(tensor, rows, settings), diagnostics
        )
    if settings.shape.groups:
        best = yield from labelled_components(tensor, rows, settings)
    else:
        best = yield from searched_components(tensor, rows, settings)
    return LinearPreparation(
        settings,
        tensor,
        best.searched.terms,
        diagnostics | best.searched.diagnostics,
        best.clusters,
        best.label_means,
    )


def refine(preparation: LinearPreparation) -> Script:
    """Ask for the passes of the method, and for posterior sums on request."""
    settings, tensor = preparation.settings, preparation.tensor

    def solve(located: Located) -> Solved:
        return _concluded(_mixture(located, preparation), located, preparation)

    located: Located = yield from _located(preparation, solve)
    terms = _mixture(located, preparation)
    moments: CovariancesResult = located.refined.first["total"]

    def conclude(iterations: Iterations[EmIterate[GaussianComponents]]) -> Solved:
        components = distinct = iterations.state.components
        if not is_too_few(components, preparation.pilot | located.search, settings.n_components):
            distinct = distinct_components(components, settings.shape.all_rows, settings.slices)
        merged = components.n_components - distinct.n_components
        moved = LinearTerms(distinct.by_weight(), {**terms.diagnostics, "merged": merged})
        return _concluded(moved, located, preparation, iterations)

    initial = EmIterate(terms.components, TotalMoments(moments.mean, moments.covariance))
    if settings.max_iter:
        yield Estimate(partial(conclude, Iterations(initial, [])))
    return conclude(
        (
            yield from em_iterations(
                initial,
                SharedCovarianceEm(tensor.within, independent=settings.slices),
                max_iter=settings.max_iter,
                tolerance=settings.tolerance,
                conclude=conclude,
            )
        )
    )


def _located(preparation: LinearPreparation, solve: Callable[[Located], Solved]) -> Script:
    """Ask for the passes of the method that finds the components."""
    match preparation.settings.method:
        case "sample":
            return from_sample(preparation, solve)
        case "compressed":
            return from_compressed_tensor(preparation, solve)
        case "explicit":
            return from_explicit_tensor(preparation)
        case "passes":
            return from_passes(preparation)
    return from_power_updates(preparation)


def _mixture(located: Located, preparation: LinearPreparation) -> LinearTerms:
    """Return the mixture of the terms, or of the clusters in their place."""
    if preparation.clusters is not None:
        return LinearTerms(
            preparation.clusters.by_weight(), {"weight_sum": 1.0, "invalid_components": 0}
        )
    moments: CovariancesResult = located.refined.first["total"]
    settings = preparation.settings
    return mixture_of(
        located.refined,
        preparation.tensor,
        moments,
        settings.shape.views,
        settings.n_components,
        settings.shape.groups,
        settings.shape.dtype,
    )


def _concluded(
    terms: LinearTerms,
    located: Located,
    preparation: LinearPreparation,
    iterations: Iterations[EmIterate[GaussianComponents]] | None = None,
) -> Solved:
    """Return the fitted mixture with its diagnostics, and warn of its faults."""
    diagnostics = {
        "method": preparation.settings.method,
        "pilot": preparation.pilot | located.search,
        "gauss_newton": no_steps() if preparation.clusters else located.refined.diagnostics,
        "outlying_rows": located.refined.left_out,
        "first_outlying_rows": preparation.pilot["first_outlying_rows"],
        "mean_log_likelihood": iterations.measures if iterations else [],
        "converged": bool(iterations and iterations.converged),
        **terms.diagnostics,
    }
    return judged(
        terms.components,
        preparation.settings,
        diagnostics,
        located.refined.first["total"],
        preparation.label_means,
    )
