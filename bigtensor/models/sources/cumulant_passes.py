"""Terms of the fourth cumulant of all rows, by Gauss-Newton steps between passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns
from bigtensor.decomposition.solution import FloatArray
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
    """

    mean: FloatArray
    columns: FloatArray
    weights: FloatArray
    counted: Reach


@dataclass(frozen=True, eq=False)
class CumulantSources:
    """Sources that stand out in the fourth cumulant of all rows.

    Attributes
    ----------
    components : IndependentComponents
    axes : PrincipalAxes
    moments : CovariancesResult
    diagnostics : dict
        ``gauss_newton`` steps, ``outlying_rows`` and ``invalid_components``.
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
    sample : SampleSources
    steps : int
        Most Gauss-Newton steps.
    remedy : Message
        End of the sentence on rows in which no source stands out.
    solve : callable
        Gives the solution that holds if no pass follows.

    Returns
    -------
    CumulantSources
    """
    none = np.empty((settings.n_features, 0))
    seen = yield moments_pass(settings, sample.mean, none, sample.counted)
    moments: CovariancesResult = seen.result["covariance"]
    axes = axes_of(moments, settings)
    dtype = products_in(axes, settings)
    tensor = WhitenedTensor.about(moments.mean, axes.whitening, sample.counted, dtype)
    columns = unit_columns((axes.whitening.T @ sample.columns,))
    noise = gaussian_part(np.eye(tensor.sizes[0]))

    def standing(found: Refined) -> CumulantSources:
        terms = standing_out(found.terms, moments.weight)
        if not terms.n_terms:
            raise IdentifiabilityError(
                "no source stands out from Gaussian noise in the fourth cumulant: " + remedy
            )
        components, invalid = of_terms(
            axes, terms, moments.covariance, moments.mean, settings.views, settings.dtype
        )
        told = {
            "gauss_newton": found.diagnostics,
            "outlying_rows": found.left_out,
            "invalid_components": invalid,
        }
        return CumulantSources(components, axes, moments, told)

    found = yield from refined(
        Terms(sample.weights, columns, ORDERS),
        tensor,
        steps,
        {},
        lambda _: noise,
        lambda terms: solve(standing(terms)),
    )
    return standing(found)
