"""EM iterations of Gaussian components, whatever the type of their covariances."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

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

_Components = TypeVar("_Components")


@dataclass(frozen=True, eq=False)
class EmIterate(Generic[_Components]):
    """Estimate after an EM iteration.

    Attributes
    ----------
    components : GaussianComponents or OwnCovarianceComponents
        The mixture.
    total : TotalMoments, optional
        Mean and covariance of the rows within reach. Only a shared covariance needs them. Its first
        pass sums them if they are None.
    outlying_rows : int
        Number of rows out of reach.
    """

    components: _Components
    total: TotalMoments | None = None
    outlying_rows: int = 0


class EmStep(Protocol[_Components]):
    """Both steps of an EM iteration."""

    def posterior_pass(self, iterate: EmIterate[_Components]) -> Pass[ResultWithin[Any]]:
        """Return the pass of the E step."""
        ...

    def maximised(
        self, before: EmIterate[_Components], within: ResultWithin[Any]
    ) -> tuple[EmIterate[_Components], float]:
        """Return the estimate after the M step, and the mean log-likelihood of a row before it.

        Parameters
        ----------
        before : EmIterate
            Estimate before the iteration.
        within : ResultWithin
            Result of its `posterior_pass`.
        """
        ...


def em_iterations(
    initial: EmIterate[_Components],
    step: EmStep[_Components],
    *,
    max_iter: int,
    tolerance: float = 0.0,
    before: float | None = None,
    conclude: Callable[[Iterations[EmIterate[_Components]]], Solved] | None = None,
) -> Generator[Any, Any, Iterations[EmIterate[_Components]]]:
    """Ask for posterior sums and maximise the likelihood by EM iterations.

    Parameters
    ----------
    initial : EmIterate
        Initial components.
    step : EmStep
        The E step and the M step of the type of covariances. If every component has its own
        covariance, the penalised likelihood is maximised.
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

    def ask(iterate: EmIterate[_Components], _: int) -> Script:
        return (yield step.posterior_pass(iterate))

    return (
        yield from iterate(
            initial,
            ask,
            step.maximised,
            max_iter=max_iter,
            stopping_rule=gain_below(tolerance, before),
            conclude=conclude,
        )
    )


@dataclass(frozen=True, eq=False)
class SharedCovarianceEm:
    """EM iteration of components that share their covariance.

    Attributes
    ----------
    reach : Reach
        Distances within which rows count.
    spherical : tuple of slice, optional
        Columns that have one variance together; None stands for a full covariance.
    independent : tuple of slice
        Groups of all columns between which a full covariance is zero; empty for one group.
    """

    reach: Reach
    spherical: tuple[slice, ...] | None = None
    independent: tuple[slice, ...] = ()

    def posterior_pass(
        self, iterate: EmIterate[GaussianComponents]
    ) -> Pass[ResultWithin[dict[str, Any]]]:
        """Return the pass of the E step, which also sums the moments of all rows if needed."""
        parts: dict[str, Any] = {"posterior": GaussianPosteriorSums(iterate.components.mixture())}
        if iterate.total is None:
            parts["total"] = Covariances(self.reach.columns, np.concatenate(self.reach.points))
        return Pass("posterior", WithinReach(Together.named(**parts), self.reach))

    def maximised(
        self, before: EmIterate[GaussianComponents], within: ResultWithin[dict[str, Any]]
    ) -> tuple[EmIterate[GaussianComponents], float]:
        """Return the estimate after the M step, and the mean log-likelihood of a row before it."""
        total, sums = before.total, within.result["posterior"]
        if total is None:
            moments = within.result["total"]
            total = TotalMoments(moments.mean, moments.covariance)
        step = m_step(before.components.means, sums, total, self.spherical, self.independent)
        components = replace(
            before.components, weights=step.weights, means=step.means, covariance=step.covariance
        )
        after = EmIterate(components, total, within.left_out)
        return after, sums.log_likelihood / sums.weight
