"""EM iterations of Gaussian components that have a covariance each."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.models.contract.iteration import Iterations, gain_below, iterate
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.gaussian_mixture.own_covariance_components import OwnCovarianceComponents
from bigtensor.statistics.base import Pass
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.gaussian.own_covariance_sums import (
    OwnCovarianceSums,
    OwnCovarianceSumsResult,
)
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach


@dataclass(frozen=True, eq=False)
class OwnCovarianceIterate:
    """Estimate after an EM iteration.

    Attributes
    ----------
    components : OwnCovarianceComponents
        The mixture.
    outlying_rows : int
        Number of rows out of reach.
    """

    components: OwnCovarianceComponents
    outlying_rows: int = 0


def own_covariance_iterations(
    initial: OwnCovarianceComponents,
    regularisation: FloatArray,
    reach: Reach,
    *,
    max_iter: int,
    tolerance: float,
    windows: tuple[tuple[int, int], ...] | None = None,
    before: float | None = None,
    conclude: Callable[[Iterations[OwnCovarianceIterate]], Solved] | None = None,
) -> Generator[Any, Any, Iterations[OwnCovarianceIterate]]:
    """Ask for posterior sums and maximise the penalised likelihood by EM iterations.

    Every iteration raises it (`OwnCovarianceComponents.penalised_mixture`).

    Parameters
    ----------
    initial : OwnCovarianceComponents
        Initial components.
    regularisation : (d,) float64 array
        Added to the variances of the features, in the units of the data.
    reach : Reach
        Distances within which rows count.
    max_iter : int
        Largest number of iterations.
    tolerance : float
        Gain of the mean penalised log-likelihood of a row, in nats, below which no iteration
        follows.
    windows : tuple of (start, stop), optional
        Rows to read; None stands for all.
    before : float, optional
        Mean penalised log-likelihood before the last iteration of a fit that these iterations
        continue.
    conclude : callable, optional
        Makes the solution of a fit that ends after an iteration, for fits in rounds.

    Returns
    -------
    Iterations
        The measures are mean penalised log-likelihoods of the rows before every iteration, in nats.
    """

    def ask(iterate: OwnCovarianceIterate, _: int) -> Script:
        return (yield own_covariance_pass(iterate.components, regularisation, reach, windows))

    def update(
        before: OwnCovarianceIterate, within: ResultWithin[OwnCovarianceSumsResult]
    ) -> tuple[OwnCovarianceIterate, float]:
        sums = within.result
        components = updated_components(before.components, sums, regularisation)
        after = OwnCovarianceIterate(components, within.left_out)
        return after, sums.log_likelihood / sums.weight

    return (
        yield from iterate(
            OwnCovarianceIterate(initial),
            ask,
            update,
            max_iter=max_iter,
            stopping_rule=gain_below(tolerance, before),
            conclude=conclude,
        )
    )


def updated_components(
    components: OwnCovarianceComponents,
    sums: OwnCovarianceSumsResult,
    regularisation: FloatArray,
) -> OwnCovarianceComponents:
    """Return the components after an M step.

    Parameters
    ----------
    components : OwnCovarianceComponents
        Components before the step.
    sums : OwnCovarianceSumsResult
        Posterior sums of these components.
    regularisation : (d,) float64 array
        Added to the variances of the features, in the units of the data.
    """
    frame = components.frame
    ridge = _in_frame(regularisation, frame, components.covariances.ndim)
    step = m_step(sums.counts, sums.sums, sums.second_moments, ridge)
    return replace(
        components,
        weights=step.weights,
        means=frame.to_data(step.means),
        covariances=frame.covariances_to_data(step.covariances),
    )


def _in_frame(regularisation: FloatArray, frame: Frame, dimensions: int) -> FloatArray:
    """Return the regularisation in the frame, for covariances of so many dimensions."""
    of_one = {3: np.diag(regularisation)[None], 2: regularisation[None]}
    covariances = of_one.get(dimensions, np.array([regularisation.mean()]))
    return np.asarray(frame.covariances_of(covariances)[0])


def own_covariance_pass(
    components: OwnCovarianceComponents,
    regularisation: FloatArray,
    reach: Reach,
    windows: tuple[tuple[int, int], ...] | None = None,
) -> Pass[ResultWithin[OwnCovarianceSumsResult]]:
    """Return the pass of an EM iteration over all rows, or over windows."""
    sums = OwnCovarianceSums(components.penalised_mixture(regularisation))
    name = "posterior" if windows is None else "settling"
    return Pass(name, WithinReach(sums, reach), windows)
