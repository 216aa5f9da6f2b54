"""Fitted mixture of Gaussian components with one shared covariance, as answers use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bigtensor.decomposition.gaussian.gaussian_pairs import merge_indistinct
from bigtensor.decomposition.gaussian.shared_covariance_m_step import (
    block_diagonal,
)
from bigtensor.descending_order import descending_order
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.data_shape import GroupLabels, NamedViews, view_slices
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities


@dataclass(frozen=True, eq=False)
class GaussianComponents(FittedMixture):
    """Weights and means of components, and the covariance that they share.

    Attributes
    ----------
    weights : (k,) float64 array
        Positive; they sum to one.
    means : (k, d) float64 array
        Over the features of all views, one view beside the other.
    covariance : (d,) or (d, d) float64 array
        Variances, or the full covariance matrix.
    views : tuple of (name, features)
        Names of the views, with their features.
    dtype : str
        Of products of matrices.
    names : tuple of str, or of int or float
        Labels of the components; empty without. Files of earlier versions hold numbers as texts.
    populations : Populations, optional
        Populations of components that a user named or merged; None without.
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
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
    def mean_variances(self) -> NDArray[np.float64]:
        """Variances of the features within components: ``(d,)``."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    def mixture(self) -> GaussianDensities:
        """Return the densities that labels come from."""
        return GaussianDensities(self.weights, self.means, self.covariance, self.dtype)

    def by_weight(self) -> GaussianComponents:
        """Return the components in the order of descending weight; named ones stay in theirs."""
        if self.names:
            return self
        order = descending_order(self.weights)
        return replace(self, weights=self.weights[order], means=self.means[order])

    def of_features(self, positions: NDArray[np.intp]) -> GaussianComponents:
        """Return the components of features in another order, under the names that they have here.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        covariance = self.covariance[positions]
        if covariance.ndim == 2:
            covariance = covariance[:, positions]
        return replace(self, means=self.means[:, positions], covariance=covariance)

    def draw_rows(
        self, label: NDArray[np.integer], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw a row of every component: ``(rows, features)``."""
        noise = rng.standard_normal((len(label), self.means.shape[1]))
        if self.covariance.ndim == 1:
            noise *= np.sqrt(self.covariance)
        else:
            noise = noise @ np.linalg.cholesky(self.covariance).T
        return np.asarray(self.means[label] + noise)

    def feature_quantiles(self, column: int, levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of one feature in every component: ``(k, levels)``."""
        deviation = np.sqrt(self.mean_variances[column])
        return np.asarray(self.means[:, column, None] + deviation * ndtri(levels))


def joined(
    components: GaussianComponents,
    members: NDArray[np.intp],
    independent: Sequence[slice] = (),
) -> GaussianComponents:
    """Return components of which some are made one; the covariance grows by the spread of these.

    Without the spread, rows of a rare feature would have densities of nearly zero once a component
    of their own is gone, which had left no variance of the feature.

    Parameters
    ----------
    components : GaussianComponents
        Without labels.
    members : (k,) integer array
        Number of the component that every one becomes part of, from 0 without gaps.
    independent : sequence of slice, default ()
        Groups of all columns between which a full covariance is zero.
    """
    weights = np.bincount(members, components.weights).astype(np.float64)
    sums = np.zeros((len(weights), components.means.shape[1]))
    np.add.at(sums, members, components.weights[:, None] * components.means)
    means = sums / weights[:, None]
    moved = components.means - means[members]
    spread = (moved.T * components.weights) @ moved
    if components.covariance.ndim == 1:
        spread = np.full(len(spread), np.trace(spread) / len(spread))
    elif independent:
        spread = block_diagonal(spread, independent)
    return replace(
        components, weights=weights, means=means, covariance=components.covariance + spread
    )


def distinct_components(
    components: GaussianComponents, rows: float, independent: Sequence[slice] = ()
) -> GaussianComponents:
    """Return components that so many rows tell apart; pairs of others are made one.

    Parameters
    ----------
    components : GaussianComponents
        Near the maximum of the likelihood. Labelled components stay as they are.
    rows : float
        Number of rows.
    independent : sequence of slice, default ()
        As for `joined`.
    """
    if components.names:
        return components
    points = components.mixture().factor[:-1].T.astype(np.float64)
    distinct = merge_indistinct(components.weights, points, rows)
    if len(distinct.weights) == components.n_components:
        return components
    return joined(components, distinct.members, independent)
