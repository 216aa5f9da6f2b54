"""Fitted mixture of Gaussian components with a covariance each, as answers use it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import descending_order
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.data_shape import GroupLabels, NamedViews, view_slices
from bigtensor.statistics.gaussian.own_covariance_densities import (
    Frame,
    OwnCovarianceDensities,
    inverse_roots,
    is_wide,
)

_FLOAT32_PRECISION = 1e3
"""Largest precision in the frame with which products of float32 are used.

Errors of log densities of 5,000 rows were then at most 2e-4 nats with 6 features, and 1e-3 with 30.
"""

_MOST_PENALTY = 700.0
"""Largest penalty in nats: weights would underflow with a larger one."""


@dataclass(frozen=True, eq=False)
class OwnCovarianceComponents(FittedMixture):
    """Weights, means and covariances of components.

    Attributes
    ----------
    weights : (k,) float64 array
        Positive; they sum to one.
    means : (k, d) float64 array
        Over the features of all views, one view beside the other.
    covariances : (k, d, d), (k, d) or (k,) float64 array
        Full matrices, variances of the features, or one variance.
    frame : Frame
        Coordinates in which rows are computed.
    views : tuple of (name, features)
        Names of the views, with their features.
    dtype : str
        Of products of matrices, if the covariances allow it.
    names : tuple of str, or of int or float
        Labels of the components; empty without. Files of earlier versions hold numbers as texts.
    populations : Populations, optional
        Populations of components that a user named or merged; None without.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    frame: Frame
    views: NamedViews
    dtype: str
    names: GroupLabels = ()
    populations: Populations | None = None

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.weights)

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of every view in the values of a block."""
        return view_slices(self.views)

    @property
    def mean_variances(self) -> FloatArray:
        """Variances of the features within components, means over the components: ``(d,)``."""
        return np.asarray(self.weights @ self.variances)

    @property
    def variances(self) -> FloatArray:
        """Variances of the features in every component: ``(k, d)``."""
        if self.covariances.ndim == 3:
            return np.asarray(np.diagonal(self.covariances, axis1=1, axis2=2))
        if self.covariances.ndim == 1:
            return np.repeat(self.covariances[:, None], self.means.shape[1], axis=1)
        return self.covariances

    def mixture(self) -> OwnCovarianceDensities:
        """Return the densities that labels come from."""
        return self.penalised_mixture(np.zeros(self.means.shape[1]))

    def penalised_mixture(self, regularisation: FloatArray) -> OwnCovarianceDensities:
        """Return the densities whose likelihood EM iterations with a regularisation raise.

        The M step adds the regularisation R to the covariances S of the rows, which is the maximum
        of ``log N(x) - tr(S^-1 R) / 2`` and not of the log density alone. R acts as noise of this
        covariance in every row: the penalised density is ``exp`` of the mean of ``log N(x + e)``
        over the noise e. Penalties are at most d / 2 nats and stand in the weights.

        Parameters
        ----------
        regularisation : (d,) float64 array
            Added to the variances of the features, in the units of the data.
        """
        covariances, frame = self.frame.covariances_of(self.covariances), self.frame
        roots = inverse_roots(covariances) if covariances.ndim == 3 else None
        penalties = _penalties(self.covariances, regularisation, roots, frame)
        weights = self.weights * np.exp(-np.minimum(penalties, _MOST_PENALTY))
        return OwnCovarianceDensities(
            # the weight of a component that lost its rows may underflow
            np.maximum(weights, np.finfo(np.float64).smallest_subnormal),
            frame.of_rows(self.means),
            covariances,
            frame,
            "float64" if self._is_exact(covariances, roots) else "float32",
            roots,
        )

    def _is_exact(self, covariances: FloatArray, roots: FloatArray | None) -> bool:
        """Return True if densities with these covariances need products of float64."""
        if self.dtype == "float64":
            return True
        if roots is None:
            return bool(covariances.min() * _FLOAT32_PRECISION < 1)
        # eigenvalues would take as long as a pass over a few thousand wide rows
        if is_wide(self.n_components, self.means.shape[1], self.dtype):
            return True
        # the norm of a precision is at least its largest eigenvalue, which takes longer
        precisions = roots.transpose(0, 2, 1) @ roots
        if np.linalg.norm(precisions, axis=(1, 2)).max() <= _FLOAT32_PRECISION:
            return False
        return bool(np.linalg.eigvalsh(covariances).min() * _FLOAT32_PRECISION < 1)

    def by_weight(self) -> OwnCovarianceComponents:
        """Return the components in the order of descending weight; named ones stay in theirs."""
        return self if self.names else self.taken(descending_order(self.weights))

    def taken(self, kept: NDArray[np.intp]) -> OwnCovarianceComponents:
        """Return some components, with weights that sum to one.

        Parameters
        ----------
        kept : (m,) integer array
            Numbers of the components.
        """
        weights = self.weights[kept]
        return replace(
            self,
            weights=weights / weights.sum(),
            means=self.means[kept],
            covariances=self.covariances[kept],
        )

    def of_features(self, positions: NDArray[np.intp]) -> OwnCovarianceComponents:
        """Return the components of features in another order, under the names that they have here.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        covariances = self.covariances
        if covariances.ndim > 1:
            covariances = covariances[:, positions]
        if covariances.ndim > 2:
            covariances = covariances[:, :, positions]
        return replace(
            self,
            means=self.means[:, positions],
            covariances=covariances,
            frame=self.frame.of_features(positions),
        )

    def draw_rows(self, label: NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
        """Draw a row of every component: ``(rows, features)``."""
        noise = rng.standard_normal((len(label), self.means.shape[1]))
        if self.covariances.ndim == 3:
            roots = np.linalg.cholesky(self.covariances)
            for component in np.unique(label):
                rows = label == component
                noise[rows] = noise[rows] @ roots[component].T
        else:
            deviations = np.sqrt(self.covariances)[label]
            noise *= deviations if deviations.ndim == 2 else deviations[:, None]
        return np.asarray(self.means[label] + noise)

    def feature_quantiles(self, column: int, levels: FloatArray) -> FloatArray:
        """Return the quantiles of one feature in every component: ``(k, levels)``."""
        deviations = np.sqrt(self.variances[:, column, None])
        return np.asarray(self.means[:, column, None] + deviations * ndtri(levels))


def _penalties(
    covariances: FloatArray, regularisation: FloatArray, roots: FloatArray | None, frame: Frame
) -> FloatArray:
    """Return half the traces of the regularisation over each covariance, in nats: ``(k,)``.

    The roots are the inverse ones of full covariances in the frame.
    """
    if not regularisation.any():
        return np.zeros(len(covariances))
    if roots is not None:
        units = np.sqrt(regularisation)
        scaled = (
            roots * (frame.scaling * units)
            if frame.scaling.ndim == 1
            else roots @ (frame.scaling.T * units)
        )
        return np.asarray(0.5 * np.square(scaled).sum(axis=(1, 2)))
    if covariances.ndim == 1:
        return np.asarray(0.5 * regularisation.sum() / covariances)
    return np.asarray(0.5 * (regularisation / covariances).sum(axis=1))
