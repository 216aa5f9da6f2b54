"""EM iteration of Gaussian components that have a covariance each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.models.gaussian.em_iterations import EmIterate
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.regularisation import Regularisation
from bigtensor.statistics.base import Pass
from bigtensor.statistics.gaussian.own_covariance_sums import (
    OwnCovarianceSums,
    OwnCovarianceSumsResult,
)
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach


@dataclass(frozen=True, eq=False)
class OwnCovarianceEm:
    """EM iteration of components that have a covariance each.

    It raises the penalised likelihood (`OwnCovarianceComponents.penalised_mixture`).

    Attributes
    ----------
    reach : Reach
        Distances within which rows count.
    regularisation : Regularisation
        Regularisation of the covariances.
    windows : tuple of (start, stop), optional
        Rows to read; None stands for all.
    """

    reach: Reach
    regularisation: Regularisation
    windows: tuple[tuple[int, int], ...] | None = None

    def posterior_pass(
        self, iterate: EmIterate[OwnCovarianceComponents]
    ) -> Pass[ResultWithin[OwnCovarianceSumsResult]]:
        """Return the pass of the E step over all rows, or over windows."""
        variances = self.regularisation.variances
        sums = OwnCovarianceSums(iterate.components.penalised_mixture(variances))
        name = "posterior" if self.windows is None else "settling"
        return Pass(name, WithinReach(sums, self.reach), self.windows)

    def maximised(
        self,
        before: EmIterate[OwnCovarianceComponents],
        within: ResultWithin[OwnCovarianceSumsResult],
    ) -> tuple[EmIterate[OwnCovarianceComponents], float]:
        """Return the estimate after the M step, and the mean penalised log-likelihood before it."""
        components, sums = before.components, within.result
        frame = components.frame
        ridge = frame.diagonal_covariance(
            self.regularisation.variances, components.covariances.ndim
        )
        shrinkage = self.regularisation.shrinkage_of(components)
        step = m_step(sums.counts, sums.sums, sums.second_moments, ridge, shrinkage)
        likelihood = sums.log_likelihood / sums.weight
        if shrinkage is not None:
            likelihood += shrinkage.log_density(frame.covariances_of(components.covariances))
        components = replace(
            components,
            weights=step.weights,
            means=frame.to_data(step.means),
            covariances=frame.covariances_to_data(step.covariances),
        )
        after = EmIterate(components, outlying_rows=within.left_out)
        return after, likelihood
