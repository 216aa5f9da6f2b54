"""Shares and runs of decoded states against runs of the paths themselves."""

from itertools import groupby

import numpy as np
import pytest

from bigtensor.data.opening import open_samples
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.best_path import PathOperators
from bigtensor.statistics.sequences.decoded import DecodedPaths, DecodedSummary
from tests.statistics.sequences.recursions import Chain, coded_sequences

CHAIN = Chain.drawn(3, 5, np.random.default_rng(4))


def decoded(lengths: list[int], **options: object) -> tuple[np.ndarray, DecodedSummary]:
    """Return the path of sequences, and its figures from passes."""
    codes = CHAIN.drawn_codes(lengths, np.random.default_rng(5))
    data = coded_sequences(codes, lengths)
    samples, chain = open_samples(data), CHAIN.hidden()
    with open_runtime(**options) as runtime:
        outputs, _ = evaluate_in_memory(samples, SequenceAnswers(chain), runtime)
        paths = run_pass(samples, Pass("messages", PathOperators(chain, 1000)), runtime)
        statistic = DecodedPaths(chain, paths, len(codes), 7, 50)
        found = run_pass(samples, Pass("decoded", statistic), runtime)
    return outputs["label"], found


def test_runs__are_those_of_the_path_of_every_sequence() -> None:
    lengths = [1, 900, 2, 700, 30]
    path, found = decoded(lengths)
    ended, cut = np.zeros((3, 1000), int), np.zeros((3, 1000), int)
    for sequence in np.split(path, np.cumsum(lengths)[:-1]):
        runs = [(state, len(list(rows))) for state, rows in groupby(sequence)]
        for state, length in runs[:-1]:
            ended[state, length] += 1
        cut[runs[-1]] += 1
    np.testing.assert_array_equal(found.ended[:, :1000], ended)
    np.testing.assert_array_equal(found.cut[:, :1000], cut)
    assert found.ended[:, 1000:].sum() == 0 == found.cut[:, 1000:].sum()


@pytest.mark.slow
def test_shares__are_those_of_the_rows_of_every_bin() -> None:
    path, found = decoded([40_000, 30_000])
    bins = np.arange(70_000) * 7 // 70_000
    expected = [np.bincount(path[bins == place], minlength=3) for place in range(7)]
    np.testing.assert_array_equal(found.counts, expected)
    np.testing.assert_array_equal(found.first_states, path[:50])
    assert found.first_begins.tolist() == [True] + [False] * 49


@pytest.mark.slow  # short sequences are quick
def test_runs__of_a_long_sequence_leave_out_the_first_of_a_block() -> None:
    path, found = decoded([70_000])
    runs = [len(list(rows)) for _, rows in groupby(path)]
    counted = int(found.ended.sum() + found.cut.sum())
    # a run over the end of a block counts once, as cut
    assert len(runs) - 3 <= counted <= len(runs)
    steps = int((found.ended + found.cut).sum(axis=0) @ np.arange(found.ended.shape[1]))
    assert 70_000 - 3 * max(runs) <= steps <= 70_000
    assert 1 <= found.cut.sum() <= 10


def test_survival__counts_cut_runs_as_long_as_they_last() -> None:
    nothing = np.zeros((1, 4), np.int64)
    found = DecodedSummary(
        nothing[:, :1], np.array([[0, 2, 1, 0]]), np.array([[0, 1, 0, 1]]), nothing[0], nothing[0]
    )
    # of four runs whose first step is known to end them or not two end, then one of two
    np.testing.assert_allclose(found.survival(), [[1, 1 / 2, 1 / 4]])
    assert found.mean_run()[0] == pytest.approx((2 * 1 + 2 + 0 + 2) / 3)


def test_dwell_times__of_short_sequences_are_not_too_short() -> None:
    """A third of the runs are cut: a mean of those that ended would be far below."""
    rng, stay = np.random.default_rng(1), 0.9
    ended, cut = np.zeros((1, 11), np.int64), np.zeros((1, 11), np.int64)
    lengths = rng.geometric(1 - stay, 50_000)
    np.add.at(ended[0], lengths[lengths < 10], 1)
    cut[0, 10] = np.count_nonzero(lengths >= 10)
    found = DecodedSummary(ended, ended, cut, ended[0], ended[0] > 0)
    assert found.mean_run()[0] == pytest.approx(10, rel=0.03)
    np.testing.assert_allclose(found.survival()[0, :10], stay ** np.arange(10), atol=0.01)
    assert (ended[0] @ np.arange(11)) / ended.sum() < 5
