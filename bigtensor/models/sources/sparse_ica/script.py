"""Script of a sparse component analysis: a pilot sample, then codes of all rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns
from bigtensor.errors import IdentifiabilityError, Message, Setting
from bigtensor.models.contract.iteration import Iterations, iterate
from bigtensor.models.contract.parameters import FEW_COUNTS
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.models.sources.components import of_terms
from bigtensor.models.sources.cumulant_passes import (
    CumulantSources,
    SampleSources,
    cumulant_sources,
)
from bigtensor.models.sources.pilot import Pilot, drawn_pilot, pilot_rotation
from bigtensor.models.sources.settings import most_sources
from bigtensor.models.sources.sparse_ica.dictionary import SparseDictionary, activity_of
from bigtensor.models.sources.sparse_ica.polish import lacks_sources, polished
from bigtensor.models.sources.sparse_ica.settings import SparseSettings
from bigtensor.models.sources.sparse_ica.solution import (
    SparseComponents,
    of_codes,
    of_cumulant,
    with_codes,
)
from bigtensor.models.sources.sparse_ica.verdict import judged
from bigtensor.models.sources.whitened_sample import (
    cumulant_terms,
    embedded,
    standing_out,
)
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.moments.tensor_contractions import TensorContractions
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSums, SparseCodeSumsResult
from bigtensor.statistics.sources.sparse_codes import SparseCoder
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

_REMEDY = Message("use more rows, or the model ICA, which needs no sparse sources")


@dataclass(frozen=True, eq=False)
class SparsePreparation:
    """Sources of the pilot sample, and the rows that count.

    Attributes
    ----------
    settings : SparseSettings
        Resolved parameters of the fit.
    sources : SampleSources
        Terms of the fourth cumulant.
    dictionary : SparseDictionary, optional
        Dictionary of the pilot sample, or None where the sources are those of the cumulant.
    diagnostics : dict
        Its ``rank``, for every feature whether it is ``varying``, and the number of sources with
        ``light_tails`` and of ``redundant`` columns, which are left out; ``active_by_kurtosis``,
        the sources that are not zero in a typical row if they are Gaussian where they are not zero;
        and whether there are ``further_sources``, which would turn columns that fit codes.
    """

    settings: SparseSettings
    sources: SampleSources
    dictionary: SparseDictionary | None
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(SparseComponents, SparsePreparation, SparseSettings, SampleSources, SparseDictionary),
    *(Reach, WithinReach, Together, Covariances, TensorContractions, SparseCodeSums, SparseCoder),
)
"""Dataclasses that a saved model, prepared or fitted, is made of."""


def prepare(settings: SparseSettings) -> Script:
    """Ask for a pilot sample, and find sources with heavy tails in it."""
    pilot: Pilot = yield from drawn_pilot(settings)
    terms = yield from _pilot_terms(settings, pilot)
    sparse = terms.take(terms.weights > 0)
    axes, moments = pilot.axes, pilot.moments
    if not sparse.n_terms:
        raise IdentifiabilityError(
            "no source of the sample is sparse: " + _remedy(moments.weight, pilot.rows.rows)
        )
    components, _ = of_terms(
        axes, sparse, moments.covariance, moments.mean, settings.shape.views, settings.shape.dtype
    )
    kept, kurtosis, dictionary = sparse, components.kurtosis, None
    if settings.max_iter:
        coarse = SparseDictionary.of_components(components)
        dictionary, redundant = yield from polished(coarse, pilot.rows, settings.shape.dtype)
        kept = _without(sparse, axes.whitening.T @ components.mixing[:, redundant])
        kurtosis = np.delete(kurtosis, redundant)
    further = dictionary is not None and lacks_sources(dictionary, pilot.rows, settings.shape.dtype)
    columns = axes.unwhitening @ kept.factors[0]
    sources = SampleSources(moments.mean, columns, kept.weights, pilot.counted, axes.rank)
    diagnostics = {
        **pilot.diagnostics,
        "rank": axes.rank,
        "varying": axes.varying.tolist(),
        "light_tails": terms.n_terms - sparse.n_terms,
        "redundant": sparse.n_terms - kept.n_terms,
        "active_by_kurtosis": float(activity_of(kurtosis).sum()),
        "further_sources": further,
    }
    encoding = None if further else dictionary
    return SparsePreparation(settings, sources, encoding, diagnostics)


def _without(terms: Terms, columns: FloatArray) -> Terms:
    """Return the terms without those along some columns, whose order and signs may differ."""
    directions = unit_columns((terms.factors[0],))[0]
    parallel = np.abs(directions.T @ unit_columns((columns,))[0])
    return terms.take(np.delete(np.arange(terms.n_terms), parallel.argmax(axis=0)))


def _remedy(weight: float, rows: int) -> Message:
    """Return the remedy for a sample without sparse sources."""
    if weight >= FEW_COUNTS * rows:
        return _REMEDY
    return (
        f"by their weights, its {rows:,} rows count as {weight:.3g} only; if the weights only "
        "compare rows, use " + Setting("weights", "relative")
    )


def _pilot_terms(settings: SparseSettings, pilot: Pilot) -> Generator[Step, None, Terms]:
    """Return the terms of the fourth cumulant that stand out in the sample."""
    rank, rotation = pilot.axes.rank, None
    k = min(settings.n_components or rank, max(rank, most_sources(rank)))
    if k <= rank:
        yield Step("finding sources in the sample")
        rotation = embedded(pilot_rotation(settings, pilot, k), rank)
    terms = yield from cumulant_terms(pilot.whitened, k, rotation, settings.random_state)
    return standing_out(terms, pilot.moments.weight)


@dataclass(frozen=True, eq=False)
class _Encoded:
    """A dictionary, and the sums of the codes that it was made from."""

    dictionary: SparseDictionary
    codes: ResultWithin[SparseCodeSumsResult] | None


def refine(preparation: SparsePreparation) -> Script:
    """Ask for codes of all rows, and for the terms of their cumulant where nothing polishes it."""
    settings, counted = preparation.settings, preparation.sources.counted
    if preparation.dictionary is None:
        return (yield from _refine_cumulant(preparation))

    def ask(state: _Encoded, _: int) -> Script:
        return (yield codes_pass(state.dictionary.coder(settings.shape.dtype), counted))

    def update(
        before: _Encoded, within: ResultWithin[SparseCodeSumsResult]
    ) -> tuple[_Encoded, float]:
        dictionary = before.dictionary.after(within.result)
        return _Encoded(dictionary, within), before.dictionary.turn_to(dictionary)

    conclude = partial(_solution, preparation)
    initial = _Encoded(preparation.dictionary, None)
    return conclude(
        (yield from iterate(initial, ask, update, max_iter=settings.max_iter, conclude=conclude))
    )


def codes_pass(coder: SparseCoder, counted: Reach) -> Pass[ResultWithin[SparseCodeSumsResult]]:
    """Return the pass that encodes all rows."""
    return Pass("codes", WithinReach(SparseCodeSums(coder), counted))


def _solution(preparation: SparsePreparation, iterations: Iterations[_Encoded]) -> Solved:
    """Return the sources after iterations over all rows."""
    settings, state = preparation.settings, iterations.state
    assert state.codes is not None
    components, unused = of_codes(
        state.dictionary, state.codes.result, settings.shape.views, settings.shape.dtype
    )
    diagnostics = {
        **preparation.diagnostics,
        "turns": iterations.measures,
        "outlying_rows": state.codes.left_out,
        "unused": unused,
    }
    return judged(components, settings, diagnostics)


def _refine_cumulant(preparation: SparsePreparation) -> Script:
    """Ask for Gauss-Newton steps on the fourth cumulant of all rows, and for codes.

    The kurtosis from the cumulant counts further sources in: it was up to 60 times the kurtosis of
    the codes, which is nearer to the truth.
    """
    settings, sample = preparation.settings, preparation.sources

    def solve(sources: CumulantSources) -> Solved:
        return judge(sources, of_cumulant(sources.components))

    def judge(sources: CumulantSources, components: SparseComponents) -> Solved:
        if not components.n_components:
            raise IdentifiabilityError("no source is sparse: " + _REMEDY)
        diagnostics = {**preparation.diagnostics, **sources.diagnostics, "rank": sources.axes.rank}
        return judged(components, settings, diagnostics)

    steps = settings.gauss_newton_steps
    sources = yield from cumulant_sources(settings, sample, steps, _REMEDY, solve)
    components = of_cumulant(sources.components)
    if settings.max_iter and components.n_components:
        within = yield codes_pass(components.sources().coder, sample.counted)
        components = with_codes(components, within.result)
    return judge(sources, components)
