"""Whitened sources of all rows, by fixed-point iterations of one pass each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import (
    PrincipalAxes,
    mean_turn,
    part_of_turn,
    symmetric_orthogonalisation,
)
from bigtensor.models.contract.iteration import Iterations, iterate, measure_below
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.sources.whitened_sample import (
    gaussian_sources,
    non_gaussianity,
    tanh_update,
)
from bigtensor.statistics.base import Pass
from bigtensor.statistics.moments.covariances import CovariancesResult
from bigtensor.statistics.sources.contrast_sums import ContrastSumsResult
from bigtensor.statistics.within_reach import ResultWithin

SETTLED = 0.03
"""Turn of the sources by a pass, in units of one over the root of the rows, that is the last."""

_LEAST_TURN = 1e-5


@dataclass(frozen=True, eq=False)
class SampleRotation:
    """Whitened sources of a pilot sample.

    Attributes
    ----------
    mean : (d,) float64 array
        Of the sample.
    unmixing : (d, k) float64 array
        Sources are ``(x - mean) @ unmixing``.
    independent_share : float, default 1.0
        Independent rows per unit of weight, 1 without copies and weights.
    """

    mean: FloatArray
    unmixing: FloatArray
    independent_share: float = 1.0


@dataclass(frozen=True, eq=False)
class WhitenedPasses:
    """Passes over all rows that the iterations ask for.

    Attributes
    ----------
    moments : Pass
        Covariance of the rows, and contrast of the sources of the sample.
    axes : callable
        Gives the principal axes from the covariance.
    contrast : callable
        Gives the pass of one iteration from unmixing, mean and axes.
    most : int
        Most iterations, of which the first takes place beside the covariance.
    step : float, default 1.0
        Part of an update that is made, below one where whole updates oscillate.
    """

    moments: Pass[ResultWithin[dict[str, Any]]]
    axes: Callable[[CovariancesResult], PrincipalAxes]
    contrast: Callable[[FloatArray, FloatArray, PrincipalAxes], Pass[ResultWithin[Any]]]
    most: int
    step: float = 1.0


@dataclass(frozen=True, eq=False)
class WhitenedSources:
    """Orthonormal columns along the principal axes of all rows.

    Attributes
    ----------
    axes : PrincipalAxes
        The k largest.
    rotation : (k, k) float64 array
        Orthonormal columns, one a source.
    moments : CovariancesResult
        Mean and covariance of the rows.
    kurtosis : (k,) float64 array
        Excess kurtosis of the sources.
    diagnostics : dict
        ``turns`` of the iterations, ``outlying_rows`` and ``gaussian_sources``.
    """

    axes: PrincipalAxes
    rotation: FloatArray
    moments: CovariancesResult
    kurtosis: FloatArray
    diagnostics: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Rotated:
    """Sources after an iteration.

    Their kurtosis and the number of Gaussian ones were measured before it.
    """

    rotation: FloatArray
    kurtosis: FloatArray
    gaussian_sources: int


def whitened_sources(
    sample: SampleRotation, passes: WhitenedPasses, solve: Callable[[WhitenedSources], Solved]
) -> Script:
    """Ask for fixed-point iterations over all rows, the first of them beside the covariance.

    Parameters
    ----------
    sample : SampleRotation
        Sources of the pilot sample.
    passes : WhitenedPasses
        Passes over all rows.
    solve : callable
        Gives the solution that holds if no pass follows.
    """
    first = yield passes.moments
    moments: CovariancesResult = first.result["covariance"]
    axes = passes.axes(moments).largest(sample.unmixing.shape[1])
    rotation = symmetric_orthogonalisation(axes.unwhitening.T @ sample.unmixing)
    contrast: ContrastSumsResult = first.result["contrast"]
    independent = sample.independent_share * moments.weight

    def ask(state: _Rotated, number: int) -> Script:
        if not number:
            return contrast.about(moments.mean - sample.mean)
        unmixing = axes.whitening @ state.rotation
        return (yield passes.contrast(unmixing, moments.mean, axes)).result

    def update(before: _Rotated, sums: ContrastSumsResult) -> tuple[_Rotated, float]:
        sums = replace(sums, rows_by_tanh=axes.whitening.T @ sums.rows_by_tanh)
        updated = symmetric_orthogonalisation(tanh_update(before.rotation, sums))
        state = _Rotated(
            part_of_turn(before.rotation, updated, passes.step),
            sums.kurtosis,
            gaussian_sources(non_gaussianity(before.rotation, sums), independent),
        )
        return state, float(mean_turn(before.rotation, updated))

    def sources(iterations: Iterations[_Rotated]) -> WhitenedSources:
        state = iterations.state
        diagnostics = {
            "turns": iterations.measures,
            "outlying_rows": first.left_out,
            "gaussian_sources": state.gaussian_sources,
        }
        return WhitenedSources(axes, state.rotation, moments, state.kurtosis, diagnostics)

    iterations = yield from iterate(
        _Rotated(rotation, np.empty(0), 0),
        ask,
        update,
        max_iter=passes.most,
        stopping_rule=measure_below(max(SETTLED / np.sqrt(moments.weight), _LEAST_TURN)),
        conclude=lambda ended: solve(sources(ended)),
    )
    return sources(iterations)
