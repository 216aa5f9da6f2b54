"""EM iterations along whole sequences (Baum, Petrie, Soules and Weiss 1970)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.hidden_markov import MarkovParameters
from bigtensor.models.hidden_markov.settings import Settings
from bigtensor.models.hidden_markov.solution import chain_of
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.entries import most_blocks
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.transfer import TransferOperators

TOLERANCE = 1e-7
"""Relative change of the log-likelihood at which iterations end."""


def sequence_iterations(
    initial: NDArray[np.float64],
    parameters: MarkovParameters,
    smoothing: float,
    settings: Settings,
) -> Generator[Any, Any, tuple[NDArray[np.float64], MarkovParameters, list[float]]]:
    """Ask for expected counts along sequences, and update the parameters until they settle.

    Parameters
    ----------
    initial : (k,) float64 array
    parameters : MarkovParameters
        Of windows.
    smoothing : float
        Pseudo-count of every transition and emission.
    settings : Settings

    Returns
    -------
    initial : (k,) float64 array
    parameters : MarkovParameters
        The start of windows stays.
    likelihoods : list of float
        Mean log-likelihood of a row before every iteration, in nats.
    """
    likelihoods = list[float]()
    for _ in range(settings.em_iterations):
        chain = chain_of(initial, parameters.transition, parameters.emission)
        boundaries = yield Pass("messages", operators_of(chain, settings.rows))
        sums = yield Pass("expectation", SequencePosteriorSums(chain, boundaries))
        n = parameters.n_symbols
        parameters = MarkovParameters(
            parameters.window_start,
            sums.transition + smoothing,
            sums.emission[:n].T + smoothing,
        ).clipped()
        # one sequence is added, which starts as a window does
        initial = sums.initial + parameters.window_start
        initial /= initial.sum()
        likelihoods.append(sums.log_likelihood / sums.weight)
        if len(likelihoods) > 1 and abs(likelihoods[-1] - likelihoods[-2]) <= TOLERANCE * abs(
            likelihoods[-2]
        ):
            break
    return initial, parameters, likelihoods


def operators_of(chain: HiddenChain, rows: int) -> TransferOperators:
    """Return the statistic of the operators of all blocks of some rows."""
    return TransferOperators(chain, most_blocks(rows))
