"""Distribution of the first state of a sequence, from the first codes of all sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.hidden_markov import MarkovParameters

ITERATIONS = 200
"""EM iterations: the likelihood is concave in the initial probabilities."""


def initial_states(
    first_pairs: NDArray[np.float64], parameters: MarkovParameters
) -> NDArray[np.float64]:
    """Estimate initial probabilities under known transitions and emissions.

    One sequence is added that starts as a window does: without any, this is the start of windows,
    and probabilities of few sequences stay away from zero.

    Parameters
    ----------
    first_pairs : (n + 1, n + 1) float64 array
        Weights of sequences by their first two codes; the last line and column are of missing ones.
    parameters : MarkovParameters

    Returns
    -------
    (k,) float64 array
    """
    first, second = np.nonzero(first_pairs)
    weight = first_pairs[first, second]
    emission = np.vstack([parameters.emission.T, np.ones(parameters.n_states)])
    likelihood = emission[first] * (emission @ parameters.transition.T)[second]
    prior = parameters.window_start
    current = prior.copy()
    for _ in range(ITERATIONS):
        joint = likelihood * current
        share = joint / joint.sum(axis=1, keepdims=True)
        current = (weight @ share + prior) / (weight.sum() + 1)
    return np.asarray(current / current.sum())
