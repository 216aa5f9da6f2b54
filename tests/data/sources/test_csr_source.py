"""Sparse rows: damage in files, repeated entries, sizes and what goes with rows in memory."""

import warnings
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.data.sources.csr_source import CsrSource
from bigtensor.engine.plan import PassSize, PlannedProcesses, make_plan
from bigtensor.errors import DataError, FileFormatError, StoreReadError

MATRIX = sp.random(200, 30, 0.2, "csr", np.float32, random_state=1)


def stored(folder: Path) -> tuple[str, Any]:
    """Write AnnData to Zarr; return its address and the group of X, to be damaged."""
    path = folder / "counts.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        anndata.AnnData(MATRIX).write_zarr(path)
    return str(path), zarr.open_group(path / "X", mode="r+")


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("indptr", 50, 10**6, "list of 201 places from 0 to 1,200"),
        ("indptr", 50, 0, "no ascending list"),
        ("indices", 300, 31, "indices|column index"),
        ("indices", 300, -1, "indices|column index"),
    ],
)
def test_damaged__places_are_refused_before_they_are_used(
    tmp_path: Path, name: str, place: int, value: int, words: str
) -> None:
    url, group = stored(tmp_path)
    group[name][place] = value
    source = open_samples(url).sources[0]
    with pytest.raises(StoreReadError, match=f"rows 0 to 199 of 'X/data' in .*{words}"):
        source.read(0, 200)


def test_damaged__shape_is_refused_when_the_store_is_opened(tmp_path: Path) -> None:
    url, group = stored(tmp_path)
    group.attrs["shape"] = [200, 31]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(url)
    with pytest.raises(FileFormatError, match=r"200 rows and 31 columns .*200 obs_names"):
        open_samples(url)


def test_memory__repeated_and_unordered_entries_are_added_up() -> None:
    matrix = sp.csr_array((np.ones(4), [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    source = open_samples(matrix).sources[0]
    read = source.read(0, 2).values
    np.testing.assert_array_equal(read.toarray(), [[1, 0, 2], [0, 1, 0]])
    assert read.nnz == 3
    assert matrix.nnz == 4
    wrong = sp.csr_array((np.ones(1), [0], [0, 1]), shape=(1, 3))
    wrong.indices[0] = 7
    with pytest.raises(ValueError, match=r"indices|column index"):
        open_samples(wrong)


def test_sizes__are_those_of_stored_values(tmp_path: Path) -> None:
    for samples in (open_samples(MATRIX), open_samples(stored(tmp_path)[0])):
        assert samples.row_nbytes == 1200 * 8 // 200 + 8
        plan = make_plan(samples, [PassSize("p", 2, 200, 0, 0)], PlannedProcesses(1, "1GiB"))
        assert plan.read_nbytes == 2 * 200 * samples.row_nbytes
        assert samples.as_dense().row_nbytes == 30 * 4
    held = open_samples(MATRIX).sources[0].held_nbytes
    assert held == 1200 * 8 + 201 * 4


def test_fingerprint__and_stamp_follow_a_change(tmp_path: Path) -> None:
    url, group = stored(tmp_path)
    before = open_samples(url)
    assert before.fingerprint() == open_samples(url).fingerprint()
    prints = before.fingerprint(), before.stamp()
    group["data"][0] = 5.0
    assert open_samples(url).fingerprint() != prints[0]
    assert before.stamp() != prints[1]
    ours = open_samples(MATRIX).fingerprint()
    assert ours == open_samples(MATRIX.copy()).fingerprint()
    assert ours != open_samples(MATRIX, weight=np.ones(200)).fingerprint()


def test_sparse_and_dense_rows__are_not_read_as_one() -> None:
    with pytest.raises(DataError, match="either only sparse rows or none"):
        open_samples([MATRIX, MATRIX.toarray()])
    both = open_samples([MATRIX, MATRIX[:50]])
    assert (both.kind, both.rows) == ("counts", 250)
    assert isinstance(both.sources[1], CsrSource)


def malformed(kind: str, form: str) -> Any:
    """Return a matrix whose parts contradict each other, as only edits of them make one."""
    matrix = sp.random(40, 30, 0.2, form, np.float32, random_state=1)
    if kind == "descending pointers":
        matrix.indptr[3] = 10**6
    elif kind == "last pointer of zero":
        matrix.indptr[1:] = 0
        matrix.indptr[5] = 2**30
    elif kind == "index too large":
        matrix.indices[7] = 10**6
    elif kind == "negative index":
        matrix.indices[7] = -5
    elif kind == "few pointers":
        matrix.indptr = matrix.indptr[:-3]
    elif kind == "few indices":
        matrix.indices = matrix.indices[:-3]
    else:
        matrix.data = matrix.data[:-3]
    return matrix


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    "kind",
    [
        "descending pointers",
        "last pointer of zero",
        "index too large",
        "negative index",
        "few pointers",
        "few indices",
        "few values",
    ],
)
def test_malformed__matrix_in_memory_is_a_data_error(kind: str, form: str) -> None:
    with pytest.raises(DataError, match=r"sparse matrix of shape .* is damaged"):
        open_samples(malformed(kind, form))


@pytest.mark.parametrize(("part", "value"), [("row", 10**6), ("col", -1)])
def test_malformed__coordinates_are_a_data_error(part: str, value: int) -> None:
    matrix = sp.random(40, 30, 0.2, "coo", np.float32, random_state=1)
    getattr(matrix, part)[3] = value
    with pytest.raises(DataError, match=r"sparse matrix of shape .* is damaged"):
        open_samples(matrix)
