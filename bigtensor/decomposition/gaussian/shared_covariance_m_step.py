"""M-step of Gaussian mixtures whose components share one covariance.

The covariance of all rows is the sum of the covariance within components and the covariance of the
component means, so that second moments by component are not needed: one pass sums the moments of
all rows, and EM iterations sum counts and rows by component. The step is the one for homoscedastic
components (McLachlan and Peel 2000, "Finite Mixture Models", ch. 3), written with these moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError

LEAST_WEIGHT = 1e-6
"""Smallest weight of a component, relative to equal weights. A component below it is empty."""

LEAST_VARIANCE = 1e-6
"""Smallest variance within components, relative to the variance of all rows in the view.

Of a full covariance it is the smallest variance in any direction, after columns are scaled to a
variance of one.
"""

ROUND_OFF = 1e-14
"""Standard deviation of a constant column whose mean is rounded, at most, relative to the mean."""


class ComponentSums(Protocol):
    """Sums over rows x of the weight w times the posterior probability r of every component."""

    @property
    def counts(self) -> FloatArray:
        """``sum w r_h``: ``(components,)``."""

    @property
    def sums(self) -> FloatArray:
        """``sum w r_h (x - reference)``: ``(components, d)``."""

    @property
    def reference(self) -> FloatArray:
        """Point that sums are taken about: ``(d,)``."""


@dataclass(frozen=True, eq=False)
class TotalMoments:
    """Mean and covariance of all rows, whatever their component.

    Attributes
    ----------
    mean : (d,) float64 array
        Mean of all rows.
    covariance : (d,) or (d, d) float64 array
        About the mean, divided by the sum of the weights: variances, or the full matrix.
    """

    mean: FloatArray
    covariance: FloatArray

    @property
    def variances(self) -> FloatArray:
        """Variances of the columns: ``(d,)``. Zero where a column only varies by round-off."""
        variances = self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)
        return np.where(variances > (ROUND_OFF * self.mean) ** 2, variances, 0.0)


@dataclass(frozen=True, eq=False)
class SharedCovarianceStep:
    """Parameters of a Gaussian mixture after an M-step.

    Attributes
    ----------
    weights : (components,) float64 array
        Positive, of sum one.
    means : (components, d) float64 array
        Means of the components.
    covariance : (d,) or (d, d) float64 array
        Variances, constant within a view, or the full matrix. Positive definite.
    empty : (components,) bool array
        True for a component without rows, which keeps its mean and has the smallest weight.
    is_floored : bool
        True if a variance would be less than the floor.
    """

    weights: FloatArray
    means: FloatArray
    covariance: FloatArray
    empty: NDArray[np.bool_]
    is_floored: bool


def m_step(
    means: FloatArray,
    sums: ComponentSums,
    total: TotalMoments,
    views: Sequence[slice] | None,
    independent: Sequence[slice] = (),
) -> SharedCovarianceStep:
    """Maximise the expected log-likelihood over weights, means and the shared covariance.

    Parameters
    ----------
    means : (components, d) float64 array
        Before the step; an empty component keeps its own.
    sums : ComponentSums
        Over the rows of ``total``.
    total : TotalMoments
        Variances are enough where ``views`` are given.
    views : sequence of slice, or None
        Columns that have one variance together: those of every view, or all columns for one
        spherical covariance. None stands for a full covariance.
    independent : sequence of slice, default ()
        Groups of all columns between which a full covariance is zero.

    Raises
    ------
    ParameterError
        When a full covariance is asked for and only variances of all rows are given, or the
        components have no rows at all.
    DataError
        When every column is constant.
    """
    weight = float(sums.counts.sum())
    if not weight > 0:
        raise ParameterError(f"an M-step needs rows of a positive weight, got {weight:g}")
    shares = sums.counts / weight
    least = LEAST_WEIGHT / len(shares)
    empty = ~(shares >= least)
    filled = np.where(empty, 1.0, sums.counts)[:, None]
    # about the mean of all rows: uncentred squares would cancel where data lie far from zero
    deviations = np.where(empty[:, None], 0.0, sums.sums / filled + (sums.reference - total.mean))
    covariance, is_floored = within_covariance(total, shares, deviations, views, independent)
    weights = np.maximum(shares, least)
    return SharedCovarianceStep(
        weights=weights / weights.sum(),
        means=np.where(empty[:, None], means, deviations + total.mean),
        covariance=covariance,
        empty=empty,
        is_floored=is_floored,
    )


def within_covariance(
    total: TotalMoments,
    shares: FloatArray,
    deviations: FloatArray,
    views: Sequence[slice] | None,
    independent: Sequence[slice] = (),
) -> tuple[FloatArray, bool]:
    """Return the covariance of all rows less its part between the components.

    Parameters
    ----------
    total : TotalMoments
        Mean and covariance of all rows.
    shares : (components,) float64 array
        Of all rows; they sum to one.
    deviations : (components, d) float64 array
        Means of the components less the mean of all rows.
    views, independent
        As for `m_step`.

    Returns
    -------
    covariance : (d,) or (d, d) float64 array
        Variances, or the full matrix.
    is_floored : bool
        True if a variance would be less than the floor.

    Raises
    ------
    DataError
        When every column is constant.
    """
    if not total.variances.max() > 0:
        raise DataError(
            "no feature has a variance to estimate: all are constant, or so far from zero that "
            "rounding hides how their values differ; give features whose values differ, or "
            "subtract the mean of every feature"
        )
    if views is None:
        return _tied(total, shares, deviations, independent)
    return _by_view(total, shares, deviations, views)


def _by_view(
    total: TotalMoments,
    shares: FloatArray,
    deviations: FloatArray,
    views: Sequence[slice],
) -> tuple[FloatArray, bool]:
    """Return one variance for the columns of every view, and True if any is at its floor."""
    within = total.variances - shares @ deviations**2
    variances, is_floored = np.empty_like(within), False
    for view in views:
        # a constant view is as narrow as the others may become
        scale = total.variances[view].mean() or total.variances.mean()
        variance = within[view].mean()
        is_floored |= bool(variance < LEAST_VARIANCE * scale)
        variances[view] = max(variance, LEAST_VARIANCE * scale)
    return variances, is_floored


def _tied(
    total: TotalMoments,
    shares: FloatArray,
    deviations: FloatArray,
    independent: Sequence[slice],
) -> tuple[FloatArray, bool]:
    """Return the full covariance within components, and True if a direction is at its floor."""
    if total.covariance.ndim != 2:
        raise ParameterError(
            "a full covariance within components needs the covariance matrix of all rows, got "
            f"variances {total.covariance.shape}"
        )
    within = total.covariance - (deviations.T * shares) @ deviations
    if independent:
        within = block_diagonal(within, independent)
    scale = np.sqrt(np.where(total.variances > 0, total.variances, total.variances.mean()))
    scaled = within / np.outer(scale, scale)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    if values[0] >= LEAST_VARIANCE:
        return np.asarray((within + within.T) / 2), False
    floored = (vectors * np.maximum(values, LEAST_VARIANCE)) @ vectors.T
    floored = floored * np.outer(scale, scale)
    return np.asarray((floored + floored.T) / 2), True


def block_diagonal(matrix: FloatArray, groups: Sequence[slice]) -> FloatArray:
    """Return a matrix with zeros between groups of its columns."""
    kept = np.zeros_like(matrix)
    for group in groups:
        kept[group, group] = matrix[group, group]
    return kept
