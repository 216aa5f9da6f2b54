"""EM iterations of Gaussian components that share their covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from bigtensor.decomposition.gaussian.shared_covariance_em import (
    TotalMoments,
    m_step,
)
from bigtensor.models.contract.iteration import gain_below, iterate
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.statistics.base import Pass
from bigtensor.statistics.gaussian.gaussian_posterior import (
    GaussianPosteriorSums,
    GaussianPosteriorSumsResult,
)
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach


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
