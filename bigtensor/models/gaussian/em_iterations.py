"""EM iterations of Gaussian components that share their covariance."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.decomposition.gaussian.shared_covariance_m_step import (
    TotalMoments,
    m_step,
)
from bigtensor.models.contract.iteration import Iterations, gain_below, iterate
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.moments.covariances import Covariances
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


@dataclass(frozen=True, eq=False)
class EmIterate:
    """Estimate after an EM iteration.

    Attributes
    ----------
    components : GaussianComponents
        The mixture.
    total : TotalMoments, optional
        Mean and covariance of the rows within reach. The first pass sums them if they are None.
    outlying_rows : int
        Number of rows out of reach.
    """

    components: GaussianComponents
    total: TotalMoments | None = None
    outlying_rows: int = 0


def em_iterations(
    initial: EmIterate,
    form: CovarianceForm,
    reach: Reach,
    *,
    max_iter: int,
    tolerance: float = 0.0,
    before: float | None = None,
    conclude: Callable[[Iterations[EmIterate]], Solved] | None = None,
) -> Generator[Any, Any, Iterations[EmIterate]]:
    """Ask for posterior sums and maximise the likelihood by EM iterations.

    Parameters
    ----------
    initial : EmIterate
        Initial components.
    form : CovarianceForm
        Form of the covariance.
    reach : Reach
        Distances within which rows count.
    max_iter : int
        Largest number of iterations.
    tolerance : float, default 0
        Gain of the mean log-likelihood of a row, in nats, below which no iteration follows.
    before : float, optional
        Mean log-likelihood before the last iteration of a fit that these iterations continue.
    conclude : callable, optional
        Makes the solution of a fit that ends after an iteration, for fits in rounds.

    Returns
    -------
    Iterations
        The measures are mean log-likelihoods of the rows before every iteration, in nats.
    """

    def ask(iterate: EmIterate, _: int) -> Script:
        return (yield posterior_pass(iterate.components, reach, with_total=iterate.total is None))

    def update(before: EmIterate, within: ResultWithin[dict[str, Any]]) -> tuple[EmIterate, float]:
        total, sums = before.total, within.result["posterior"]
        if total is None:
            moments = within.result["total"]
            total = TotalMoments(moments.mean, moments.covariance)
        step = m_step(before.components.means, sums, total, form.spherical, form.independent)
        components = replace(
            before.components, weights=step.weights, means=step.means, covariance=step.covariance
        )
        after = EmIterate(components, total, within.left_out)
        return after, sums.log_likelihood / sums.weight

    return (
        yield from iterate(
            initial,
            ask,
            update,
            max_iter=max_iter,
            stopping_rule=gain_below(tolerance, before),
            conclude=conclude,
        )
    )


def posterior_pass(
    components: GaussianComponents, reach: Reach, *, with_total: bool = False
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return the pass of an EM iteration, which may also sum the moments of all rows."""
    parts: dict[str, Any] = {"posterior": GaussianPosteriorSums(components.mixture())}
    if with_total:
        parts["total"] = Covariances(reach.columns, np.concatenate(reach.points))
    return Pass("posterior", WithinReach(Together.named(**parts), reach))
