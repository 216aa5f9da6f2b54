"""EM iterations along whole sequences (Baum, Petrie, Soules and Weiss 1970)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.decomposition.discrete.discrete_core import distributions
from bigtensor.models.contract.iteration import SETTLED_GAIN, change_below, iterate
from bigtensor.models.contract.script import Script
from bigtensor.models.hidden_markov.emissions.protocols import Family
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.entries import most_blocks
from bigtensor.statistics.sequences.expectation import (
    SequencePosteriorSums,
    SequencePosteriorSumsResult,
)
from bigtensor.statistics.sequences.transfer import Boundaries, TransferOperators

WITHOUT_ORDER = "messages without order", "expectation without order"
"""Names of the passes over rows whose states do not depend on the states before them."""


def sequence_iterations(
    fit: MarkovFit, family: Family, *, smoothing: float, most: int, rows: int, all_rows: float
) -> Generator[Any, Any, tuple[MarkovFit, list[float]]]:
    """Ask for expected counts along sequences, and update a model until it converges.

    Parameters
    ----------
    fit : MarkovFit
        Initialisation.
    family : Family
        Re-estimates emissions, and says which change of the log-likelihood is the last.
    smoothing : float
        Pseudo-count of every transition and category.
    most : int
        Largest number of iterations.
    rows : int
        Of the data.
    all_rows : float
        Number of rows that the weighted rows stand for.

    Returns
    -------
    fit : MarkovFit
        The distribution of the first state of a window stays. It is that of rows after a gap, which
        may be few.
    likelihoods : list of float
        Mean log-likelihood of a row before every iteration, in nats.
    """
    boundaries: Boundaries | None = None

    def ask(fit: MarkovFit, number: int) -> Script:
        nonlocal boundaries
        chain = fit.chain(family.reach)
        if boundaries is None or boundaries.depend_on_chain:
            boundaries = yield Pass(f"messages {number + 1}", operators_of(chain, rows))
        statistic = SequencePosteriorSums(chain, boundaries, family.out_maps)
        return (yield Pass(f"expectation {number + 1}", statistic))

    def update(fit: MarkovFit, sums: SequencePosteriorSumsResult) -> tuple[MarkovFit, float]:
        # one sequence is added, which starts as a window does
        initial = sums.initial + fit.window_start
        updated = MarkovFit(
            initial / initial.sum(),
            fit.window_start,
            distributions((sums.transition + smoothing).T, 0.0).T,
            family.reestimated(sums, smoothing),
        )
        return updated, sums.emissions.log_likelihood / sums.emissions.weight

    settled = max(family.settled, SETTLED_GAIN / max(1, all_rows))
    iterations = yield from iterate(
        fit, ask, update, max_iter=most, stopping_rule=change_below(settled)
    )
    return iterations.state, iterations.measures


def gain_of_order(
    fit: MarkovFit, likelihood: float, family: Family, rows: int
) -> Generator[Any, Any, tuple[float, float]]:
    """Ask how probable the rows are without an order, and compare it with a model.

    Parameters
    ----------
    fit : MarkovFit
        Model.
    likelihood : float
        Mean log-likelihood of a row under the model.
    family : Family
        Of the emissions.
    rows : int
        Of the data.

    Returns
    -------
    gain : float
        Log-likelihood of all rows that are read under the model, in nats, less their log-likelihood
        under the same emissions with states that do not depend on the states before them.
    of_chance : float
        Gain below which the Bayesian information criterion prefers rows without an order, which
        have ``(k - 1) ** 2`` parameters less.
    """
    k = fit.n_states
    chain = replace(fit, transition=np.tile(fit.occupancy(), (k, 1))).chain(family.reach)
    boundaries = yield Pass(WITHOUT_ORDER[0], operators_of(chain, rows))
    statistic = SequencePosteriorSums(chain, boundaries, family.out_maps)
    sums = (yield Pass(WITHOUT_ORDER[1], statistic)).emissions
    gain = likelihood * sums.weight - sums.log_likelihood
    return gain, 0.5 * (k - 1) ** 2 * float(np.log(max(sums.weight, 1)))


def operators_of(chain: HiddenChain, rows: int) -> TransferOperators:
    """Return the statistic of the operators of all blocks of some rows."""
    return TransferOperators(chain, most_blocks(rows))
