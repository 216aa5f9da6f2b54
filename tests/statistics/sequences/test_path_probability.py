"""Log probability of the best paths of sequences, in any cut of the rows."""

import numpy as np
import pytest

from bigtensor.data.opening import open_samples
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.best_path import PathOperators
from bigtensor.statistics.sequences.path_probability import PathProbability
from tests.statistics.sequences.recursions import Chain, best_log_probability, coded_sequences, runs

CHAIN = Chain.drawn(3, 5, np.random.default_rng(4))


@pytest.mark.parametrize("chunk", [37, 400])
@pytest.mark.parametrize("lengths", [[400], [1, 150, 2, 200, 47]])
def test_best_paths__have_the_probability_of_the_recursion(lengths, chunk):
    codes = CHAIN.drawn_codes(lengths, np.random.default_rng(5))
    data = coded_sequences(codes, lengths)
    samples, chain = open_samples(data.chunk(sample=chunk)), CHAIN.hidden()
    with open_runtime() as runtime:
        paths = run_pass(samples, Pass("messages", PathOperators(chain, 400)), runtime)
        found = run_pass(samples, Pass("path", PathProbability(chain, paths)), runtime)
    expected = sum(best_log_probability(CHAIN, codes[rows]) for rows in runs(lengths))
    assert found == pytest.approx(expected, rel=1e-9)
