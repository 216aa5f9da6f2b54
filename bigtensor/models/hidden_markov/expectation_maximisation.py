"""EM iterations of a hidden Markov model on windows of three symbols."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.errors import ParameterError
from bigtensor.models.contract.iteration import iterate, relative_change_below
from bigtensor.models.contract.script import Script, in_memory
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.triple_posteriors import (
    TriplePosteriorSums,
    TriplePosteriorSumsResult,
)


@dataclass(frozen=True, eq=False)
class TripleEstimate:
    """End of EM iterations.

    Attributes
    ----------
    parameters : MarkovParameters
        States in the order of the initialisation.
    likelihoods : list of float
        Mean log-likelihood of a window before every iteration, in nats.
    converged : bool
        False if the iterations ended at their largest number.
    """

    parameters: MarkovParameters
    likelihoods: list[float]
    converged: bool


def triple_expectation_maximisation(
    start: MarkovParameters,
    codes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
    *,
    smoothing: float = 0.0,
    most: int = 20,
    tolerance: float = 1e-8,
) -> TripleEstimate:
    """Improve a hidden Markov model by EM iterations on weighted windows in memory.

    Parameters
    ----------
    start : MarkovParameters
        EM never leaves a probability of zero.
    codes : integer ndarray of shape (m, 3)
        Symbols of the windows from 0; a negative one is missing and summed over.
    weights : ndarray of shape (m,), optional
        How often every window occurs; once by default.
    smoothing : float
        Pseudo-count of every state, transition and emission.
    most : int
        Largest number of iterations.
    tolerance : float
        Relative change of the log-likelihood at which iterations end. With 1e-6 they end after
        three iterations where there are many windows, and before they have an effect.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the arrays do not belong together.
    """
    if codes.ndim != 2 or codes.shape[1] != 3 or not len(codes):
        raise ParameterError(f"windows of shape (m, 3) are needed, got {codes.shape}")
    if codes.max() >= start.n_symbols:
        raise ParameterError(
            f"symbols below {start.n_symbols} are needed, as in the initialisation, got "
            f"{codes.max()}"
        )
    if weights is not None and weights.shape != (len(codes),):
        raise ParameterError(f"{len(codes)} weights are needed, got the shape {weights.shape}")
    rows = Block(codes, {"window": slice(0, 3)}, 0, len(codes), weights)
    return in_memory(
        em_iterations(start, smoothing=smoothing, most=most, tolerance=tolerance), rows
    )


def em_iterations(
    start: MarkovParameters,
    *,
    smoothing: float,
    most: int,
    tolerance: float,
) -> Generator[Any, Any, TripleEstimate]:
    """Ask for posterior sums and update the parameters until the likelihood has settled.

    Parameters
    ----------
    start, smoothing, most, tolerance
        As for `triple_expectation_maximisation`.
    """
    if not (most >= 0 and smoothing >= 0 and tolerance >= 0):
        raise ParameterError(
            "smoothing, most and tolerance must not be negative, got "
            f"{smoothing}, {most} and {tolerance}"
        )

    def update(
        _: MarkovParameters, sums: TriplePosteriorSumsResult
    ) -> tuple[MarkovParameters, float]:
        estimated = MarkovParameters(
            sums.window_start + smoothing, sums.transitions + smoothing, sums.emissions + smoothing
        )
        return estimated.clipped(), sums.log_likelihood / sums.weight

    iterations = yield from iterate(
        start,
        _posterior_sums,
        update,
        max_iter=most,
        stopping_rule=relative_change_below(tolerance),
    )
    return TripleEstimate(iterations.state, iterations.measures, iterations.converged)


def _posterior_sums(parameters: MarkovParameters, _: int) -> Script:
    """Ask for the posterior sums of an iteration."""
    statistic = TriplePosteriorSums(
        parameters.window_start, parameters.transition, parameters.emission
    )
    return (yield Pass("posterior", statistic))
