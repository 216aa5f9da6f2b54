import numpy as np
import pytest
import zarr

from bigtensor.data.exporters.labels import open_labels
from bigtensor.errors import DataError, StoreReadError
from tests.data.exporters.conftest import write_labels


def test_blocks__are_the_rows_in_order(labels, answers):
    blocks = list(open_labels(labels).blocks(5, 950, block_rows=300))
    assert [(block.start, block.stop) for block in blocks] == [
        (5, 305),
        (305, 605),
        (605, 905),
        (905, 950),
    ]
    np.testing.assert_array_equal(np.concatenate([b.label for b in blocks]), answers[0][5:950])
    np.testing.assert_array_equal(
        np.concatenate([b.probability for b in blocks]), answers[1][5:950]
    )


def test_count_labels__with_and_without_probabilities(labels, tmp_path):
    assert open_labels(labels).count_labels() == 3
    assert open_labels(write_labels(tmp_path / "b.zarr", probabilities=False)).count_labels() == 3


def test_labels__something_else_is_refused(tmp_path):
    with pytest.raises(StoreReadError, match="check the path"):
        open_labels(tmp_path / "none.zarr")
    zarr.create_group(tmp_path / "cells.zarr").create_array("X", shape=(2, 2), dtype="f4")
    with pytest.raises(DataError, match=r"holds data.*'bigtensor predict'"):
        open_labels(tmp_path / "cells.zarr")


def test_labels__a_damaged_chunk_names_its_rows(labels):
    (labels / "label" / "c" / "0").write_bytes(b"short")
    with pytest.raises(StoreReadError, match=r"rows 0 to 999 of .* cannot be read"):
        list(open_labels(labels).blocks())
