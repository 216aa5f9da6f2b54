"""Passes over all rows that models of independent sources ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import PrincipalAxes, principal_axes
from bigtensor.models.sources.settings import SourceSettings
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.moments.covariances import Covariances, CovariancesResult
from bigtensor.statistics.sources.contrast_sums import ContrastSums, ContrastSumsResult
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

MOST_SINGLE_CONDITION = 1e3
"""Condition of a whitening above which products in float32 lose too many digits."""

_ROUNDING_UNITS = 2.0


def moments_pass(
    settings: SourceSettings, mean: FloatArray, unmixing: FloatArray, counted: Reach
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return the pass that sums the covariance, beside the first fixed-point iteration if any.

    Parameters
    ----------
    settings : SourceSettings
        Resolved parameters of the fit.
    mean : (d,) array
        Of the sample.
    unmixing : (d, k) array
        Without columns for none.
    counted : Reach
        The rows that count.
    """
    beside = {}
    if unmixing.shape[1]:
        beside["contrast"] = ContrastSums(unmixing, mean, settings.shape.dtype)
    # sums about the mean of all rows of the sample would be nothing but rounding
    point = np.asarray(counted.points[0])
    together = Together.named(covariance=Covariances(settings.columns, point), **beside)
    return Pass("moments", WithinReach(together, counted))


def contrast_pass(
    unmixing: FloatArray, mean: FloatArray, counted: Reach, dtype: str
) -> Pass[ResultWithin[ContrastSumsResult]]:
    """Return the pass of one fixed-point iteration.

    Parameters
    ----------
    unmixing : (d, k) array
        Sources are centred rows times these columns.
    mean : (d,) array
        Mean of the rows.
    counted : Reach
        The rows that count.
    dtype : str
        Of products.
    """
    return Pass("contrast", WithinReach(ContrastSums(unmixing, mean, dtype), counted))


def axes_of(moments: CovariancesResult, settings: SourceSettings) -> PrincipalAxes:
    """Return the principal axes of rows, all that are not rounding."""
    return principal_axes(
        moments.covariance, rounding_variances(moments.mean, settings.shape.dtype)
    )


def rounding_variances(mean: FloatArray, dtype: str) -> FloatArray:
    """Return the variances that rounding alone may give features of a mean.

    Parameters
    ----------
    mean : (d,) array
        Mean of the rows.
    dtype : str
        Of the features.
    """
    unit = float(np.finfo(dtype).eps)
    return np.asarray(np.square(_ROUNDING_UNITS * unit * np.abs(mean)))


def products_in(axes: PrincipalAxes, settings: SourceSettings) -> str:
    """Return the dtype of products with the axes."""
    return settings.shape.dtype if axes.condition <= MOST_SINGLE_CONDITION else "float64"


def blank_reach(n_features: int) -> Reach:
    """Return a reach of the right sizes, whatever its numbers."""
    return Reach.unbounded(((0, n_features),))
