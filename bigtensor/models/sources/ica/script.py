"""Script of an independent component analysis: a pilot sample, then sums over all rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import PrincipalAxes
from bigtensor.errors import Setting
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.models.sources.components import IndependentComponents, of_columns
from bigtensor.models.sources.cumulant_passes import (
    CumulantSources,
    SampleSources,
    cumulant_sources,
)
from bigtensor.models.sources.ica.method_choice import MethodChoice, chosen_method
from bigtensor.models.sources.ica.settings import ICASettings
from bigtensor.models.sources.ica.verdict import judged
from bigtensor.models.sources.passes import (
    axes_of,
    contrast_pass,
    moments_pass,
    products_in,
)
from bigtensor.models.sources.pilot import Pilot, drawn_pilot, pilot_rotation
from bigtensor.models.sources.whitened_passes import (
    SampleRotation,
    WhitenedPasses,
    WhitenedSources,
    whitened_sources,
)
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    cumulant_terms,
    embedded,
)
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.moments.tensor_contractions import TensorContractions
from bigtensor.statistics.sources.contrast_sums import ContrastSums
from bigtensor.statistics.within_reach import Reach, WithinReach


@dataclass(frozen=True, eq=False)
class ICAPreparation:
    """Sources of the pilot sample, and the rows that count.

    Attributes
    ----------
    settings : ICASettings
        Resolved parameters of the fit.
    method : {"whitened", "cumulant"}
        Algorithm of the fit.
    counted : Reach
        The rows that count.
    rank : int
        Number of axes along which the sample varies by more than rounding.
    mean : (d,) float64 array
        Of the sample.
    columns : (d, k) float64 array
        Directions of the mixing columns.
    weights : (k,) float64 array
        Of the terms of the cumulant; empty for whitened sources.
    unmixing : (d, k) float64 array
        Of whitened sources; without columns for the cumulant.
    independent_share : float
        Independent rows per unit of weight, 1 without copies and weights.
    diagnostics : dict
        Choice of the method and rows of the sample, which every verdict needs.
    """

    settings: ICASettings
    method: str
    counted: Reach
    rank: int
    mean: FloatArray
    columns: FloatArray
    weights: FloatArray
    unmixing: FloatArray
    independent_share: float
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(IndependentComponents, ICAPreparation, ICASettings, Reach, WithinReach, Together),
    *(Covariances, ContrastSums, TensorContractions),
)
"""Dataclasses that a saved model, prepared or fitted, is made of."""


def prepare(settings: ICASettings) -> Script:
    """Ask for a pilot sample, choose the method, and find the sources in the sample."""
    pilot: Pilot = yield from drawn_pilot(settings)
    axes = pilot.axes
    varying = int(axes.varying.sum())
    settings = settings.of_varying(varying)
    k, rotation = settings.n_components or varying, None
    if k <= varying:
        k = min(k, axes.rank)
        yield Step("finding sources in the sample")
        rotation = pilot_rotation(settings, pilot, k)
    choice = yield from _chosen(settings, pilot.whitened, k, rotation)
    diagnostics = {
        "method": choice.method,
        "dependence": choice.evidence,
        **pilot.diagnostics,
    }
    terms = choice.terms
    if terms is None:
        assert rotation is not None
        rotation = embedded(rotation, axes.rank)
        weights, columns = np.empty(0), axes.unwhitening @ rotation
        unmixing = axes.whitening @ rotation
    else:
        weights, columns = terms.weights, axes.unwhitening @ terms.factors[0]
        unmixing = np.empty((settings.n_features, 0))
    mean = pilot.moments.mean
    return ICAPreparation(
        settings,
        choice.method,
        pilot.counted,
        axes.rank,
        mean,
        columns,
        weights,
        unmixing,
        pilot.independent_share,
        diagnostics,
    )


def _chosen(
    settings: ICASettings,
    sample: WhitenedSample,
    n_components: int,
    rotation: FloatArray | None,
) -> Generator[Step, None, MethodChoice]:
    """Return the method, as given or as the sample speaks for it."""
    if rotation is not None:
        rotation = embedded(rotation, sample.n_axes)
    if settings.method == "whitened":
        return MethodChoice("whitened", None, {})
    if settings.method == "auto":
        assert rotation is not None
        rows = max(settings.shape.rows, sample.block.total_weight())
        return (yield from chosen_method(sample, rotation, rows, settings.random_state))
    terms = yield from cumulant_terms(sample, n_components, rotation, settings.random_state)
    return MethodChoice("cumulant", terms, {})


def refine(preparation: ICAPreparation) -> Script:
    """Ask for the covariance of all rows, and for the passes of the method."""
    if preparation.method == "whitened":
        return (yield from _refine_whitened(preparation))
    return (yield from _refine_cumulant(preparation))


def _refine_whitened(preparation: ICAPreparation) -> Script:
    """Ask for fixed-point iterations over all rows, the first of them beside the covariance."""
    settings, counted = preparation.settings, preparation.counted
    sample = SampleRotation(preparation.mean, preparation.unmixing, preparation.independent_share)

    def contrast(unmixing: FloatArray, mean: FloatArray, axes: PrincipalAxes) -> Pass[Any]:
        return contrast_pass(unmixing, mean, counted, products_in(axes, settings))

    def solve(sources: WhitenedSources) -> Solved:
        components = of_columns(
            sources.axes,
            sources.rotation,
            sources.kurtosis,
            sources.moments.mean,
            settings.shape.views,
            settings.shape.dtype,
        )
        diagnostics = {**preparation.diagnostics, **sources.diagnostics}
        return judged(components, settings, sources.axes, diagnostics)

    passes = WhitenedPasses(
        moments_pass(settings, sample.mean, sample.unmixing, counted),
        lambda moments: axes_of(moments, settings).within(preparation.rank),
        contrast,
        settings.max_iter,
    )
    return solve((yield from whitened_sources(sample, passes, solve)))


def _refine_cumulant(preparation: ICAPreparation) -> Script:
    """Ask for the covariance of all rows, then for contractions of their fourth moment."""
    sample = SampleSources(
        preparation.mean,
        preparation.columns,
        preparation.weights,
        preparation.counted,
        preparation.rank,
        all_terms=preparation.settings.method == "auto",
        independent_share=preparation.independent_share,
    )
    settings = preparation.settings

    def solve(sources: CumulantSources) -> Solved:
        diagnostics = {**preparation.diagnostics, **sources.diagnostics}
        return judged(sources.components, settings, sources.axes, diagnostics)

    remedy = "use more rows, or " + Setting("method", "whitened")
    return solve(
        (yield from cumulant_sources(settings, sample, settings.gauss_newton_steps, remedy, solve))
    )
