"""Counts of triples by fold against counts of all rows, and where folds are cut."""

from dataclasses import replace

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.codes.folded_triples import FoldedTriples, FoldedTriplesResult
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


def test_ids_of_sequences__are_names_and_change_no_fold() -> None:
    block = rows([20] * 30)
    assert block.sequence is not None
    statistic = FoldedTriples(4, folds=3, stretch=12)
    renamed = replace(block, sequence=1_000 - 7 * block.sequence)
    tables_of_both = [sum_in_memory(statistic, one).tables for one in (block, renamed)]
    np.testing.assert_array_equal(*tables_of_both)


def test_a_stretch__lies_in_one_fold() -> None:
    """Each stretch has a category of its own, which one table alone may hold."""
    stretches, folds = 50, 5
    codes = np.repeat(np.arange(stretches), 20)[:, None].astype(np.int8)
    block = Block(codes, {"s": slice(0, 1)}, 0, len(codes))
    chosen = []
    for seed in (0, 1):
        statistic = FoldedTriples(stretches, folds, stretch=20, random_state=seed)
        cells = sum_in_memory(statistic, block).tables.reshape(folds, *[stretches + 1] * 3)
        of_stretch = cells[:, range(stretches), range(stretches), range(stretches)]
        assert (np.count_nonzero(of_stretch, axis=0) == 1).all()
        assert (np.bincount(of_stretch.argmax(axis=0), minlength=folds) > 2).all()
        chosen.append(of_stretch.argmax(axis=0))
    assert 0.6 < np.mean(chosen[0] != chosen[1]) < 1


@pytest.mark.parametrize(("folds", "stretch"), [(1, 10), (5, 0)])
def test_folds_out_of_range__are_refused(folds: int, stretch: int) -> None:
    with pytest.raises(ParameterError, match="at least two folds"):
        FoldedTriples(4, folds, stretch)
