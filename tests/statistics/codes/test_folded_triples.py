"""Counts of triples by fold against counts of all rows, and where folds are cut."""

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.codes.folded_triples import (
    FoldedTriples,
    FoldedTriplesResult,
    write_folds,
)
from bigtensor.statistics.codes.triple_counts import TripleCounts
from bigtensor.statistics.in_memory import sum_in_memory


def rows(lengths: list[int], *, weighted: bool = False) -> Block:
    rng = np.random.default_rng(3)
    codes = rng.integers(-1, 4, (sum(lengths), 1)).astype(np.int8)
    ids = np.repeat(np.arange(len(lengths)), lengths)
    weight = rng.random(len(codes)) if weighted else None
    return Block(codes, {"s": slice(0, 1)}, 0, len(codes), weight, ids)


def tables(found: FoldedTriplesResult) -> np.ndarray:
    return np.array([found.counts_of_fold(fold).weight.sum() for fold in range(len(found.tables))])


def test_folds__add_up_to_all_windows() -> None:
    block = rows([40, 1, 30, 2, 90], weighted=True)
    found = sum_in_memory(FoldedTriples(4, folds=3, stretch=10), block)
    whole = sum_in_memory(TripleCounts(4), block)
    np.testing.assert_array_equal(found.total.codes, whole.codes)
    np.testing.assert_allclose(found.total.weight, whole.weight, rtol=1e-12)
    np.testing.assert_array_equal(found.total.first_pairs, whole.first_pairs)
    assert (found.total.rows, found.total.sequences) == (163, 5)
    for fold in range(3):
        without = found.without(fold).weight.sum()
        assert without + found.counts_of_fold(fold).weight.sum() == pytest.approx(
            whole.weight.sum()
        )
    assert (tables(found) > 0).all()


def test_short_sequences__lie_in_one_fold_each() -> None:
    """Each sequence has a category of its own, which one table alone may hold."""
    lengths = [20] * 6
    codes = np.repeat(np.arange(6), lengths)[:, None].astype(np.int8)
    block = Block(codes, {"s": slice(0, 1)}, 0, 120, sequence=codes[:, 0].astype(np.int64))
    found = sum_in_memory(FoldedTriples(6, folds=3, stretch=120), block)
    cells = found.tables.reshape(3, 7, 7, 7)[:, range(6), range(6), range(6)]
    assert (np.count_nonzero(cells, axis=0) == 1).all()
    np.testing.assert_array_equal(cells.sum(axis=0), 18)


def test_one_long_sequence__is_cut_into_stretches() -> None:
    index = np.arange(100_000)
    fold = np.empty(len(index), np.int64)
    write_folds(np.zeros(len(index), np.int64), index, 100, np.uint64(0), 5, fold)
    of_stretch = fold.reshape(1000, 100)
    assert (of_stretch == of_stretch[:, :1]).all()
    # 1,000 stretches fall on five folds with a standard deviation of 12.6
    assert np.abs(np.bincount(of_stretch[:, 0], minlength=5) - 200).max() < 50
    other = np.empty(len(index), np.int64)
    write_folds(np.zeros(len(index), np.int64), index, 100, np.uint64(1), 5, other)
    assert 0.7 < np.mean(fold != other) < 0.9


@pytest.mark.parametrize(("folds", "stretch"), [(1, 10), (5, 0)])
def test_folds_out_of_range__are_refused(folds: int, stretch: int) -> None:
    with pytest.raises(ParameterError, match="at least two folds"):
        FoldedTriples(4, folds, stretch)
