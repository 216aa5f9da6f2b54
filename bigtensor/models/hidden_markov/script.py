"""Script of a hidden Markov model's fit: a count of triples, and iterations along sequences."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.errors import DataError, Setting
from bigtensor.features.cells import Cells
from bigtensor.features.maps import FeatureMap
from bigtensor.models.contract.script import PlannedPass, Script
from bigtensor.models.hidden_markov.choice_along_sequences import (
    SequenceFit,
    best_along_sequences,
)
from bigtensor.models.hidden_markov.declared_parameters import GAUSSIAN, POISSON
from bigtensor.models.hidden_markov.emissions.categorical_emissions import (
    CategoricalEmissions,
    Categories,
)
from bigtensor.models.hidden_markov.emissions.gaussian_emissions import (
    GaussianEmissions,
    GaussianLaw,
)
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.emissions.kernel_preparation import (
    KernelPreparation,
    blank_cells,
    prepare_densities,
)
from bigtensor.models.hidden_markov.emissions.law_preparation import (
    LawPreparation,
    blank_law,
    prepare_law,
)
from bigtensor.models.hidden_markov.emissions.poisson_emissions import PoissonEmissions, PoissonLaw
from bigtensor.models.hidden_markov.emissions.protocols import Family
from bigtensor.models.hidden_markov.initialisations import (
    best_of_initialisations,
    other_initialisations,
)
from bigtensor.models.hidden_markov.sequence_iterations import (
    WITHOUT_ORDER,
    gain_of_order,
    operators_of,
)
from bigtensor.models.hidden_markov.settings import (
    ROUNDS,
    MarkovSettings,
)
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.hidden_markov.state_choice import (
    FOLDS,
    choice_statistic,
    choose_states,
    folds_of,
)
from bigtensor.models.hidden_markov.triple_estimate import TripleSettings, estimate_from_triples
from bigtensor.models.hidden_markov.verdict import judged
from bigtensor.models.kernel_mixture import planned_passes as kernel_passes
from bigtensor.models.kernel_mixture import script as kernel_script
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass, Statistic
from bigtensor.statistics.codes.coded_rows import CodedRows
from bigtensor.statistics.codes.folded_triples import FoldedTriples
from bigtensor.statistics.codes.sequence_codes import SequenceCodes
from bigtensor.statistics.codes.triple_counts import TripleCounts, TripleCountsResult
from bigtensor.statistics.densities.joint_densities import JointDensities
from bigtensor.statistics.densities.posterior_sums import PosteriorSumsResult
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.transfer import Boundaries
from bigtensor.statistics.within_reach import Reach

INITIAL_ITERATIONS = 200
"""EM iterations of initial probabilities, in which the likelihood is concave."""


@dataclass(frozen=True, eq=False)
class MarkovPreparation:
    """Decisions before the sums over all rows.

    Attributes
    ----------
    settings : MarkovSettings
        Resolved parameters of the fit.
    family : Categories, KernelPreparation or LawPreparation
        Kind of emissions, and how they are re-estimated.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    """

    settings: MarkovSettings
    family: Family
    diagnostics: dict[str, Any] = field(default_factory=dict)


STORED_CLASSES = (
    *(MarkovFit, CategoricalEmissions, KernelEmissions, MarkovSettings, MarkovPreparation),
    *(GaussianEmissions, PoissonEmissions, GaussianLaw, PoissonLaw, LawPreparation, Frame),
    Reach,
    *(Categories, KernelPreparation, TripleCounts, FoldedTriples, SequenceCodes, CodedRows, Cells),
    PosteriorSumsResult,
    *kernel_script.STORED_CLASSES,
)
"""Dataclasses that a saved hidden Markov model, prepared or fitted, is made of."""


def prepare(settings: MarkovSettings) -> Script:
    """Ask for nothing of categories, and for a sample of measured rows."""
    if settings.emissions in (GAUSSIAN, POISSON):
        law: LawPreparation = yield from prepare_law(settings)
        return MarkovPreparation(settings, law, {"cells": law.cells.count})
    if settings.densities is None:
        yield from ()
        return MarkovPreparation(settings, Categories(settings.shape.views, settings.categories))
    densities: KernelPreparation = yield from prepare_densities(settings.densities, settings.cells)
    diagnostics = {**densities.kernel.diagnostics, "cells": densities.cells.count}
    return MarkovPreparation(settings, densities, diagnostics)


def refine(preparation: MarkovPreparation) -> Script:
    """Ask for the counts of triples, and for expected counts along sequences."""
    settings, family = preparation.settings, preparation.family
    of_triples = TripleSettings(
        settings.n_components, family.n_codes, settings.ridge, settings.random_state
    )
    diagnostics = dict(family.outliers)
    counts: TripleCountsResult
    if settings.chooses_states and not settings.compares_fits:
        statistic = choice_statistic(of_triples, settings.shape)
        counts, folds = folds_of((yield Pass("triples", family.of_codes(statistic))), of_triples)
        choice = yield from choose_states(folds, of_triples)
        of_triples = replace(of_triples, n_states=choice.n_states)
        diagnostics["state_choice"] = choice.diagnostics
    else:
        counts = yield Pass("triples", family.of_codes(TripleCounts(family.n_codes)))
    if not counts.weight.sum() > 0:
        raise DataError(
            "no sequence has three consecutive rows with a positive weight left to fit, and states "
            f"follow from triples of rows (rows: {counts.rows:,}, sequences: {counts.sequences:,});"
            " give sequences of at least three rows, one behind the other, or name another "
            "variable with " + Setting("sequence")
        )

    def fit_of(n_states: int) -> Generator[Any, Any, SequenceFit]:
        of_number = replace(of_triples, n_states=n_states)
        return (yield from _fitted(counts, of_number, family, settings))

    if settings.compares_fits:
        end = yield from best_along_sequences(
            fit_of, settings.n_components, float(counts.weight.sum()), settings.shape.all_rows
        )
    else:
        end = yield from fit_of(of_triples.n_states)
    fit = end.fit.finished()
    return judged(
        fit,
        counts,
        settings.shape.all_rows,
        {
            **preparation.diagnostics,
            "n_components": fit.n_states,
            "ridge": settings.ridge,
            "sequences": counts.sequences,
            "sequences_of_one_row": counts.single_rows,
            "triples": float(counts.weight.sum()),
            "distinct_triples": len(counts.weight),
            "parameters": fit.parameters,
            "refined": "sequences" if end.likelihoods else "triples",
            "triple_log_likelihood": end.triple_likelihoods,
            "mean_log_likelihood": end.likelihoods,
            **diagnostics,
            **end.diagnostics,
        },
    )


def _fitted(
    counts: TripleCountsResult, of_triples: TripleSettings, family: Family, settings: MarkovSettings
) -> Generator[Any, Any, SequenceFit]:
    """Ask for the passes of the fit of one number of states."""
    diagnostics = dict[str, Any]()
    estimate, of_estimate = estimate_from_triples(counts, of_triples)
    initial = [estimate.parameters]
    if settings.competes:
        initial += other_initialisations(counts, of_triples, family)
    starts = [_fit_of(parameters, counts, family) for parameters in initial]
    end, likelihoods, ends = yield from best_of_initialisations(
        starts, family, settings, of_triples.smoothing
    )
    if ends:
        diagnostics["initialisations"] = ends
    by_fits = settings.compares_fits or not settings.chooses_states
    if likelihoods and of_triples.n_states > 1 and by_fits:
        gains = yield from gain_of_order(end, likelihoods[-1], family, settings.shape.most_rows)
        diagnostics["gain_of_order"], diagnostics["gain_of_chance"] = gains
    return SequenceFit(end, likelihoods, estimate.likelihoods, {**diagnostics, **of_estimate})


def _fit_of(parameters: MarkovParameters, counts: TripleCountsResult, family: Family) -> MarkovFit:
    """Return the model of parameters of codes."""
    return MarkovFit(
        initial_states(counts.first_pairs, parameters),
        parameters.window_start,
        parameters.transition,
        family.emissions(parameters.emission),
    )


def planned_preparation(settings: MarkovSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes of `prepare`."""
    if settings.emissions in (GAUSSIAN, POISSON):
        return [PlannedPass(pilot_pass(settings))]
    if settings.densities is None:
        return []
    return kernel_passes.planned_preparation(settings.densities)


def planned_refinement(settings: MarkovSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes of `refine`."""
    k = settings.n_components
    triples, emissions, out_maps = _blank_parts(settings)
    # expected features are those of a copy of the rows within reach
    columns = ((0, len(settings.shape.features)),)
    reach = Reach.unbounded(columns) if settings.emissions in (GAUSSIAN, POISSON) else None
    cells = triples.state_nbytes() // 8
    # the table, those of folds, copies of it in the decomposition, and the distinct triples with
    # their posteriors
    copies = 6 + FOLDS * (settings.chooses_states and not settings.compares_fits)
    counted = Pass("triples", triples)
    planned = [PlannedPass(counted, driver_nbytes=8 * cells * copies + cells * (12 + 24))]
    if settings.max_iter:
        chain = HiddenChain(np.full(k, 1 / k), np.full((k, k), 1 / k), emissions, reach)
        operators = operators_of(chain, settings.shape.most_rows)
        blocks = operators.most_entries
        nothing = np.zeros((blocks, k))
        blank = Boundaries(np.arange(blocks), np.zeros(blocks, np.int8), nothing, nothing, 0)
        times, held = settings.max_iter, operators.state_nbytes()
        if settings.competes:
            times += sum(kept * most for kept, most in ROUNDS)
        candidates = settings.n_components if settings.compares_fits else 1
        expected = Pass("expectation", SequencePosteriorSums(chain, blank, out_maps))
        times *= candidates
        planned.append(PlannedPass(Pass("messages", operators), times, driver_nbytes=2 * held))
        planned.append(PlannedPass(expected, times, driver_nbytes=2 * nothing.nbytes))
        for name, request in zip(WITHOUT_ORDER, (operators, expected.statistic), strict=True):
            planned.append(PlannedPass(Pass(name, request), candidates, 2 * held))
    return planned


def _blank_parts(
    settings: MarkovSettings,
) -> tuple[Statistic[Any], JointDensities, Mapping[str, FeatureMap]]:
    """Return a count of triples, emissions and features of the right sizes and no meaning."""
    if settings.densities is not None:
        cells = blank_cells(settings.densities, settings.cells)
        mixture = kernel_passes.blank_mixture(settings.densities)
        maps = kernel_passes.blank_embedded_maps(settings.densities)
        return CodedRows(_blank_counts(settings, cells.count), cells), mixture, maps
    if settings.emissions in (GAUSSIAN, POISSON):
        cells = blank_cells(settings, settings.cells)
        law = blank_law(settings)
        features = law.features_of(np.ones((settings.n_components, len(cells.low))))
        densities = law.emissions(features.T).densities()
        return CodedRows(_blank_counts(settings, cells.count), cells), densities, {}
    family = Categories(settings.shape.views, settings.categories)
    uniform = family.emissions(np.ones((settings.n_components, family.n_codes)))
    return _blank_counts(settings, family.n_codes), uniform.densities(), family.out_maps


def _blank_counts(settings: MarkovSettings, codes: int) -> Statistic[Any]:
    """Return the count of triples that a fit asks for."""
    if settings.compares_fits or not settings.chooses_states:
        return TripleCounts(codes)
    return choice_statistic(TripleSettings(settings.n_components, codes, 0.0, 0), settings.shape)


def initial_states(
    first_pairs: NDArray[np.float64], parameters: MarkovParameters
) -> NDArray[np.float64]:
    """Estimate initial probabilities under known transitions and emissions.

    One sequence is added that starts as a window does: without any, this is the start of windows,
    and probabilities of few sequences stay away from zero.

    Parameters
    ----------
    first_pairs : (n + 1, n + 1) float64 array
        Weights of sequences by their first two codes; the last line and column are of missing ones.
    parameters : MarkovParameters
        Transitions and emissions.
    """
    first, second = np.nonzero(first_pairs)
    weight = first_pairs[first, second]
    emission = np.vstack([parameters.emission.T, np.ones(parameters.n_states)])
    likelihood = emission[first] * (emission @ parameters.transition.T)[second]
    prior = parameters.window_start
    current = prior.copy()
    for _ in range(INITIAL_ITERATIONS):
        joint = likelihood * current
        share = joint / joint.sum(axis=1, keepdims=True)
        current = (weight @ share + prior) / (weight.sum() + 1)
    return np.asarray(current / current.sum())
