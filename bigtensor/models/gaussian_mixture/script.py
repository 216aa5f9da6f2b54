"""Script of a Gaussian mixture's fit: initialisations compared in a sample, and EM iterations."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.replicated_trees import Replicate
from bigtensor.errors import ParameterError, Setting
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.iteration import Iterations
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.models.gaussian.component_labels import check_label_means
from bigtensor.models.gaussian.component_shapes import component_shapes
from bigtensor.models.gaussian.em_iterations import (
    EmIterate,
    EmStep,
    SharedCovarianceEm,
    em_iterations,
)
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.competition import (
    best_clusterings,
    shared_components,
)
from bigtensor.models.gaussian_mixture.component_choice import (
    COMPARED_AGAIN,
    ComponentChoice,
    Components,
    chosen_components,
    information_score,
    information_score_of_one,
    lowest_log_density,
)
from bigtensor.models.gaussian_mixture.initialisations import (
    ORDERS,
    PilotRows,
    cluster_initialisation,
    given_initialisation,
    kmeans_initialisation,
    label_initialisation,
    matched_to_labels,
    moment_initialisation,
)
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance.em import OwnCovarianceEm
from bigtensor.models.gaussian_mixture.own_covariance.pilot import (
    chooses_regularisation,
    held_out_gain,
    pilot_components,
)
from bigtensor.models.gaussian_mixture.own_covariance.verdict import judged_own_covariances
from bigtensor.models.gaussian_mixture.populations import (
    Replicates,
    grow_replicates,
    population_pass,
    with_populations,
)
from bigtensor.models.gaussian_mixture.regularisation import (
    ENOUGH_ROWS_A_PARAMETER,
    Regularisation,
    Strength,
    strength_of,
)
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows, completed_sample
from bigtensor.models.gaussian_mixture.settings import (
    Competition,
    GaussianSettings,
    free_parameters,
)
from bigtensor.models.gaussian_mixture.verdict import judged
from bigtensor.models.moment_tensors.pilot_tensor import centred_tensor, typical_distance
from bigtensor.models.pilot.constant_features import (
    LeftOut,
    varying_columns,
    warn_of_constant_features,
    without_columns,
)
from bigtensor.models.pilot.outliers import OrdinaryRows, ordinary_rows
from bigtensor.models.pilot.raw_counts import warn_of_raw_counts
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Narrowing, Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums, CoPosteriorSumsResult
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.gaussian.label_means import LabelMeans, LabelMeansResult
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.windows import settling_windows
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

SETTLING_ITERATIONS = 40
"""Most EM iterations over windows of the rows, before those over all rows."""

BestOwn: TypeAlias = tuple[OwnCovarianceComponents, dict[str, Any]]
"""Best components with a covariance each, and the facts of the competition."""

Best: TypeAlias = tuple[Components, dict[str, Any]]
"""Best components of any covariance type, and the facts of the competition."""


@dataclass(frozen=True, eq=False)
class GaussianPreparation:
    """Best components of the pilot sample.

    Attributes
    ----------
    settings : GaussianSettings
        Resolved parameters of the fit.
    components : GaussianComponents or OwnCovarianceComponents
        The mixture.
    reach : Reach
        The rows that count.
    pilot : dict
        Initialisations with their likelihoods, and the rows of the sample.
    regularisation : Regularisation
        Regularisation of the covariances, if every component has one for itself.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    replicates : Replicates, optional
        Trees of halves of the sample, if components are merged into populations.
    """

    settings: GaussianSettings
    components: GaussianComponents | OwnCovarianceComponents
    reach: Reach
    pilot: dict[str, Any]
    regularisation: Regularisation
    diagnostics: dict[str, Any] = field(default_factory=dict)
    replicates: Replicates | None = None


STORED_CLASSES = (
    *(Populations, MergeTree, Replicate, Replicates, CoPosteriorSums),
    *(GaussianComponents, GaussianPreparation, GaussianSettings, Competition, Reach),
    *(Regularisation, Strength),
    *(OwnCovarianceComponents, OwnCovarianceSums, OwnCovarianceDensities, Frame),
    *(WithinReach, Together, Covariances, GaussianPosteriorSums, GaussianDensities, LabelMeans),
)
"""Dataclasses that a saved Gaussian mixture, prepared or fitted, is made of."""


def prepare(settings: GaussianSettings) -> Script:
    """Ask for a pilot sample, and let initialisations compete in it.

    Features are in the order of their content there: iterations from rows multiply rounding errors
    until initialisations end elsewhere.
    """
    sample: Sample = yield pilot_pass(settings)
    ordinary, settings, left_out = yield from _ordinary_rows(sample, settings)
    # initialisations, scales and shapes count rows, which weights repeat
    repeated = ordinary.sample.by_occurrence(settings.pilot_rows)
    block = repeated.block(settings.shape.slices)
    if np.isnan(block.dense_values).any():
        yield Step("completing rows with missing entries")
    complete = completed_sample(block, ordinary.reach, settings)
    order = content_order_of_columns(complete.complete, complete.block.weight)
    places = np.argsort(order)
    rows, reach = complete.of_features(order), ordinary.reach.of_columns(order)
    diagnostics = {"rows": len(sample.values), **ordinary.diagnostics}
    if settings.initial is not None:
        settings = replace(settings, initial=settings.initial.of_features(order))
    if settings.own_covariances:
        # nearly equal rows are refused; with a shared covariance, their third moment is
        typical_distance(rows.complete.astype(np.float64), 0, settings.n_features)

    best: BestOwn | None = None
    if settings.criterion is not None:
        choice, best = yield from _chosen_components(rows, reach, settings)
        diagnostics["component_choice"] = choice.facts(settings.criterion)
        settings = replace(settings, n_components=choice.n_components)
    total = rows.total
    label_means = yield from _label_means(settings, total.mean, order)
    labelled = None
    if label_means is not None:
        labelled = label_initialisation(label_means.means, total, settings)
    components, facts = best or (yield from _best_with_gain(rows, reach, settings, labelled))
    if label_means is not None:
        components = matched_to_labels(components, label_means, settings.shape.groups)
    if isinstance(components, OwnCovarianceComponents):
        strength = strength_of(facts)
        settings = replace(settings, strength=strength)
        regularisation = Regularisation.for_features(total.variances, strength).around(components)
        regularisation = regularisation.of_features(places)
    else:
        yield Step("looking at the shapes of the components")
        names = tuple(settings.features[place] for place in order)
        facts["shapes"] = component_shapes(components, rows.block).facts(names)
        regularisation = Regularisation(np.zeros(settings.n_features))
        if settings.criterion is not None:
            # indistinct components are not fewer than asked for if nobody asked for a number
            settings = replace(settings, n_components=components.n_components)
    if settings.shape.in_rounds and not settings.marginalised:
        facts["lowest_log_density"] = lowest_log_density(components, rows.block)
    replicates: Replicates | None = None
    if settings.n_populations is not None:
        fit = partial(_sample_components, reach=reach)
        replicates = yield from grow_replicates(rows, places, settings, fit)
    return GaussianPreparation(
        settings,
        components.of_features(places),
        ordinary.reach,
        {**facts, **diagnostics},
        regularisation,
        {"constant_features": left_out} if left_out else {},
        replicates=replicates,
    )


def _label_means(
    settings: GaussianSettings, mean: FloatArray, order: IndexArray
) -> Generator[Pass[LabelMeansResult], LabelMeansResult, LabelMeansResult | None]:
    """Return the means of labelled rows, with features in an order; None without labels."""
    if not settings.shape.groups:
        return None
    label_means = yield label_pass(settings, mean[np.argsort(order)])
    check_label_means(label_means, settings.shape.groups)
    return replace(label_means, means=label_means.means[:, order])


def _ordinary_rows(
    sample: Sample, settings: GaussianSettings
) -> Generator[Narrowing, None, tuple[OrdinaryRows, GaussianSettings, LeftOut]]:
    """Return the ordinary rows, without features that are constant in them.

    These features, and values that look like raw counts, are warned of.
    """
    raw_counts = warn_of_raw_counts(sample.values, "GaussianMixture")
    ordinary = ordinary_rows(sample, settings.columns, settings.shape)
    varying = varying_columns(ordinary.sample)
    # without any feature that varies, later steps say what is wrong with the rows
    varying |= not varying.any()
    views, left_out = without_columns(settings.shape.views, varying)
    settings = settings.without_columns(views, varying)
    if left_out:
        warn_of_constant_features(left_out, len(ordinary.sample.values))
        yield Narrowing(tuple(np.flatnonzero(varying).tolist()))
        # again, because rows may be far from the others in a constant feature alone
        values = np.ascontiguousarray(sample.values[:, varying])
        ordinary = ordinary_rows(replace(sample, values=values), settings.columns, settings.shape)
    if raw_counts is not None:
        ordinary = replace(ordinary, diagnostics={**ordinary.diagnostics, "warned": [raw_counts]})
    return ordinary, settings, left_out


def _pilot_of(sample: SampleRows, reach: Reach, settings: GaussianSettings) -> PilotRows:
    """Return rows of the sample with their moments."""
    tensor = centred_tensor(
        sample.block, reach, ORDERS, 0.0, settings.shape.dtype, standardised=settings.tied
    )
    return PilotRows(sample.block, tensor, sample.total)


def _chosen_components(
    rows: SampleRows, reach: Reach, settings: GaussianSettings
) -> Generator[Step, None, tuple[ComponentChoice, BestOwn | None]]:
    """Return the number of components that the sample speaks for, and the best ones of this number.

    Where components of this number need much more regularisation than numbers were compared under,
    numbers are compared again under theirs: it lets more components follow few rows. Components
    that share a covariance are not returned.
    """
    fit = partial(_sample_components, reach=reach)
    choice = yield from chosen_components(rows, settings, fit)
    if not settings.own_covariances:
        return choice, None
    of_number = replace(settings, n_components=choice.n_components)
    best = yield from _best_own(rows, reach, of_number)
    strength = strength_of(best[1])
    needs_more = strength.reg_covar >= COMPARED_AGAIN or strength.shrinkage > 0
    if not chooses_regularisation(of_number) or not needs_more:
        return choice, best
    again = yield from chosen_components(rows, replace(settings, strength=strength), fit)
    if again.n_components != choice.n_components:
        of_number = replace(settings, n_components=again.n_components)
        best = yield from _best_own(rows, reach, of_number)
    return again, best


def _sample_components(
    rows: SampleRows,
    settings: GaussianSettings,
    reach: Reach,
) -> Generator[Step, None, Components]:
    """Return the components of some rows of the sample."""
    if settings.own_covariances:
        return (yield from _best_own(rows, reach, settings))[0]
    return (yield from _best_shared(_pilot_of(rows, reach, settings), settings))[0]


def _best_own(
    rows: SampleRows,
    reach: Reach,
    settings: GaussianSettings,
    labelled: GaussianComponents | None = None,
) -> Generator[Step, None, BestOwn]:
    """Return the best components with a covariance each, and the facts of the competition."""
    shared = {} if labelled is None else {"labels": labelled}
    if settings.init == "moments" and not shared:
        complete = replace(rows, block=replace(rows.block, values=rows.complete))
        sharing = settings.sharing
        shared = yield from _of_moments(_pilot_of(complete, reach, sharing), sharing)
    return (yield from pilot_components(rows, reach, settings, shared))


def _best_with_gain(
    rows: SampleRows,
    reach: Reach,
    settings: GaussianSettings,
    labelled: GaussianComponents | None,
) -> Generator[Step, None, Best]:
    """Return the best components, with their gain over one component where rows can show it.

    It is the gain of held-out rows if these chose the regularisation, and that of BIC elsewhere.
    """
    best: Best
    if settings.own_covariances:
        best = yield from _best_own(rows, reach, settings, labelled)
    else:
        best = yield from _best_shared(_pilot_of(rows, reach, settings), settings, labelled)
    components, facts = best
    k, compared = components.n_components, facts.get("regularisations")
    if k == 1 or settings.criterion is not None:
        return best
    if not settings.max_iter or settings.starts_from_all_arrays:
        # these components are not those of the sample
        return best
    numbers = free_parameters(settings.covariance_type, k, settings.n_features)
    enough = min(rows.block.rows, rows.block.total_weight()) >= ENOUGH_ROWS_A_PARAMETER * numbers
    if compared and isinstance(components, OwnCovarianceComponents):
        gain = held_out_gain(components, compared, rows, settings)
    elif enough and rows.is_complete:
        gain = information_score(components, rows, settings)
        gain -= information_score_of_one(rows, settings)
    else:
        return best
    return components, {**facts, "gain_over_one_component": gain}


def _best_shared(
    pilot: PilotRows, settings: GaussianSettings, labelled: GaussianComponents | None = None
) -> Generator[Step, None, tuple[GaussianComponents, dict[str, Any]]]:
    """Return the best components that share their covariance, and the facts of the competition."""
    if labelled is not None:
        return (yield from shared_components({"labels": labelled}, pilot, settings))
    if settings.initial is not None and settings.initial.means is not None:
        of_means = given_initialisation(settings.initial.means, pilot.total, settings)
        initial = {"given": settings.initial.in_place_of(of_means)}
        return (yield from shared_components(initial, pilot, settings))
    initial = yield from _initialisations(pilot, settings)
    if settings.initial is not None:
        initial = {
            name: settings.initial.in_place_of(one)
            for name, one in initial.items()
            if one.n_components == settings.n_components
        }
    return (yield from shared_components(initial, pilot, settings))


def refine(preparation: GaussianPreparation) -> Script:
    """Ask for posterior sums over all rows until the likelihood converges.

    Where populations are asked for, a last pass sums what the components share.
    """
    settings = preparation.settings
    solved: Solved = yield from _maximised(preparation)
    if settings.n_populations is None or preparation.replicates is None:
        return solved
    within: ResultWithin[CoPosteriorSumsResult] = yield population_pass(
        solved.fitted, preparation.reach
    )
    return with_populations(solved, within.result, preparation.replicates, settings.n_populations)


def em_step(
    settings: GaussianSettings, reach: Reach, regularisation: Regularisation
) -> EmStep[Any]:
    """Return the EM iteration of the type of covariances over all rows.

    Parameters
    ----------
    settings : GaussianSettings
        Resolved parameters of the fit.
    reach : Reach
        The rows that count.
    regularisation : Regularisation
        Regularisation of the covariances, if every component has one for itself.
    """
    if settings.own_covariances:
        return OwnCovarianceEm(reach, regularisation)
    return SharedCovarianceEm(reach, settings.spherical)


def settling_step(settings: GaussianSettings, step: EmStep[Any]) -> EmStep[Any] | None:
    """Return the EM iteration over windows of the rows; None if the rows are few or need none."""
    windows = settling_windows(settings.shape.rows)
    if windows is None or not isinstance(step, OwnCovarianceEm):
        return None
    return replace(step, windows=windows)


def _maximised(preparation: GaussianPreparation) -> Script:
    """Ask for posterior sums until the likelihood converges."""
    settings, conclude = preparation.settings, partial(_concluded, preparation)
    step = em_step(settings, preparation.reach, preparation.regularisation)
    settling = settling_step(settings, step)
    iterate: EmIterate[Any] = EmIterate(preparation.components)
    # settling would lose what another fit found in all rows
    if settling is not None and settings.max_iter and not settings.starts_from_all_arrays:
        settled = yield from em_iterations(
            iterate, settling, max_iter=SETTLING_ITERATIONS, tolerance=settings.tol
        )
        iterate = EmIterate(settled.state.components)
    return conclude(
        (
            yield from em_iterations(
                iterate,
                step,
                max_iter=settings.max_iter,
                tolerance=settings.tol,
                before=settings.log_likelihood_before,
                conclude=conclude,
            )
        )
    )


def label_pass(settings: GaussianSettings, point: np.ndarray) -> Pass[LabelMeansResult]:
    """Return the pass that sums labelled rows."""
    return Pass("labels", LabelMeans(settings.n_components, point))


def _initialisations(
    pilot: PilotRows, settings: GaussianSettings
) -> Generator[Step, None, dict[str, GaussianComponents]]:
    """Return the initialisations that compete."""
    if settings.init == "moments":
        return (yield from _of_moments(pilot, settings))
    yield Step("clustering the sample")
    initial = {"merged clusters": cluster_initialisation(pilot, settings)}
    if settings.tied:
        yield Step("EM iterations in the sample from clusters")
        tries = {
            f"clusters {number + 1}": kmeans_initialisation(pilot, settings, number)
            for number in range(settings.n_init)
        }
        initial |= best_clusterings(tries, pilot, settings)
    if settings.init == "auto" and settings.determined_by_moments:
        components = yield from moment_initialisation(pilot, settings)
        if components is not None:
            initial["moments"] = components
    return initial


def _of_moments(
    pilot: PilotRows, settings: GaussianSettings
) -> Generator[Step, None, dict[str, GaussianComponents]]:
    """Return components of the third moment with one covariance, or raise a ParameterError."""
    components = None
    if settings.n_components == 1 or settings.determined_by_moments:
        components = yield from moment_initialisation(pilot, settings)
    if components is None:
        raise ParameterError(
            "the third moment of the rows does not determine "
            f"{settings.n_components} components: use " + Setting("init", "kmeans")
        )
    return {"moments": components}


def _concluded(preparation: GaussianPreparation, iterations: Iterations[EmIterate[Any]]) -> Solved:
    """Return the fitted mixture with its diagnostics, and warn of its faults."""
    components, settings = iterations.state.components, preparation.settings
    diagnostics = {
        **preparation.diagnostics,
        "n_components": components.n_components,
        "covariance_type": settings.covariance_type,
        "pilot": preparation.pilot,
        "outlying_rows": iterations.state.outlying_rows,
        "first_outlying_rows": preparation.pilot["first_outlying_rows"],
        "mean_log_likelihood": iterations.measures,
        "converged": iterations.converged,
    }
    ordered = components if settings.orders_components else components.by_weight()
    judge = judged_own_covariances if settings.own_covariances else judged
    return judge(ordered, settings, diagnostics)
