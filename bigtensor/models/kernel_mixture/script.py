"""Script of a kernel mixture's fit: the order of its passes, and what is solved between them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.solution import MultiviewMixture, Outcome
from bigtensor.errors import IdentifiabilityError
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.plain_maps import OneHot
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.script import Estimate, Script, Solved, Step
from bigtensor.models.kernel_mixture.choices.alternative_initialisations import (
    began_with_moments,
    best_initialisation,
    has_alternatives,
)
from bigtensor.models.kernel_mixture.choices.bandwidth import with_chosen_bandwidth
from bigtensor.models.kernel_mixture.choices.component_count import with_counted_components
from bigtensor.models.kernel_mixture.choices.constant_features import without_constant_features
from bigtensor.models.kernel_mixture.choices.dependence import with_populations_if_dependent
from bigtensor.models.kernel_mixture.choices.few_values import (
    features_of_few_values,
    few_values_in_words,
)
from bigtensor.models.kernel_mixture.choices.populations import find_populations
from bigtensor.models.kernel_mixture.choices.units import with_chosen_units
from bigtensor.models.kernel_mixture.embedded_view import EmbeddedView
from bigtensor.models.kernel_mixture.groups import OtherView
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.pilot_scores import score_pilot
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation, prepare_from
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.kernel_mixture.solution import KernelFit, KernelSolution
from bigtensor.models.kernel_mixture.solve import (
    Refinement,
    clustered_initialisation,
    decomposed,
    moments_solution,
    posterior_solution,
    spectral_initialisation,
)
from bigtensor.models.kernel_mixture.stages import (
    LEAST_CANDIDATES,
    Stage,
    moments_pass,
    moments_reason,
    moments_windows,
    posterior_stages,
    rounds_stage,
)
from bigtensor.models.kernel_mixture.verdict import (
    Evidence,
    judged,
    judged_moments,
)
from bigtensor.models.pilot.constant_features import LeftOut, described, varying_columns
from bigtensor.models.pilot.outliers import ordinary_rows, sample_outliers
from bigtensor.models.pilot.raw_counts import warn_of_raw_counts
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.models.words.wording import several_names
from bigtensor.statistics.base import Narrowing, Pass
from bigtensor.statistics.densities.co_posterior import CoPosteriorSumsResult
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.moments.triple_moments import TripleMoments, TripleMomentsResult
from bigtensor.statistics.row_sample import Sample

STORED_CLASSES = (
    *(
        KernelFit,
        KernelSolution,
        EmbeddedView,
        Populations,
        MergeTree,
        KernelMixturePreparation,
        KernelMixtureSettings,
    ),
    *(Grids, GroupMap, OtherView, Nystroem, OneHot, GaussianKernel, LaplaceKernel),
    *(TripleMoments, PosteriorSums, MixtureDensities, TabulatedDensities, EmbeddedDensities),
)
"""Dataclasses that a saved kernel mixture, prepared or fitted, is made of."""


def prepare(settings: KernelMixtureSettings) -> Script:
    """Ask for a sample, and fix everything that the sums depend on. In rounds no row is kept."""
    preparation: KernelMixturePreparation = yield from prepare_from_sample(settings)
    return without_rows(preparation) if settings.shape.in_rounds else preparation


def prepare_from_sample(settings: KernelMixtureSettings) -> Script:
    """Ask for a sample, and fix everything that the sums depend on.

    Constant features are left out of the sample, the settings, the preparation, and all later
    passes.
    """
    largest = settings.if_dependent or settings
    pilot: Sample = yield pilot_pass(largest, least_candidates=LEAST_CANDIDATES)
    all_columns = settings
    sample, outliers = ordinary_sample(pilot, settings)
    measured = np.delete(sample.values, settings.categorical_columns, axis=1)
    raw_counts = warn_of_raw_counts(measured, "KernelMixture")
    varying = varying_columns(sample)
    left_out: LeftOut = {}
    if not varying.all():
        sample, settings, left_out = without_constant_features(sample, settings, varying)
        yield Narrowing(tuple(np.flatnonzero(varying).tolist()))
    if settings.counted:
        yield Step("counting the components")
    settings, counted_in_sample = with_counted_components(sample, settings)
    if settings.may_merge:
        yield Step("measuring dependence within components")
    settings, dependence = with_populations_if_dependent(sample, settings)
    if settings.pilot_rows > all_columns.pilot_rows:
        # as many rows as for a number of populations that was asked for
        sample, outliers = ordinary_sample(
            pilot, replace(all_columns, wanted_pilot_rows=settings.pilot_rows)
        )
        if not varying.all():
            sample = replace(sample, values=np.ascontiguousarray(sample.values[:, varying]))
    if settings.units_by_data:
        yield Step("comparing units of the features")
    settings, units_likelihood = with_chosen_units(sample, settings)
    yield Step("preparing the features")
    preparation = yield from with_chosen_bandwidth(prepare_from(sample, settings))
    choices = {
        "component_count": counted_in_sample or None,
        "dependence_within_components": dependence,
        "units_likelihood": units_likelihood,
        "constant_features": left_out or None,
    }
    diagnostics = preparation.diagnostics
    diagnostics |= {name: value for name, value in choices.items() if value is not None}
    diagnostics["notes"] += _landmark_notes(diagnostics.get("landmarks", {}))
    few = features_of_few_values(sample, settings) if raw_counts is None else ()
    if few:
        diagnostics["notes"].append(few_values_in_words(few))
    if left_out:
        constant = described(left_out, len(sample.values))
        diagnostics["notes"].append(f"{constant}, and the fit uses the others")
    if raw_counts is not None:
        diagnostics["warned"] = [raw_counts]
    return replace(preparation, outliers=outliers)


def _landmark_notes(landmarks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the notes on landmarks, each once for all its views."""
    views: dict[str, list[str]] = {}
    for name, entry in landmarks.items():
        if "note" in entry:
            views.setdefault(entry["note"], []).append(name)
    return [
        f"view{'s' * (len(names) > 1)} {several_names(names)}: {note}"
        for note, names in views.items()
    ]


def refine(preparation: KernelMixturePreparation) -> Script:
    """Ask for the moments and the posterior sums, and solve between them.

    Without rows of a sample, in rounds, posterior passes go on for as long as there are sums.
    """
    settings = preparation.settings
    diagnostics = {**preparation.diagnostics, **preparation.outliers}
    mixture, doubtful = yield from _initialisation(preparation, diagnostics)
    in_rounds = preparation.pilot is None
    if doubtful and not in_rounds and preparation.groups and has_alternatives(settings):
        of_clusters = None
        if _cluster_count(preparation) >= preparation.n_components:
            of_clusters = clustered_initialisation(preparation).mixture()
        mixture = yield from best_initialisation(mixture, of_clusters, preparation, diagnostics)
    stages = (
        [rounds_stage(settings)] if in_rounds else posterior_stages(settings, doubtful=doubtful)
    )
    co_posterior: CoPosteriorSumsResult | None = None
    for stage in stages:
        conclude = partial(
            _concluded, preparation=preparation, diagnostics=diagnostics, stage=stage
        )
        passes = yield from posterior_solution(mixture, preparation, stage, conclude)
        co_posterior = passes.sums.co_posterior or co_posterior
        mixture = passes.solution.mixture()
        key = "mean" if stage.name == "posterior" else stage.name
        diagnostics[f"{key}_log_likelihood"] = passes.likelihoods
    if settings.n_populations is not None:
        yield Step("merging components into populations")
    return conclude(passes, co_posterior)


def _concluded(
    passes: Refinement,
    co_posterior: CoPosteriorSumsResult | None = None,
    *,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
    stage: Stage,
) -> Solved:
    """Return the solution after some posterior passes, with its populations and its verdict.

    Parameters
    ----------
    passes : Refinement
        Passes of this stage.
    co_posterior : CoPosteriorSumsResult, optional
        What the components share; of the last of these passes unless it is given.
    preparation : KernelMixturePreparation
        Decisions from the pilot sample.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    stage : Stage
        The stage that the passes belong to.
    """
    settings = preparation.settings
    diagnostics = {**diagnostics, "mean_log_likelihood": passes.likelihoods}
    co_posterior = co_posterior or passes.sums.co_posterior
    fit = finished(passes.solution, co_posterior, preparation, diagnostics)
    order = passes.solution.descending
    scores = None
    if preparation.pilot is not None:
        of_component = None if fit.populations is None else fit.populations.of_component
        scores = score_pilot(
            passes,
            preparation,
            contained=stage.windows is None,
            of_component=None if of_component is None else of_component[np.argsort(order)],
        )
    evidence = Evidence(
        weights=fit.solution.weights,
        order=order,
        rows=settings.shape.all_rows if stage.windows else passes.sums.weight,
        scores=scores,
        labelled=None if co_posterior is None else co_posterior.assigned.sum(axis=0),
        population_weights=None if fit.populations is None else fit.populations.weights,
        # a number of passes that was asked for is not questioned, and components that are merged
        # only have to cover the data
        judge_settling=settings.max_iter is None and settings.n_populations is None,
        passes=len(passes.likelihoods),
        outliers=sample_outliers(diagnostics),
        # what the moments met is of no matter where the fit began with clusters
        spectral=diagnostics["spectral"] if began_with_moments(diagnostics) else None,
    )
    return judged(fit, evidence, diagnostics)


def _initialisation(
    preparation: KernelMixturePreparation, diagnostics: dict[str, Any]
) -> Generator[Pass[Any] | Estimate | Step, Any, tuple[MixtureDensities, bool]]:
    """Return the mixture to start from, and whether it is a doubtful one."""
    if preparation.start is not None:
        return preparation.start.mixture(), True
    if preparation.groups is None:
        return clustered_components(preparation).mixture(), True
    settings = preparation.settings
    # in rounds, all sites sum all their rows
    windows = None if preparation.pilot is None else moments_windows(settings)
    moments = yield moments_pass(preparation.groups, windows)
    yield Step("decomposing the moments")
    spectral = spectral_components(moments, preparation, diagnostics)
    diagnostics["moments"] = {
        "rows": moments.rows,
        "reason": moments_reason(settings, windowed=windows is not None),
    }
    mixture = spectral_initialisation(spectral, preparation)
    yield Estimate(partial(_concluded_from_moments, mixture, moments, preparation, diagnostics))
    return mixture, spectral.outcome is not Outcome.CONVERGED


def _concluded_from_moments(
    mixture: MixtureDensities,
    moments: TripleMomentsResult,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
) -> Solved:
    """Return the solution of the moments alone."""
    solution = moments_solution(mixture, moments.weight, preparation)
    fit = KernelFit(solution.ordered(solution.descending))
    diagnostics = {**diagnostics, "mean_log_likelihood": []}
    return judged_moments(fit, diagnostics, sample_outliers(diagnostics))


def without_rows(preparation: KernelMixturePreparation) -> KernelMixturePreparation:
    """Return the preparation of a fit in rounds: the initial components, and no rows."""
    start = None
    if preparation.groups is None:
        start = clustered_components(preparation)
        start = start.ordered(start.descending)
    return replace(
        preparation,
        assignment=np.empty(0, np.intp),
        clustering_weight=None,
        pilot=None,
        start=start,
    )


def finished(
    solution: KernelSolution,
    co_posterior: CoPosteriorSumsResult | None,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
) -> KernelFit:
    """Put the components in order, and merge them where populations were asked for.

    Parameters
    ----------
    solution : KernelSolution
        The estimate.
    co_posterior : CoPosteriorSumsResult, optional
        What the components share.
    preparation : KernelMixturePreparation
        Decisions from the pilot sample.
    diagnostics : dict
        Receives the number of populations and the record of their choice.
    """
    order = solution.descending
    ordered = solution.ordered(order, preparation.pilot)
    populations = None
    if preparation.settings.n_populations is not None and co_posterior is not None:
        populations = find_populations(
            ordered, co_posterior.ordered(order), preparation, diagnostics
        )
        diagnostics["n_populations"] = len(populations.weights)
    return KernelFit(ordered, populations)


def clustered_components(preparation: KernelMixturePreparation) -> KernelSolution:
    """Return the components that the clusters of the sample make, if there are enough."""
    n_clusters, k = _cluster_count(preparation), preparation.n_components
    if n_clusters < k:
        raise IdentifiabilityError(
            f"the sample has only {n_clusters} distinct rows, which support at most {n_clusters} "
            f"components, but {k} were asked for: use fewer components"
        )
    return clustered_initialisation(preparation)


def spectral_components(
    moments: TripleMomentsResult, preparation: KernelMixturePreparation, diagnostics: dict[str, Any]
) -> MultiviewMixture:
    """Decompose the moments and record diagnostics."""
    spectral = decomposed(moments, preparation)
    diagnostics["spectral"] = {"outcome": spectral.outcome.value, **spectral.diagnostics}
    return spectral


def ordinary_sample(
    pilot: Sample, settings: KernelMixtureSettings
) -> tuple[Sample, dict[str, Any]]:
    """Return the rows of the pilot sample that are no outliers, and diagnostics of these.

    Bandwidths, grids and components are made from ordinary rows.

    Parameters
    ----------
    pilot : Sample
        Rows as they were drawn, at least as many as are used.
    settings : KernelMixtureSettings
        Settings with the number of rows to use.
    """
    drawn = pilot.smaller(settings.pilot_rows, settings.random_state)
    columns = tuple((piece.start, piece.stop) for piece in settings.slices.values())
    ordinary = ordinary_rows(
        drawn, columns, settings.shape, categorical=tuple(settings.categorical_columns)
    )
    outliers = {"drawn_rows": len(drawn.values), **ordinary.diagnostics}
    return ordinary.sample.by_occurrence(settings.pilot_rows), outliers


def _cluster_count(preparation: KernelMixturePreparation) -> int:
    """Return the number of clusters of the pilot sample that have rows."""
    return int(np.unique(preparation.assignment).size)
