"""Sequences of rows: the same runs for the same ids, wherever and however they are given."""

from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block_cutting import cut_blocks
from bigtensor.data.rows.row_sequences import names_of_sequences
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import Columns, LazySource
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import DataError, ParameterError

LENGTHS = [7, 1, 20, 2, 10]
ROWS = sum(LENGTHS)
VALUES = np.random.default_rng(3).normal(size=(ROWS, 2)).astype("float32")
NUMBERS = np.repeat([40, 3, 2**40, -5, 7], LENGTHS)
NAMES = np.repeat(["eve", "ann", "zoe", "bob", "cy"], LENGTHS)
STARTS = np.cumsum([0, *LENGTHS])[:-1]


def ids_of(samples: Samples, block_rows: int = 9) -> np.ndarray:
    """Return the id of every row, as blocks show it."""
    found = []
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        stop = offset + source.rows
        if isinstance(source, LazySource):
            values, _, sequence, _ = source.parts(0, source.rows)
            columns = Columns(np.asarray(values), sequence=np.asarray(sequence))
            blocks = cut_blocks(samples.views, iter([columns]), offset, stop, block_rows)
        else:
            blocks = samples.blocks([(offset, stop)], block_rows)
        found += [block.sequence for block in blocks]
    ids = np.concatenate(found)
    assert ids.dtype.kind == "i"
    return ids


def starts_of(samples: Samples) -> np.ndarray:
    ids = ids_of(samples)
    return np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))


def dataset(who: Any) -> xr.Dataset:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES)}, {"feature": ["a", "b"]})
    return data.assign(who=("sample", who))


def store(path: Path, who: Any = NUMBERS, dtype: str = "int64") -> str:
    with SampleStoreWriter(path, ["a", "b"], row_variables={"who": dtype}) as writer:
        writer.append(VALUES, who=who)
    return str(path)


def table(who: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": VALUES[:, 0], "who": who, "b": VALUES[:, 1]})


def observed(who: Any, X: Any = VALUES) -> anndata.AnnData:
    index = [str(row) for row in range(ROWS)]
    return anndata.AnnData(X, obs=pd.DataFrame({"who": who}, index=index))


def opened(kind: str, who: np.ndarray, folder: Path) -> Samples:
    if kind == "array":
        return open_samples(VALUES, sequence=who)
    if kind == "dask":
        return open_samples(da.from_array(VALUES, chunks=(11, 2)), sequence=who)
    if kind == "dask with dask":
        ids = da.from_array(who, chunks=6)
        return open_samples(da.from_array(VALUES, chunks=(11, 2)), sequence=ids)
    if kind == "sparse":
        return open_samples(scipy.sparse.csr_array(VALUES), sequence=who)
    if kind == "table":
        return open_samples(table(who), sequence="who")
    if kind == "dask table":
        return open_samples(dd.from_pandas(table(who), npartitions=3), sequence="who")
    if kind == "Dataset":
        return open_samples(dataset(who), sequence="who")
    if kind == "chunked Dataset":
        return open_samples(dataset(who).chunk(sample=8), sequence="who")
    if kind == "DataArray":
        array = dataset(who).set_coords("who")["X"]
        return open_samples(array, sequence="who")
    if kind == "AnnData":
        return open_samples(observed(who), sequence="who")
    if kind == "sparse AnnData":
        return open_samples(observed(who, scipy.sparse.csr_array(VALUES)), sequence="who")
    path = folder / "rows.h5ad"
    X = scipy.sparse.csr_array(VALUES) if kind == "sparse h5ad" else VALUES
    observed(who, X).write_h5ad(path)
    return open_samples(path, sequence="who")


KINDS = [
    *("array", "dask", "dask with dask", "sparse", "table", "dask table", "Dataset"),
    *("chunked Dataset", "DataArray", "AnnData", "sparse AnnData", "h5ad", "sparse h5ad"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_integers__stay_as_they_are(kind: str, tmp_path: Path) -> None:
    samples = opened(kind, NUMBERS, tmp_path)
    np.testing.assert_array_equal(ids_of(samples), NUMBERS)
    assert names_of_sequences(samples) is None
    assert "who" not in samples.features


@pytest.mark.parametrize("kind", KINDS)
def test_names__become_integers_with_the_same_runs(kind: str, tmp_path: Path) -> None:
    samples = opened(kind, NAMES.astype(object), tmp_path)
    np.testing.assert_array_equal(starts_of(samples), STARTS)
    names = names_of_sequences(samples)
    # only reading all names of a graph would show them
    if kind not in ("dask with dask", "dask table", "chunked Dataset"):
        assert names is not None
        assert [names[code] for code in ids_of(samples)[STARTS]] == list(NAMES[STARTS])


def test_names_in_memory__are_numbered_in_the_order_in_which_they_appear() -> None:
    samples = open_samples(VALUES, sequence=NAMES)
    np.testing.assert_array_equal(ids_of(samples), np.repeat(np.arange(5), LENGTHS))


def test_a_store__is_read_by_the_name_of_its_variable(tmp_path: Path) -> None:
    samples = open_samples(store(tmp_path / "rows.zarr"), sequence="who")
    np.testing.assert_array_equal(ids_of(samples), NUMBERS)
    assert samples.sources[0].read_sequence(6, 9).tolist() == NUMBERS[6:9].tolist()


def test_names_in_a_store__have_a_hash_in_every_task(tmp_path: Path) -> None:
    path = tmp_path / "rows.zarr"
    dataset(NAMES.astype(object)).to_zarr(
        path, encoding={"who": {"chunks": (13,)}}, zarr_format=2, consolidated=True
    )
    samples = open_samples(path, sequence="who")
    np.testing.assert_array_equal(starts_of(samples), STARTS)
    np.testing.assert_array_equal(ids_of(samples, 4), ids_of(samples, 50))


def test_the_fingerprint__tells_sequences_apart(tmp_path: Path) -> None:
    for kind in ("array", "AnnData", "h5ad"):
        one, other = (opened(kind, who, tmp_path).fingerprint() for who in (NUMBERS, NUMBERS[::-1]))
        assert one != other, kind


def test_lengths__are_those_of_consecutive_sequences() -> None:
    samples = open_samples(VALUES, lengths=LENGTHS)
    np.testing.assert_array_equal(ids_of(samples), np.repeat(np.arange(5), LENGTHS))
    lazy = open_samples(da.from_array(VALUES, chunks=(4, 2)), lengths=np.array(LENGTHS))
    np.testing.assert_array_equal(starts_of(lazy), STARTS)


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([10, 31], "41 rows in 2 sequences, .* have 40"),
        ([40, 0], r"lengths is \[40, 0\]; expected"),
        ([39.5, 0.5], "an integer of at least 1"),
        ([[20], [20]], "an integer of at least 1"),
        ([], "adds up to 0 rows|at least 1"),
    ],
)
def test_wrong_lengths__are_refused(lengths: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        open_samples(VALUES, lengths=lengths)


def test_several_tables__are_numbered_one_by_one() -> None:
    first, second = table(NAMES).iloc[:29], table(NAMES).iloc[29:]
    samples = open_samples([first, second], sequence="who")
    assert len(samples.sources) == 2
    numbers = np.repeat([0, 1, 2, 3, 0, 1], [7, 1, 20, 1, 1, 10])
    np.testing.assert_array_equal(ids_of(samples), numbers)
    assert names_of_sequences(samples) is None


def test_what_gives_no_sequence__is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="both say where sequences end"):
        open_samples(VALUES, sequence=NUMBERS, lengths=LENGTHS)
    with pytest.raises(ParameterError, match=r"shape \(39,\); expected \(40,\)"):
        open_samples(VALUES, sequence=NUMBERS[:-1])
    with pytest.raises(DataError, match=r"'whom' .*sequence; .*\['a', 'who"):
        open_samples(table(NUMBERS), sequence="whom")
    with pytest.raises(DataError, match="'whom' along 'sample'; there are who"):
        open_samples(dataset(NUMBERS), sequence="whom")
    with pytest.raises(DataError, match=r"obs of .* has no column 'whom'"):
        open_samples(observed(NUMBERS), sequence="whom")
    with pytest.raises(DataError, match="no variable 'who'"):
        open_samples(VALUES, sequence="who")
    path = store(tmp_path / "rows.zarr")
    with pytest.raises(DataError, match=r"lengths go with .* is a store"):
        open_samples(path, lengths=LENGTHS)
    measured = store(tmp_path / "other.zarr", NUMBERS / 2, "float64")
    with pytest.raises(DataError, match="is float64; ids of sequences"):
        open_samples(measured, sequence="who")
    with pytest.raises(DataError, match="is float64; ids of sequences"):
        open_samples(VALUES, sequence=NUMBERS / 2)
    with pytest.raises(DataError, match=r"row 2 of .* no id, and 3 rows in all"):
        open_samples(VALUES, sequence=["a", "a", None, None, None, *["b"] * 35])


def test_a_table_of_strings__is_coded_where_its_columns_are_objects() -> None:
    events = pd.DataFrame({"who": NAMES, "event": np.tile(["up", "down"], ROWS // 2)}, dtype=object)
    samples = open_samples(events, sequence="who")
    assert samples.categories == {"event": ("down", "up")}
