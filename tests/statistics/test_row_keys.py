import tracemalloc

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.statistics.row_keys import block_keys, keys_at, row_keys


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (0, 1), (3, 90), (4, 8), (5, 6), (101, 200)])
def test_row_keys__do_not_depend_on_where_the_range_starts(start, stop):
    all_keys = row_keys(7, "sample", 0, 200)
    assert row_keys(7, "sample", start, stop).dtype == np.uint64
    np.testing.assert_array_equal(row_keys(7, "sample", start, stop), all_keys[start:stop])


def test_row_keys__are_the_philox_stream_of_seed_and_purpose():
    seed = np.random.SeedSequence(7, spawn_key=tuple(b"sample"))
    stream = np.random.Philox(seed).random_raw(50)
    np.testing.assert_array_equal(row_keys(7, "sample", 0, 50), stream)


def test_row_keys__work_far_from_the_first_row():
    far = 10**12 + 1
    keys = row_keys(7, "sample", far, far + 10)
    np.testing.assert_array_equal(keys[3:], row_keys(7, "sample", far + 3, far + 10))


def test_row_keys__differ_by_seed_and_purpose():
    reference = row_keys(7, "sample", 0, 100)
    for other in (row_keys(8, "sample", 0, 100), row_keys(7, "fold", 0, 100)):
        assert not np.any(other == reference)


def test_row_keys__are_uniform():
    keys = row_keys(0, "sample", 0, 100_000) / 2.0**64
    assert abs(keys.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 100_000)
    counts = np.bincount((keys * 20).astype(int), minlength=20)
    chi_squared = ((counts - 5000) ** 2 / 5000).sum()
    assert chi_squared < 45  # 19 degrees of freedom: exceeded with probability 7e-4


def test_keys_at__are_the_keys_of_the_rows():
    index = np.array([3, 4, 17, 1000])
    np.testing.assert_array_equal(keys_at(1, "fold", index), row_keys(1, "fold", 0, 1001)[index])
    assert keys_at(1, "fold", np.array([], np.int64)).size == 0


def test_keys_at__take_no_memory_for_the_rows_between():
    index = np.array([10**9, 7, 10**12, 8])
    tracemalloc.start()
    keys = keys_at(1, "fold", index)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
    for key, row in zip(keys, index, strict=True):
        assert key == row_keys(1, "fold", int(row), int(row) + 1)[0]


def test_block_keys__follow_the_rows_that_were_kept():
    block = Block(np.zeros((6, 1)), {"a": slice(0, 1)}, 50, 6)
    mask = np.array([True, False, True, True, False, True])
    np.testing.assert_array_equal(
        block_keys(1, "fold", block.keep(mask)), block_keys(1, "fold", block)[mask]
    )
