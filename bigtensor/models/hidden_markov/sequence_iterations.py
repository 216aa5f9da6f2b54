"""EM iterations along whole sequences (Baum, Petrie, Soules and Weiss 1970)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from bigtensor.decomposition.discrete_core import distributions
from bigtensor.features.maps import FeatureMap
from bigtensor.models.hidden_markov.emissions import Reestimate
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.entries import most_blocks
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.transfer import TransferOperators


@dataclass(frozen=True, eq=False)
class Iterations:
    """EM iterations that may follow on the estimate from triples.

    Attributes
    ----------
    most : int
        Largest number.
    tolerance : float
        Change of the mean log-likelihood at which they end, in nats a row.
    smoothing : float
        Pseudo-count of every transition.
    reestimate : callable
        Makes emissions of their sums.
    out_maps : mapping of str to FeatureMap
        Features to sum, for every wider view.
    rows : int
    """

    most: int
    tolerance: float
    smoothing: float
    reestimate: Reestimate
    out_maps: Mapping[str, FeatureMap]
    rows: int


def sequence_iterations(
    fit: MarkovFit, iterations: Iterations
) -> Generator[Any, Any, tuple[MarkovFit, list[float]]]:
    """Ask for expected counts along sequences, and update a model until it settles.

    Parameters
    ----------
    fit : MarkovFit
    iterations : Iterations

    Returns
    -------
    fit : MarkovFit
        The start of windows stays.
    likelihoods : list of float
        Mean log-likelihood of a row before every iteration, in nats.
    """
    likelihoods = list[float]()
    while len(likelihoods) < iterations.most and not _has_settled(likelihoods, iterations):
        chain = fit.chain()
        boundaries = yield Pass("messages", operators_of(chain, iterations.rows))
        sums = yield Pass(
            "expectation", SequencePosteriorSums(chain, boundaries, iterations.out_maps)
        )
        # one sequence is added, which starts as a window does
        initial = sums.initial + fit.window_start
        fit = MarkovFit(
            initial / initial.sum(),
            fit.window_start,
            distributions((sums.transition + iterations.smoothing).T, 0.0).T,
            iterations.reestimate(sums.emissions),
        )
        likelihoods.append(sums.emissions.log_likelihood / sums.emissions.weight)
    return fit, likelihoods


def operators_of(chain: HiddenChain, rows: int) -> TransferOperators:
    """Return the statistic of the operators of all blocks of some rows."""
    return TransferOperators(chain, most_blocks(rows))


def _has_settled(likelihoods: list[float], iterations: Iterations) -> bool:
    """Return True if the last iteration changed the mean log-likelihood too little to go on."""
    if len(likelihoods) < 2:
        return False
    return abs(likelihoods[-1] - likelihoods[-2]) <= iterations.tolerance
