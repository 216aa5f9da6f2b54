"""Ids that come back after another sequence, exactly and on a sample of many."""

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.sequences.sequence_ids import SequenceIds
from bigtensor.testing import STATISTIC_LAWS, StatisticCase


def rows(ids: np.ndarray | None, count: int = 300) -> Block:
    codes = np.zeros((count if ids is None else len(ids), 1), np.int16)
    return Block(codes, {"symbol": slice(0, 1)}, 0, len(codes), sequence=ids)


def found_in(ids: np.ndarray, most: int = 2048, block_rows: int = 1000):
    statistic, whole = SequenceIds(most), rows(ids)
    state = statistic.init()
    for first in range(0, len(ids), block_rows):
        block = whole.window(first, min(first + block_rows, len(ids)), halo=1)
        statistic.update(state, block, Workspace())
    return statistic.finalize(state)


BLOCKS = {
    "one sequence": rows(None),
    "short sequences": rows(np.repeat(np.arange(60), 5)),
    "ids that come back": rows(np.repeat(np.arange(60) % 23, 5)),
    "rows": rows(np.arange(300)),
}


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("most", [2048, 16])
def test_law(most, kind, law):
    law(StatisticCase(SequenceIds(most), BLOCKS[kind]))


def test_few_ids__are_counted_exactly():
    found = found_in(np.repeat([5, 9, 5, -3, 9, 5, 8], 400))
    assert (found.n_ids, found.returning, found.complete) == (4, 2, True)


def test_equal_ids_of_two_data_sets__are_different_sequences():
    statistic, state = SequenceIds(), SequenceIds().init()
    ids = np.repeat(np.arange(3), 10)
    for start in (0, 30):
        codes = np.zeros((30, 1), np.int16)
        block = Block(codes, {"symbol": slice(0, 1)}, start, 30, sequence=ids, source_start=start)
        statistic.update(state, block, Workspace())
    found = statistic.finalize(state)
    assert (found.n_ids, found.returning) == (6, 0)


def test_many_ids__are_sampled_without_a_false_one():
    rng = np.random.default_rng(0)
    ids = rng.permutation(200_000)
    assert found_in(ids, block_rows=32_768).returning == 0
    # one sequence in ten comes back once
    again = np.concatenate([ids, ids[::10]])
    found = found_in(again, block_rows=32_768)
    assert (found.n_ids, found.complete) == (2048, False)
    assert abs(found.returning / 2048 - 0.1) < 5 * np.sqrt(0.09 / 2048)
