"""EM iterations along whole sequences (Baum, Petrie, Soules and Weiss 1970)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from bigtensor.decomposition.discrete.discrete_core import distributions
from bigtensor.models.hidden_markov.emissions import Family
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
    smoothing : float
        Pseudo-count of every transition and category.
    family : Family
    rows : int
    """

    most: int
    smoothing: float
    family: Family
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
        number = len(likelihoods) + 1
        boundaries = yield Pass(f"messages {number}", operators_of(chain, iterations.rows))
        statistic = SequencePosteriorSums(chain, boundaries, iterations.family.out_maps)
        sums = yield Pass(f"expectation {number}", statistic)
        # one sequence is added, which starts as a window does
        initial = sums.initial + fit.window_start
        fit = MarkovFit(
            initial / initial.sum(),
            fit.window_start,
            distributions((sums.transition + iterations.smoothing).T, 0.0).T,
            iterations.family.reestimated(sums.emissions, iterations.smoothing),
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
    return abs(likelihoods[-1] - likelihoods[-2]) <= iterations.family.settled
