"""Counts of triples against a loop over the rows."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.codes.triple_counts import TripleCounts
from bigtensor.testing.cases import cut_blocks

LENGTHS = [1, 2, 7, 1, 40, 3]


def rows() -> Block:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 4, (sum(LENGTHS), 1)).astype(np.int8)
    # ids come again after other sequences
    ids = np.repeat(np.arange(len(LENGTHS)) % 2, LENGTHS)
    return Block(codes, {"s": slice(0, 1)}, 100, len(codes), rng.random(len(codes)), ids, None)


def counted(blocks: list[Block]) -> tuple[dict, dict, int]:
    statistic = TripleCounts(4)
    state, work = statistic.init(), Workspace()
    for block in blocks:
        statistic.update(state, block, work)
    found = statistic.finalize(state)
    pairs = {
        (int(a), int(b)): float(found.first_pairs[a, b]) for a, b in np.argwhere(found.first_pairs)
    }
    triples = {tuple(map(int, t)): w for t, w in zip(found.codes, found.weight, strict=True)}
    return triples, pairs, found.sequences


@pytest.mark.parametrize("cut", [[0, 54], [0, 1, 2, 3, 10, 11, 12, 54], [*range(55)]])
def test_counts__of_any_cut_are_those_of_a_loop(cut: list[int]) -> None:
    block = replace(rows(), source_start=100)
    codes, weight = block.values[:, 0], block.weight
    triples, pairs = Counter(), Counter()
    start = 0
    for length in LENGTHS:
        for row in range(start, start + length - 2):
            triples[tuple(codes[row : row + 3].tolist())] += weight[row]
        second = codes[start + 1] if length > 1 else -1
        pairs[int(codes[start]) % 5, int(second) % 5] += weight[start]
        start += length
    found_triples, found_pairs, sequences = counted(cut_blocks(block, cut, halo=2))
    assert found_triples == pytest.approx(dict(triples))
    assert found_pairs == pytest.approx(dict(pairs))
    assert sequences == len(LENGTHS)


def test_rows_left_out__break_windows_and_hide_starts() -> None:
    block = replace(rows(), source_start=100)
    kept = np.ones(block.rows, bool)
    # the first row of all, one inside the longest sequence, and its last
    kept[[0, 20, 50]] = False
    whole = counted([block.keep(kept)])
    codes, weight = block.values[:, 0], block.weight
    triples, start = Counter(), 0
    for length in LENGTHS:
        for row in range(start, start + length - 2):
            if kept[row : row + 3].all():
                triples[tuple(codes[row : row + 3].tolist())] += weight[row]
        start += length
    assert whole[0] == pytest.approx(dict(triples))
    # the first start is left out itself, and two follow on rows that are
    assert sum(whole[1].values()) == pytest.approx(weight[[3, 10, 11]].sum())
    # nothing is left of the first sequence
    assert whole[2] == len(LENGTHS) - 1
