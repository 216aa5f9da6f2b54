"""Counts that a type cannot hold: they are widened or refused, and never changed."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix, save_npz

from bigtensor import open_samples
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.values.checked_casts import checked_cast, first_outside
from bigtensor.errors import DataError, FileFormatWarning


def stored(path, folder):
    import_counts(path, folder / "out.zarr")
    return anndata.io.read_zarr(folder / "out.zarr").X


def docword(folder, *entries, words=3):
    path = folder / "docword.x.txt"
    path.write_text(f"2\n{words}\n{len(entries)}\n" + "".join(f"{entry}\n" for entry in entries))
    return path


def bag(folder, data, indices=(0, 2), indptr=(0, 1, 2), shape=(2, 3)):
    path = folder / "bag.npz"
    np.savez(path, data=data, indices=np.array(indices), indptr=np.array(indptr), shape=shape)
    return path


def long_table(folder, ending, counts):
    path = folder / f"long.{ending}"
    table = pd.DataFrame({"document": ["a", "b"], "word": ["x", "y"], "count": counts})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    return path


def market(folder, count):
    path = folder / "x.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 {count}\n")
    return path


TOO_LARGE = {
    "docword 3e9": lambda f: docword(f, "1 1 3000000000"),
    "docword 1e308": lambda f: docword(f, "1 1 1e308"),
    "docword 2e9 + 2e9": lambda f: docword(f, "1 1 2000000000", "1 1 2000000000"),
    "market": lambda f: market(f, 2**31),
    "npz int64": lambda f: bag(f, np.array([2**40, 1])),
    "npz uint64": lambda f: bag(f, np.array([2**63 + 1, 1], np.uint64)),
    "npz float64": lambda f: bag(f, np.array([1e39, 0.5])),
    "npz sum of int64": lambda f: bag(f, np.full(4, 2**62), [1, 1, 1, 1], [0, 4, 4]),
    "long csv": lambda f: long_table(f, "csv", [2**40, 1]),
    "long parquet": lambda f: long_table(f, "parquet", [2**31, 1]),
}
NOT_FINITE = {
    "docword nan": lambda f: docword(f, "1 1 nan"),
    "docword inf": lambda f: docword(f, "1 1 inf"),
    "market": lambda f: market(f, "1e400"),
    "npz": lambda f: bag(f, np.array([np.nan, 1.0])),
    "npz half": lambda f: bag(f, np.array([np.inf, 0.5])),
    "long": lambda f: long_table(f, "parquet", [np.inf, 1.0]),
}


@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_counts_out_of_range__are_refused(tmp_path, make):
    with pytest.raises(DataError, match=r"holds (whole )?numbers"):
        stored(make(tmp_path), tmp_path)
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize("make", NOT_FINITE.values(), ids=NOT_FINITE)
def test_counts_that_are_not_finite__are_refused(tmp_path, make):
    with pytest.raises(DataError, match=r"count (nan|inf).*not finite"):
        stored(make(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("dtype", "parts"),
    [("u1", (200, 100)), ("i1", (100, 100)), ("?", (1, 1)), ("i8", (5, 2**31 - 9))],
)
def test_repeated_entries__are_added_up_in_a_wide_type(tmp_path, dtype, parts):
    data = np.array([*parts, 1], dtype)
    path = bag(tmp_path, data, [1, 1, 2], [0, 2, 3])
    assert stored(path, tmp_path).toarray().tolist() == [[0, sum(parts), 0], [0, 0, 1]]
    matrix = csr_matrix((data, [1, 1, 2], [0, 2, 3]), shape=(2, 3))
    for given in (matrix, matrix.tocsc(), coo_matrix((data, ([0, 0, 1], [1, 1, 2])), (2, 3))):
        (block,) = open_samples(given).blocks([(0, 2)], 2)
        assert block.values.toarray().tolist() == [[0, sum(parts), 0], [0, 0, 1]]
    assert matrix.nnz == 3


def test_repeated_entries_of_a_file__are_added_up_in_a_wide_type(tmp_path):
    data = np.array([200, 100, 1], np.uint8)
    save_npz(tmp_path / "s.npz", csr_matrix((data, [1, 1, 2], [0, 2, 3]), shape=(2, 3)))
    assert stored(tmp_path / "s.npz", tmp_path).toarray().tolist() == [[0, 300, 0], [0, 0, 1]]
    sparse = csr_matrix((data, [1, 1, 2], [0, 2, 3]), shape=(2, 3))
    for ending, write in (("zarr", "write_zarr"), ("h5ad", "write_h5ad")):
        path = tmp_path / f"own.{ending}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(anndata.AnnData(sparse), write)(path)
        (block,) = open_samples(path).blocks([(0, 2)], 2)
        assert block.values.toarray()[0].tolist() == [0, 300, 0]
        import_files(path, tmp_path / f"dense.{ending}.zarr")
        (block,) = open_samples(tmp_path / f"dense.{ending}.zarr").blocks([(0, 2)], 2)
        assert block.values[0].tolist() == [0, 300, 0]


def test_writers__refuse_what_their_type_does_not_hold(tmp_path):
    with pytest.raises(DataError, match="1,099,511,627,776"):  # noqa: SIM117 - the writer's own with
        with CountStoreWriter(tmp_path / "counts.zarr", ["a"]) as counts:
            counts.append(csr_array(np.array([[2**40]])))
    with pytest.raises(DataError, match="300"):  # noqa: SIM117
        with SampleStoreWriter(tmp_path / "codes.zarr", ["a"], dtype="int8") as codes:
            codes.append(np.array([[300]]))
    with pytest.raises(DataError, match="1e"):  # noqa: SIM117
        with SampleStoreWriter(tmp_path / "values.zarr", ["a"], dtype="float32") as values:
            values.append(np.array([[1e39]]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "dtype", "held"),
    [
        (2**31 - 1, "int32", True),
        (2**31, "int32", False),
        (-(2**31), "int32", True),
        (2.0**63, "int64", False),
        (2.0**63 - 1024, "int64", True),
        (0.5, "int32", False),
        (np.nan, "int32", False),
        (np.nan, "float32", True),
        (np.inf, "float32", True),
        (1e39, "float32", False),
        (True, "int8", True),
        (np.uint64(2**64 - 1), "int64", False),
        (-1, "uint8", False),
    ],
)
def test_cast__holds_or_refuses(value, dtype, held):
    values = np.array([value])
    assert (first_outside(values, dtype) is None) == held
    if held:
        assert np.array_equal(
            checked_cast(values, dtype, "x"), values.astype(dtype), equal_nan=True
        )
    else:
        with pytest.raises(DataError):
            checked_cast(values, dtype, "x")


def test_integers_that_float32_rounds__are_named_in_a_warning(tmp_path):
    table = pd.DataFrame({"a": [1, np.nan], "id": [2**24 + 1, 5], "b": [2**24, 2**25]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        with pytest.warns(FileFormatWarning, match="'id'.*16,777,217.*dtype='float64'") as caught:
            summary = import_files(tmp_path / name, tmp_path / f"{name}.zarr")
        assert len(caught) == 1
        assert len(summary.warnings) == 1
        exact = import_files(tmp_path / name, tmp_path / f"{name}.64.zarr", dtype="float64")
        assert exact.warnings == ()
        (block,) = open_samples(tmp_path / f"{name}.64.zarr").blocks([(0, 2)], 2)
        assert block.values[0].tolist() == [1, 2**24 + 1, 2**24]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_integers_that_float64_rounds__are_named_in_a_warning(tmp_path, name, dtype):
    table = pd.DataFrame({"a": [1, np.nan], "id": [5, 2**53 + 1], "b": [2**24, 2**25]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(FileFormatWarning, match="row 1 .*'id'.*label") as caught:
        summary = import_files(tmp_path / name, tmp_path / "t.zarr", dtype=dtype)
    assert len(caught) == len(summary.warnings) == 1
    assert "dtype" not in summary.warnings[0]


def test_integers_that_both_types_round__are_not_told_to_use_the_larger_one(tmp_path):
    pd.DataFrame({"id": [2**24 + 1, 2**53 + 1]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(FileFormatWarning, match="row 0 .*'id'.*16,777,217.*label"):
        (note,) = import_files(tmp_path / "t.csv", tmp_path / "t.zarr", dtype="float32").warnings
    assert "dtype" not in note
