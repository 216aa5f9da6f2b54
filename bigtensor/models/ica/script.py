"""Script of an independent component analysis: a pilot sample, then sums over all rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bigtensor.decomposition.independent_components import (
    PrincipalAxes,
    mean_turn,
    principal_axes,
    symmetric_orthogonalisation,
)
from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns
from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import IdentifiabilityError, Setting
from bigtensor.models.data_shape import view_slices
from bigtensor.models.ica.method_choice import embedded, noise_gain
from bigtensor.models.ica.near_rows import near_rows
from bigtensor.models.ica.settings import ROWS_A_SOURCE, ICASettings
from bigtensor.models.ica.solution import IndependentComponents, of_rotation, of_terms
from bigtensor.models.ica.verdict import gaussian_sources, judged
from bigtensor.models.ica.whitened_sample import (
    ORDERS,
    WhitenedSample,
    cumulant_terms,
    gaussian_part,
    independent_rotation,
    non_gaussianity,
    standing_out,
    tanh_update,
)
from bigtensor.models.ica.whitened_tensor import WhitenedTensor
from bigtensor.models.sample_tensor import Refined, refined
from bigtensor.models.script import Estimate, Script, Solved, Step
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.contrast_sums import ContrastSums, ContrastSumsResult
from bigtensor.statistics.covariances import Covariances, CovariancesResult
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.row_sample import RowSample, Sample
from bigtensor.statistics.tensor_contractions import TensorContractions
from bigtensor.statistics.windows import sample_windows
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

MOST_SINGLE_CONDITION = 1e3
"""Condition of a whitening above which products in float32 lose too many digits."""

SETTLED = 0.03
"""Turn of the sources by a pass, in units of one over the root of the rows, that is the last."""

LEAST_GAIN = 0.002
"""Mean gain on held-out rows above which there is noise."""

LEAST_KURTOSIS = -2.5
"""No kurtosis is below -2, but its estimate may be."""

_LEAST_TURN = 1e-5
_ROUNDING_UNITS = 2.0


@dataclass(frozen=True, eq=False)
class ICAPreparation:
    """Sources of the pilot sample, and the rows that count.

    Attributes
    ----------
    settings : ICASettings
    method : {"whitened", "cumulant"}
    counted : Reach
    mean : (d,) float64 array
        Of the sample.
    columns : (d, k) float64 array
        Directions of the mixing columns.
    weights : (k,) float64 array
        Of the terms of the cumulant; empty for whitened sources.
    unmixing : (d, k) float64 array
        Of whitened sources; without columns for the cumulant.
    diagnostics : dict
    """

    settings: ICASettings
    method: str
    counted: Reach
    mean: FloatArray
    columns: FloatArray
    weights: FloatArray
    unmixing: FloatArray
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(IndependentComponents, ICAPreparation, ICASettings, Reach, WithinReach, Together),
    *(Covariances, ContrastSums, TensorContractions),
)
"""Dataclasses that a saved model, prepared or fitted, is made of."""


def prepare(settings: ICASettings) -> Script:
    """Ask for a pilot sample, choose the method, and find the sources in the sample."""
    sample: Sample = yield pilot_pass(settings)
    block = sample.block(view_slices(settings.views))
    counted, near = near_rows(block)
    point = np.asarray(counted.points[0])
    moments = sum_in_memory(Covariances(settings.columns, point), near)
    axes = axes_of(moments, settings)
    whitened = WhitenedSample.of(near, axes, moments.mean, products_in(axes, settings))
    k, rotation = settings.most_components, None
    if k <= settings.n_features:
        k = min(k, axes.rank)
        yield Step("finding sources in the sample")
        along = whitened.along(k)
        thinned = along.part(0, max(1, near.rows // settings.rows_of_rotation))
        rotation = independent_rotation(thinned, k, settings.random_state)
    choice = yield from _chosen(settings, whitened, k, rotation)
    told = {
        "method": choice.method,
        "noise_gain": choice.gains,
        "cumulant_fits": choice.cumulant_fits,
        "pilot_rows": block.rows,
        "pilot_left_out": block.rows - near.rows,
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
    return ICAPreparation(
        settings, choice.method, counted, moments.mean, columns, weights, unmixing, told
    )


@dataclass(frozen=True, eq=False)
class _Choice:
    """Method, the terms of the cumulant for that method, and the reasons."""

    method: str
    terms: Terms | None
    gains: list[float]
    cumulant_fits: bool | None


def _chosen(
    settings: ICASettings,
    sample: WhitenedSample,
    n_components: int,
    rotation: FloatArray | None,
) -> Generator[Step, None, _Choice]:
    """Return the method, as given or as the sample speaks for it.

    Real data are hardly ever exact mixtures. Oblique columns then explain their cumulant better
    too, but with fewer sources than are not Gaussian, or with a kurtosis that no source can have.
    """
    seed, gains = settings.random_state, list[float]()
    if settings.method == "whitened":
        return _Choice("whitened", None, gains, None)
    if settings.method == "auto":
        if sample.block.rows >= ROWS_A_SOURCE * n_components:
            yield Step("comparing with the fourth cumulant")
            assert rotation is not None
            gains = noise_gain(sample, rotation)
        if not gains or sum(gains) / len(gains) <= LEAST_GAIN:
            return _Choice("whitened", None, gains, None)
    if rotation is not None:
        rotation = embedded(rotation, sample.n_axes)
    terms = yield from cumulant_terms(sample, n_components, rotation, seed)
    if settings.method == "cumulant":
        return _Choice("cumulant", terms, gains, None)
    assert rotation is not None
    fits = _fits(terms, sample, rotation)
    return _Choice("cumulant" if fits else "whitened", terms if fits else None, gains, fits)


def _fits(terms: Terms, sample: WhitenedSample, rotation: FloatArray) -> bool:
    """Return True if terms can be the sources of the sample, but for Gaussian ones.

    The weight of a term of whitened rows is at most the kurtosis of its source in size.
    """
    distances = non_gaussianity(rotation, sample.contrast(rotation))
    wanted = rotation.shape[1] - gaussian_sources(distances, float(sample.block.rows))
    return terms.n_terms >= wanted and bool((terms.weights >= LEAST_KURTOSIS).all())


def refine(preparation: ICAPreparation) -> Script:
    """Ask for the covariance of all rows, and for the passes of the method."""
    if preparation.method == "whitened":
        return (yield from _refine_whitened(preparation))
    return (yield from _refine_cumulant(preparation))


def pilot_pass(settings: ICASettings) -> Pass[Sample]:
    """Return the pass that draws the sample."""
    statistic = RowSample(
        settings.pilot_rows,
        settings.n_features,
        settings.dtype,
        settings.random_state,
        settings.has_weight,
    )
    return Pass("pilot", statistic, sample_windows(settings.rows, settings.pilot_rows))


def moments_pass(
    settings: ICASettings, mean: FloatArray, unmixing: FloatArray, counted: Reach
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return the pass that sums the covariance, beside the first fixed-point iteration if any.

    Parameters
    ----------
    settings : ICASettings
    mean : (d,) array
        Of the sample.
    unmixing : (d, k) array
        Without columns for none.
    counted : Reach
    """
    beside = {}
    if unmixing.shape[1]:
        beside["contrast"] = ContrastSums(unmixing, mean, settings.dtype)
    # sums about the mean of all rows of the sample would be nothing but rounding
    point = np.asarray(counted.points[0])
    together = Together.of(covariance=Covariances(settings.columns, point), **beside)
    return Pass("moments", WithinReach(together, counted))


def contrast_pass(
    unmixing: FloatArray, mean: FloatArray, counted: Reach, dtype: str
) -> Pass[ResultWithin[ContrastSumsResult]]:
    """Return the pass of one fixed-point iteration.

    Parameters
    ----------
    unmixing : (d, k) array
    mean : (d,) array
    counted : Reach
    dtype : str
        Of products.
    """
    return Pass("contrast", WithinReach(ContrastSums(unmixing, mean, dtype), counted))


def axes_of(moments: CovariancesResult, settings: ICASettings) -> PrincipalAxes:
    """Return the principal axes of rows, all that are not rounding.

    Parameters
    ----------
    moments : CovariancesResult
    settings : ICASettings
    """
    unit = float(np.finfo(settings.dtype).eps)
    return principal_axes(
        moments.covariance, np.square(_ROUNDING_UNITS * unit * np.abs(moments.mean))
    )


def products_in(axes: PrincipalAxes, settings: ICASettings) -> str:
    """Return the dtype of products with the axes."""
    return settings.dtype if axes.condition <= MOST_SINGLE_CONDITION else "float64"


def _refine_whitened(preparation: ICAPreparation) -> Script:
    """Ask for fixed-point iterations over all rows, the first of them beside the covariance."""
    settings, counted = preparation.settings, preparation.counted
    seen = yield moments_pass(settings, preparation.mean, preparation.unmixing, counted)
    moments: CovariancesResult = seen.result["covariance"]
    k = preparation.unmixing.shape[1]
    axes = axes_of(moments, settings).largest(k)
    rotation = symmetric_orthogonalisation(axes.unwhitening.T @ preparation.unmixing)
    sums: ContrastSumsResult = seen.result["contrast"]
    sums = sums.about(moments.mean - preparation.mean)
    turns: list[float] = []
    for visit in range(settings.polish_passes):
        if visit:
            unmixing = axes.whitening @ rotation
            wanted = contrast_pass(unmixing, moments.mean, counted, products_in(axes, settings))
            sums = (yield wanted).result
        sums = replace(sums, rows_by_tanh=axes.whitening.T @ sums.rows_by_tanh)
        updated = symmetric_orthogonalisation(tanh_update(rotation, sums))
        distances = non_gaussianity(rotation, sums)
        turns.append(mean_turn(rotation, updated))
        rotation = updated
        told = {"turns": list(turns), "rows_out_of_reach": seen.left_out}
        solve = partial(
            _whitened_solution, preparation, axes, rotation, moments, sums.kurtosis, distances, told
        )
        yield Estimate(solve)
        if turns[-1] <= max(SETTLED / np.sqrt(moments.weight), _LEAST_TURN):
            break
    return solve()


def _whitened_solution(
    preparation: ICAPreparation,
    axes: PrincipalAxes,
    rotation: FloatArray,
    moments: CovariancesResult,
    kurtosis: FloatArray,
    distances: FloatArray,
    told: dict[str, Any],
) -> Solved:
    """Return the sources after some iterations."""
    settings = preparation.settings
    components = of_rotation(axes, rotation, kurtosis, moments.mean, settings.views, settings.dtype)
    gaussian = gaussian_sources(distances, moments.weight)
    told |= {"method": preparation.method, "gaussian_sources": gaussian}
    return judged(components, settings, axes, {**preparation.diagnostics, **told})


def _refine_cumulant(preparation: ICAPreparation) -> Script:
    """Ask for the covariance of all rows, then for contractions of their fourth moment."""
    settings, counted = preparation.settings, preparation.counted
    seen = yield moments_pass(settings, preparation.mean, preparation.unmixing, counted)
    moments: CovariancesResult = seen.result["covariance"]
    axes = axes_of(moments, settings)
    dtype = products_in(axes, settings)
    tensor = WhitenedTensor.about(moments.mean, axes.whitening, counted, dtype)
    columns = unit_columns((axes.whitening.T @ preparation.columns,))
    start = Terms(preparation.weights, columns, ORDERS)
    noise = gaussian_part(np.eye(tensor.sizes[0]))

    def solve(found: Refined) -> Solved:
        terms = standing_out(found.terms, moments.weight)
        if not terms.n_terms:
            raise IdentifiabilityError(
                "no source stands out from Gaussian noise in the fourth cumulant: use more rows, "
                "or " + Setting("method", "whitened")
            )
        components, invalid = of_terms(
            axes, terms, moments.covariance, moments.mean, settings.views, settings.dtype
        )
        told = {
            **preparation.diagnostics,
            "method": preparation.method,
            "gauss_newton": found.diagnostics,
            "rows_out_of_reach": found.left_out,
            "invalid_components": invalid,
        }
        return judged(components, settings, axes, told)

    found = yield from refined(
        start, tensor, settings.gauss_newton_steps, {}, lambda _: noise, solve
    )
    return solve(found)
