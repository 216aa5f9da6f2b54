from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp
from scipy.stats import norm

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_view_densities import MIXTURES, expected_log_joint, rows


def result_of(statistic, block, steps=1):
    """Return the result of a block that is shown in as many parts."""
    state, work = statistic.init(), Workspace()
    for part in np.array_split(np.arange(block.rows), steps):
        at = slice(part[0], part[-1] + 1) if len(part) else slice(0, 0)
        weight = None if block.weight is None else block.weight[at]
        shown = replace(block, values=block.values[at], rows=len(part), weight=weight)
        statistic.update(state, shown, work)
    assert work.nbytes <= statistic.work_nbytes(block.rows)
    return statistic.finalize(state)


@pytest.mark.parametrize("name", list(MIXTURES))
@pytest.mark.parametrize(("n", "steps"), [(1, 1), (500, 3), (9001, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_likelihood__is_the_plain_formula(name, n, steps, weighted):
    weight = default_rng(n).uniform(0, 2, n) if weighted else None
    block = replace(rows(n), weight=weight)
    found = result_of(LogLikelihood(MIXTURES[name]), block, steps)
    of_row = logsumexp(expected_log_joint(MIXTURES[name], block.values), axis=0)
    total = n if weight is None else weight.sum()
    expected = of_row.sum() if weight is None else weight @ of_row
    assert found.log_likelihood == pytest.approx(expected, rel=1e-10)
    assert found.weight == pytest.approx(total, rel=1e-12)
    assert found.rows == n
    assert found.mean == pytest.approx(expected / total, rel=1e-10)


def test_log_likelihood__is_that_of_a_posterior_pass():
    block = replace(rows(3000), weight=default_rng(0).uniform(0, 2, 3000))
    alone = result_of(LogLikelihood(MIXTURES["both"]), block)
    passing = result_of(PosteriorSums(MIXTURES["both"]), block)
    assert alone.log_likelihood == pytest.approx(passing.log_likelihood, rel=1e-13)
    assert alone.weight == passing.weight


def test_log_likelihood__of_normal_densities_is_near_minus_the_entropy():
    """Of a normal density of standard deviation s it is -log(s sqrt(2 pi e)) nats a row."""
    grid, sd = np.linspace(-12, 12, 2049), 1.5
    tables = TabulatedDensities(
        (0,), grid[:1], np.diff(grid)[:1], norm.logpdf(grid, 0, sd)[None, :, None]
    )
    values = sd * default_rng(1).standard_normal((20_000, 1))
    block = Block(values, {"a": slice(0, 1)}, 0, len(values))
    found = result_of(LogLikelihood(MixtureDensities(np.ones(1), tables)), block)
    # the standard error of the mean of 20,000 rows is sqrt(1 / 2 / 20,000)
    assert found.mean == pytest.approx(-np.log(sd * np.sqrt(2 * np.pi * np.e)), abs=0.02)


def test_log_likelihood__zero_rows_have_no_mean():
    found = result_of(LogLikelihood(MIXTURES["tables"]), rows(0))
    assert (found.log_likelihood, found.weight, found.rows) == (0.0, 0.0, 0)
