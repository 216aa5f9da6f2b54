"""Terms of the fourth cumulant of all rows, by Gauss-Newton steps between passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns
from bigtensor.decomposition.sources.independent_components import PrincipalAxes
from bigtensor.errors import IdentifiabilityError, Message
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.moment_tensors.sample_tensor import Refined, refined
from bigtensor.models.sources.components import IndependentComponents, of_terms
from bigtensor.models.sources.passes import axes_of, moments_pass, products_in
from bigtensor.models.sources.settings import SourceSettings
from bigtensor.models.sources.whitened_sample import (
    ORDERS,
    gaussian_part,
    share_a_source,
    standing_out,
)
from bigtensor.models.sources.whitened_tensor import WhitenedTensor
from bigtensor.statistics.moments.covariances import CovariancesResult
from bigtensor.statistics.within_reach import Reach


@dataclass(frozen=True, eq=False)
class SampleSources:
    """Terms of the fourth cumulant of a pilot sample, in the units of the features.

    Attributes
    ----------
    mean : (d,) float64 array
        Of the sample.
    columns : (d, k) float64 array
        Directions of the mixing columns.
    weights : (k,) float64 array
        Of the terms of whitened rows.
    counted : Reach
        The rows that count.
    rank : int
        Number of axes along which the sample varies by more than rounding.
    all_terms : bool, default False
        Keep terms that do not stand out from Gaussian noise, because they were chosen for how
        independent their sources are.
    independent_share : float, default 1.0
        Independent rows per unit of weight, 1 without copies and weights.
    """

    mean: FloatArray
    columns: FloatArray
    weights: FloatArray
    counted: Reach
    rank: int
    all_terms: bool = False
    independent_share: float = 1.0


@dataclass(frozen=True, eq=False)
class CumulantSources:
    """Sources that stand out in the fourth cumulant of all rows.

    Attributes
    ----------
    components : IndependentComponents
        Components of the valid terms.
    axes : PrincipalAxes
        Principal axes of all rows that count.
    moments : CovariancesResult
        Mean and covariance of all rows that count.
    diagnostics : dict
        ``gauss_newton`` steps, ``outlying_rows``, ``invalid_components``, ``sources_in_noise`` that
        do not stand out from Gaussian noise, and ``nearly_parallel`` if two may share a source.
    """

    components: IndependentComponents
    axes: PrincipalAxes
    moments: CovariancesResult
    diagnostics: dict[str, Any]


def cumulant_sources(
    settings: SourceSettings,
    sample: SampleSources,
    steps: int,
    remedy: Message,
    solve: Callable[[CumulantSources], Solved],
) -> Script:
    """Ask for the covariance of all rows, then for contractions of their fourth moment.

    Parameters
    ----------
    settings : SourceSettings
        Resolved parameters of the fit.
    sample : SampleSources
        Terms of the pilot sample, from which the steps set out.
    steps : int
        Most Gauss-Newton steps.
    remedy : Message
        End of the sentence on rows in which no source stands out.
    solve : callable
        Gives the solution that holds if no pass follows.
    """
    none = np.empty((settings.n_features, 0))
    sums = yield moments_pass(settings, sample.mean, none, sample.counted)
    moments: CovariancesResult = sums.result["covariance"]
    axes = axes_of(moments, settings).within(sample.rank)
    dtype = products_in(axes, settings)
    tensor = WhitenedTensor.about(moments.mean, axes.whitening, sample.counted, dtype)
    columns = unit_columns((axes.whitening.T @ sample.columns,))
    noise = gaussian_part(np.eye(tensor.sizes[0]))

    def standing(refinement: Refined) -> CumulantSources:
        independent = sample.independent_share * moments.weight
        standing_terms = standing_out(refinement.terms, independent)
        terms = refinement.terms if sample.all_terms else standing_terms
        if not terms.n_terms:
            raise IdentifiabilityError(
                "no source stands out from Gaussian noise in the fourth cumulant: " + remedy
            )
        components, invalid = of_terms(
            axes,
            terms,
            moments.covariance,
            moments.mean,
            settings.shape.views,
            settings.shape.dtype,
            all_terms=sample.all_terms,
        )
        diagnostics = {
            "gauss_newton": refinement.diagnostics,
            "outlying_rows": refinement.left_out,
            "invalid_components": invalid,
            "sources_in_noise": terms.n_terms - standing_terms.n_terms,
            "nearly_parallel": share_a_source(terms),
        }
        return CumulantSources(components, axes, moments, diagnostics)

    refinement = yield from refined(
        Terms(sample.weights, columns, ORDERS),
        tensor,
        steps,
        {},
        lambda _: noise,
        lambda terms: solve(standing(terms)),
    )
    return standing(refinement)
