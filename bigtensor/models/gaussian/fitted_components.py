"""Fitted mixture of Gaussian components with one shared covariance, as answers use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.gaussian.gaussian_pairs import merge_indistinct
from bigtensor.decomposition.gaussian.shared_covariance_em import (
    TotalMoments,
    block_diagonal,
    m_step,
)
from bigtensor.descending_order import descending_order
from bigtensor.models.contract.data_shape import NamedViews, view_slices
from bigtensor.models.contract.iteration import gain_below, iterate
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.statistics.base import Pass
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import (
    GaussianPosteriorSums,
    GaussianPosteriorSumsResult,
)
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach


@dataclass(frozen=True, eq=False)
class GaussianComponents:
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
    names : tuple of str
        Labels of the components; empty without.
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
    views: NamedViews
    dtype: str
    names: tuple[str, ...] = ()

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.weights)

    @property
    def populations(self) -> None:
        """None: components are not merged."""

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of every view in the values of a block."""
        return view_slices(self.views)

    def mixture(self) -> GaussianDensities:
        """Return the densities that labels come from."""
        return GaussianDensities(self.weights, self.means, self.covariance, self.dtype)

    def likelihood_mixture(self) -> GaussianDensities:
        """Return the densities that weights of groups are estimated under."""
        return self.mixture()

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

    def draw(
        self, n_samples: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Draw rows, in the order of the views, and components."""
        label = rng.choice(len(self.weights), size=n_samples, p=self.weights / self.weights.sum())
        noise = rng.standard_normal((n_samples, self.means.shape[1]))
        if self.covariance.ndim == 1:
            noise *= np.sqrt(self.covariance)
        else:
            noise = noise @ np.linalg.cholesky(self.covariance).T
        return self.means[label] + noise, label.astype(np.int32)


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


@dataclass(frozen=True)
class CovarianceForm:
    """Form of the covariance that components share.

    Attributes
    ----------
    spherical : tuple of slice, optional
        Columns that have one variance together; None stands for a full covariance.
    independent : tuple of slice
        Groups of all columns between which a full covariance is zero; empty for one group.
    """

    spherical: tuple[slice, ...] | None = None
    independent: tuple[slice, ...] = ()


def em_iterations(
    components: GaussianComponents,
    total: TotalMoments,
    form: CovarianceForm,
    reach: Reach,
    iterations: int,
    tolerance: float = 0.0,
    conclude: Callable[[GaussianComponents, list[float]], Solved] | None = None,
) -> Script:
    """Ask for posterior sums, and move the components by EM iterations.

    Parameters
    ----------
    components : GaussianComponents
        The mixture.
    total : TotalMoments
        Of the rows within reach.
    form : CovarianceForm
        Form of the covariance.
    reach : Reach
        Distances within which rows count.
    iterations : int
        Most iterations.
    tolerance : float, default 0
        Gain of the mean log-likelihood of a row, in nats, below which the last iteration was the
        last.
    conclude : callable, optional
        Makes the solution that holds if no further pass follows.

    Returns
    -------
    components : GaussianComponents
        After the last iteration.
    log_likelihoods : list of float
        Mean over the rows before every iteration, in nats.
    """

    def ask(components: GaussianComponents, _: int) -> Script:
        return (yield posterior_pass(components, reach))

    def update(
        components: GaussianComponents, within: ResultWithin[GaussianPosteriorSumsResult]
    ) -> tuple[GaussianComponents, float]:
        return iterated(components, within.result, total, form)

    if conclude is not None and iterations:
        yield Estimate(partial(conclude, components, []))
    climbed = yield from iterate(
        components,
        ask,
        update,
        max_iter=iterations,
        stopping_rule=gain_below(tolerance),
        conclude=None if conclude is None else lambda it: conclude(it.state, it.measures),
    )
    return climbed.state, climbed.measures


def iterated(
    components: GaussianComponents,
    sums: GaussianPosteriorSumsResult,
    total: TotalMoments,
    form: CovarianceForm,
) -> tuple[GaussianComponents, float]:
    """Return the components after an EM iteration, and their mean log-likelihood before it."""
    step = m_step(components.means, sums, total, form.spherical, form.independent)
    moved = replace(components, weights=step.weights, means=step.means, covariance=step.covariance)
    return moved, sums.log_likelihood / sums.weight


def posterior_pass(
    components: GaussianComponents, reach: Reach
) -> Pass[ResultWithin[GaussianPosteriorSumsResult]]:
    """Return the pass of an EM iteration."""
    return Pass("posterior", WithinReach(GaussianPosteriorSums(components.mixture()), reach))
