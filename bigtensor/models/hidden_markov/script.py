"""Script of a hidden Markov model's fit: a count of triples, and iterations along sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bigtensor.errors import DataError
from bigtensor.features.cells import Cells
from bigtensor.models.data_shape import DataShape
from bigtensor.models.hidden_markov.categorical_emissions import CategoricalEmissions
from bigtensor.models.hidden_markov.emissions import Emissions
from bigtensor.models.hidden_markov.initial_states import initial_states
from bigtensor.models.hidden_markov.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.kernel_preparation import (
    KernelPreparation,
    cells_for,
    prepare_densities,
)
from bigtensor.models.hidden_markov.sequence_iterations import (
    Iterations,
    operators_of,
    sequence_iterations,
)
from bigtensor.models.hidden_markov.settings import MarkovSettings
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.hidden_markov.triple_estimate import TripleSettings, estimate_from_triples
from bigtensor.models.hidden_markov.verdict import judged
from bigtensor.models.kernel_mixture import planned_passes as kernel_passes
from bigtensor.models.kernel_mixture import script as kernel_script
from bigtensor.models.script import PlannedPass, Script
from bigtensor.statistics.base import Pass
from bigtensor.statistics.coded_rows import CodedRows
from bigtensor.statistics.posterior_sums import PosteriorSumsResult
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.transfer import Boundaries
from bigtensor.statistics.triple_counts import TripleCounts, TripleCountsResult

SETTLED = 2e-7
"""Change of the mean log-likelihood of categories at which iterations end, in nats a row."""

SETTLED_DENSITIES = 1e-5
"""The same of densities, which are smoothed anew in every iteration."""


@dataclass(frozen=True, eq=False)
class MarkovPreparation:
    """Decisions before the sums over all rows.

    Attributes
    ----------
    settings : MarkovSettings
    diagnostics : dict
    densities : KernelPreparation, optional
        For measured rows.
    """

    settings: MarkovSettings
    diagnostics: dict[str, Any] = field(default_factory=dict)
    densities: KernelPreparation | None = None

    @property
    def n_codes(self) -> int:
        """Number of categories, or of cells."""
        if self.densities is None:
            return len(self.settings.categories)
        return self.densities.cells.count

    def triples(self) -> Pass[TripleCountsResult]:
        """Return the pass that counts triples of categories or cells."""
        counts = TripleCounts(self.n_codes)
        if self.densities is None:
            return Pass("triples", counts)
        return Pass("triples", CodedRows(counts, self.densities.cells))

    def iterations(self, smoothing: float) -> Iterations:
        """Return what the iterations along sequences need."""
        settings, densities = self.settings, self.densities
        return Iterations(
            most=settings.em_iterations,
            tolerance=SETTLED if densities is None else SETTLED_DENSITIES,
            smoothing=smoothing,
            reestimate=partial(_reestimated, preparation=self, smoothing=smoothing),
            out_maps={} if densities is None else densities.kernel.embedded_maps,
            rows=settings.rows,
        )


STORED_CLASSES = (
    *(MarkovFit, CategoricalEmissions, KernelEmissions, MarkovSettings),
    *(MarkovPreparation, KernelPreparation, TripleCounts, CodedRows, Cells, PosteriorSumsResult),
    *kernel_script.STORED_CLASSES,
)
"""Dataclasses that a saved hidden Markov model, prepared or fitted, is made of."""


def prepare(settings: MarkovSettings, shape: DataShape) -> Script:
    """Return the settings of categories; of measured rows ask for a sample as well."""
    if settings.densities is None:
        yield from ()
        return MarkovPreparation(settings)
    densities: KernelPreparation = yield from prepare_densities(settings.densities, shape)
    diagnostics = {**densities.kernel.diagnostics, "cells": densities.cells.count}
    return MarkovPreparation(settings, diagnostics, densities)


def refine(preparation: MarkovPreparation) -> Script:
    """Ask for the counts of triples, and for expected counts along sequences."""
    settings = preparation.settings
    counts: TripleCountsResult = yield preparation.triples()
    if not counts.weight.sum() > 0:
        raise DataError(
            "no three consecutive rows of a sequence with a positive weight are left to fit: "
            "sequences have to be runs of rows, one behind the other"
        )
    of_triples = TripleSettings(
        settings.n_states, preparation.n_codes, settings.ridge, settings.random_state
    )
    estimate, told = estimate_from_triples(counts, of_triples)
    found = estimate.parameters
    start = MarkovFit(
        initial_states(counts.first_pairs, found),
        found.window_start,
        found.transition,
        _emissions_of_codes(found.emission, preparation),
    )
    end, likelihoods = yield from sequence_iterations(
        start, preparation.iterations(of_triples.smoothing)
    )
    fit = end.finished()
    return judged(
        fit,
        counts,
        {
            **preparation.diagnostics,
            "n_states": settings.n_states,
            "ridge": settings.ridge,
            "sequences": counts.sequences,
            "triples": float(counts.weight.sum()),
            "distinct_triples": len(counts.weight),
            "parameters": fit.parameters,
            "refined": "sequences" if likelihoods else "triples",
            "triple_log_likelihood": estimate.likelihoods,
            "mean_log_likelihood": likelihoods,
            **told,
        },
    )


def planned_preparation(settings: MarkovSettings, shape: DataShape) -> list[PlannedPass]:
    """Return upper bounds of the passes of `prepare`."""
    if settings.densities is None:
        return []
    return kernel_passes.planned_preparation(shape, settings.densities)


def planned_refinement(settings: MarkovSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes of `refine`."""
    k, n = settings.n_states, settings.n_categories
    if settings.densities is not None:
        n = cells_for(settings.rows, k)
    cells = (n + 1) ** 3
    counted: Pass[Any] = Pass("triples", TripleCounts(n))
    if settings.densities is not None:
        features = sum(len(members) for _, members in settings.views)
        blank_cells = Cells(np.zeros((n, features)), np.zeros(features), np.ones(features))
        counted = Pass("triples", CodedRows(TripleCounts(n), blank_cells))
    # the table, copies of it in the decomposition, and the distinct triples with their posteriors
    planned = [PlannedPass(counted, driver_nbytes=8 * cells * 6 + cells * (12 + 24))]
    if settings.em_iterations:
        chain, out_maps = _blank_chain(settings)
        operators = operators_of(chain, settings.rows)
        blocks = operators.most_entries
        nothing = np.zeros((blocks, k))
        blank = Boundaries(np.arange(blocks), np.zeros(blocks, bool), nothing, nothing, 0)
        times, held = settings.em_iterations, operators.state_nbytes()
        expected = Pass("expectation", SequencePosteriorSums(chain, blank, out_maps))
        planned.append(PlannedPass(Pass("messages", operators), times, driver_nbytes=2 * held))
        planned.append(PlannedPass(expected, times, driver_nbytes=2 * nothing.nbytes))
    return planned


def _blank_chain(settings: MarkovSettings) -> tuple[HiddenChain, dict[str, Any]]:
    """Return a chain of the right size and no meaning, and the features that are summed."""
    k, n = settings.n_states, settings.n_categories
    initial, transition = np.full(k, 1 / k), np.full((k, k), 1 / k)
    if settings.densities is not None:
        maps = kernel_passes.blank_embedded_maps(settings.densities)
        mixture = kernel_passes.blank_mixture(settings.densities)
        return HiddenChain(initial, transition, mixture), maps
    table = CategoricalEmissions.of(np.ones((k, n)), settings.views, settings.categories)
    return HiddenChain(initial, transition, table.densities()), {}


def _emissions_of_codes(probabilities: Any, preparation: MarkovPreparation) -> Emissions:
    """Return emissions from the probabilities of categories or cells: ``(k, codes)``."""
    if preparation.densities is not None:
        return preparation.densities.emissions(probabilities)
    settings = preparation.settings
    return CategoricalEmissions.of(probabilities, settings.views, settings.categories)


def _reestimated(
    sums: PosteriorSumsResult, preparation: MarkovPreparation, smoothing: float
) -> Emissions:
    """Return the emissions of the next iteration."""
    if preparation.densities is not None:
        return KernelEmissions.of_sums(sums, preparation.densities.kernel)
    counts = sums.histograms
    assert counts is not None
    of_categories = counts[: preparation.n_codes].T + smoothing
    settings = preparation.settings
    return CategoricalEmissions.of(of_categories, settings.views, settings.categories)
