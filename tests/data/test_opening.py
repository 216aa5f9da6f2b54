"""Opening: every kind of input becomes the same rows, and what cannot be used is refused."""

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr
import zarr
from dask.callbacks import Callback

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import inspection
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import ArraySource, LazySource, ZarrSource
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.stores.layout import SampleStoreWriter, chunk_rows
from bigtensor.data.values.matrices import DATES_REMEDY, feature_names
from bigtensor.errors import DataError, LayoutError, LayoutWarning, StoreReadError, ViewError
from tests.engine.sums import write_store

ROWS = 60
VALUES = np.random.default_rng(3).normal(size=(ROWS, 3)).astype("float32")
WEIGHT = np.arange(1.0, ROWS + 1)
NAMES = ["a", "b", "c"]


def read(samples: Samples) -> np.ndarray:
    """Return all rows, source by source."""
    parts = []
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        blocks = samples.blocks([(offset, offset + source.rows)], 17)
        parts.extend(np.array(block.values) for block in blocks)
    return np.concatenate(parts)


def dataset(sample: str = "sample", feature: str = "feature") -> xr.Dataset:
    return xr.Dataset({"X": ((sample, feature), VALUES)}, {feature: NAMES})


@contextmanager
def nothing_computed() -> Iterator[None]:
    """Fail when a graph is computed."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a graph was computed")

    with Callback(start=refuse), dask.config.set(scheduler="threads"):
        yield


def own_store(path: Path, rows: int = ROWS) -> str:
    with SampleStoreWriter(path, NAMES) as writer:
        writer.append(VALUES[:rows])
    return str(path)


def test_open__reads_the_packages_own_layout(tmp_path: Path) -> None:
    samples = open_samples(own_store(tmp_path / "own.zarr"))
    (source,) = samples.sources
    assert isinstance(source, ZarrSource)
    assert samples.features == tuple(NAMES)
    assert samples.dtype == np.float32
    np.testing.assert_array_equal(read(samples), VALUES)


@pytest.mark.parametrize("as_path", [True, False])
def test_open__takes_a_path_as_string_or_path(tmp_path: Path, as_path: bool) -> None:
    path = own_store(tmp_path / "own.zarr")
    np.testing.assert_array_equal(read(open_samples(Path(path) if as_path else path)), VALUES)


def test_open__reads_an_fsspec_url() -> None:
    url = write_store("memory://opening-test.zarr", VALUES, chunks=(20, 3))
    samples = open_samples(url)
    np.testing.assert_array_equal(read(samples), VALUES)
    assert samples.stamp() == open_samples(url).stamp()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_open__reads_what_xarray_wrote(tmp_path: Path, zarr_format: int) -> None:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.to_zarr(tmp_path / "x.zarr", zarr_format=zarr_format)
    np.testing.assert_array_equal(read(open_samples(tmp_path / "x.zarr")), VALUES)


def test_open__reads_scaled_and_masked_values_as_xarray_shows_them(tmp_path: Path) -> None:
    data = xr.Dataset({"X": (("sample", "feature"), np.round(VALUES, 2).astype("f8"))})
    encodings = [
        {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999},
        {"_FillValue": float(np.round(VALUES, 2).astype("f8")[5, 1])},
    ]
    for number, encoding in enumerate(encodings):
        path = tmp_path / f"{number}.zarr"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data.to_zarr(path, encoding={"X": encoding})
        expected = xr.open_zarr(path)["X"].to_numpy()
        np.testing.assert_array_equal(read(open_samples(path)), expected)
    assert np.isnan(expected[5, 1])


def test_open__refuses_values_of_more_dimensions_beside_another_table() -> None:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES), "label": ("sample", np.zeros(ROWS))})
    with pytest.raises(LayoutError, match=r"'X' .* got .*X has 3 dimensions"):
        open_samples(data.expand_dims(time=[0]))


@pytest.mark.filterwarnings("ignore")
def test_open__decodes_weights_and_sequences_as_xarray_shows_them(tmp_path: Path) -> None:
    weight, sequence = np.arange(ROWS) / 100, np.arange(ROWS) // 7 * 0.5
    table = {"X": (("sample", "feature"), VALUES), "weight": ("sample", weight)}
    data = xr.Dataset({**table, "sequence": ("sample", sequence)})
    packed = {"weight": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9}}
    offset = {"sequence": {"dtype": "int32", "scale_factor": 0.5, "add_offset": 3.0}}
    for number, encoding in enumerate([packed, offset, packed | offset]):
        path = tmp_path / f"{number}.zarr"
        data.to_zarr(path, encoding=encoding)
        columns = open_samples(path).sources[0].read(0, ROWS)
        np.testing.assert_array_equal(columns.weight, xr.open_zarr(path)["weight"])
        np.testing.assert_array_equal(columns.sequence, sequence)


@pytest.mark.filterwarnings("ignore")
def test_open__takes_names_of_sequences_with_a_marker(tmp_path: Path) -> None:
    names = np.repeat(["first", "second"], [20, ROWS - 20]).astype(object)
    table = {"X": (("sample", "feature"), VALUES), "sequence": ("sample", names)}
    encoding = {"sequence": {"_FillValue": "none"}}
    xr.Dataset(table).to_zarr(tmp_path / "x.zarr", encoding=encoding, zarr_format=2)
    sequence = open_samples(tmp_path / "x.zarr").sources[0].read(0, ROWS).sequence
    assert sequence is not None
    assert sequence.tolist() == names.tolist()


@pytest.mark.parametrize("variable", ["X", "weight"])
def test_read__names_the_store_whose_scaled_values_are_damaged(
    tmp_path: Path, variable: str
) -> None:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES), "weight": ("sample", np.ones(ROWS))})
    path = tmp_path / "x.zarr"
    encoding = {"X": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999}}
    data.to_zarr(path, encoding=encoding, zarr_format=3, consolidated=False)
    for chunk in (path / variable / "c").rglob("0"):
        if chunk.is_file():
            chunk.write_bytes(b"\0" + chunk.read_bytes()[1:])
    samples = open_samples(path)
    with pytest.raises(StoreReadError, match=rf"rows 0 to 4 of {path} cannot be read"):
        samples.sources[0].read(0, 5)


@pytest.mark.parametrize("lazy", [True, False])
def test_open__takes_a_dataset_or_data_array_with_other_dims(lazy: bool) -> None:
    data = dataset("cell", "channel")
    data = data.chunk({"cell": 13}) if lazy else data
    for given in (data, data["X"], data["X"].transpose("channel", "cell")):
        with nothing_computed():
            samples = open_samples(given, sample_dim="cell")
        assert isinstance(samples.sources[0], LazySource if lazy else XarraySource)
        assert samples.features == tuple(NAMES)
        np.testing.assert_array_equal(read(samples), VALUES)


def test_open__takes_dask_pandas_and_lists() -> None:
    lazy = da.from_array(VALUES, chunks=(7, 3))
    with nothing_computed():
        samples = open_samples(lazy, weight=da.ones(ROWS))
    np.testing.assert_array_equal(read(samples), VALUES)
    frame = open_samples(pd.DataFrame(VALUES, columns=NAMES))
    assert frame.features == tuple(NAMES)
    np.testing.assert_array_equal(read(frame), VALUES)
    rows = open_samples(VALUES.astype("f8").tolist())
    np.testing.assert_array_equal(read(rows), VALUES)
    assert isinstance(rows.sources[0], ArraySource)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_open__makes_sparse_lazy_chunks_dense(kind: Any) -> None:
    lazy = da.from_array(VALUES, chunks=(7, 3)).map_blocks(lambda chunk: kind(chunk))
    source = open_samples(lazy).sources[0]
    assert isinstance(source, LazySource)
    np.testing.assert_array_equal(source.read(3, 20).values, VALUES[3:20])


def test_open__takes_a_dask_data_frame_by_its_names() -> None:
    frame = dd.from_pandas(pd.DataFrame(VALUES, columns=NAMES), npartitions=3)
    samples = open_samples(frame)
    assert isinstance(samples.sources[0], LazySource)
    assert samples.features == tuple(NAMES)
    np.testing.assert_array_equal(read(samples), VALUES)


def test_open__takes_variables_with_chunks_of_their_own() -> None:
    several = dataset().assign(weight=("sample", WEIGHT), sequence=("sample", np.arange(ROWS)))
    lazy = several.chunk(sample=7)
    for name, rows in {"weight": 11, "sequence": 60}.items():
        lazy[name] = several[name].chunk(sample=rows)
    samples = open_samples(lazy)
    columns = samples.sources[0].read(5, 40)
    np.testing.assert_array_equal(columns.values, VALUES[5:40])
    np.testing.assert_array_equal(columns.weight, WEIGHT[5:40])
    np.testing.assert_array_equal(columns.sequence, np.arange(5, 40))


@pytest.mark.parametrize("dtype", ["Float64", "Float32", "double[pyarrow]", object])
def test_open__takes_nullable_columns(dtype: str) -> None:
    frame = pd.DataFrame(VALUES.astype("f8"), columns=NAMES).astype(dtype)
    frame.iloc[3, 1] = None
    expected = VALUES.astype("f8")
    expected[3, 1] = np.nan
    np.testing.assert_allclose(read(open_samples(frame)), expected, rtol=1e-7)


@pytest.mark.parametrize("kind", ["Table", "RecordBatch"])
def test_open__takes_tables_of_pyarrow(kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(VALUES, columns=NAMES)
    frame.iloc[3, 1] = None
    table = getattr(pyarrow, kind).from_pandas(frame)
    samples = open_samples(table)
    assert samples.features == tuple(NAMES)
    np.testing.assert_array_equal(read(samples), frame.to_numpy())
    assert open_samples([table, table]).rows == 2 * ROWS
    names = pyarrow.table({"a": ["x", "y"], "b": ["p", None]})
    assert open_samples(names).categories == {"a": ("x", "y"), "b": ("p",)}


DATES = pd.date_range("2020", periods=3)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": DATES, "b": DATES}),
        pd.DataFrame({"a": DATES, "b": 1.0}),
        pd.DataFrame({"a": DATES - DATES[0], "b": 1.0}),
        xr.DataArray(np.stack([DATES, DATES], 1), dims=("sample", "feature")),
    ],
)
def test_open__dates_are_refused_with_a_remedy(data: pd.DataFrame | xr.DataArray) -> None:
    with pytest.raises(DataError, match="days since the first one"):
        open_samples(data)


def test_remedy_for_dates__is_right() -> None:
    for times in (DATES, DATES.to_numpy(), xr.DataArray(DATES), DATES - DATES[0]):
        days = eval(DATES_REMEDY.partition(": ")[2], {"numpy": np, "t": times})
        assert [*np.asarray(days)] == [0, 1, 2]


@pytest.mark.parametrize("data", [{"a": [1.0], "b": [2.0]}, None])
def test_open__names_the_type_of_what_is_no_table(data: Any) -> None:
    with pytest.raises(LayoutError, match=f"of the type {type(data).__name__}"):
        open_samples(data)


def test_open__joins_several_data_sets_in_their_order(tmp_path: Path) -> None:
    paths = [own_store(tmp_path / "1.zarr", 20), own_store(tmp_path / "2.zarr", 50)]
    samples = open_samples(paths)
    assert samples.rows == 70
    np.testing.assert_array_equal(read(samples), np.concatenate([VALUES[:20], VALUES[:50]]))
    again = open_samples([open_samples(paths[0]), paths[1]])
    np.testing.assert_array_equal(read(again), read(samples))
    assert "and 1 more (70 rows in all)" in samples.describe()


def test_open__takes_samples_with_other_views_and_weights() -> None:
    samples = open_samples(VALUES)
    other = open_samples(samples, {"u": [2], "v": [0]}, weight=WEIGHT)
    np.testing.assert_array_equal(read(other), VALUES[:, [2, 0]])
    assert next(iter(other.blocks([(0, 9)], 9))).total_weight() == WEIGHT[:9].sum()


def test_open__keeps_the_common_scale_of_an_import_beside_weights() -> None:
    data = dataset().assign_attrs(transform={"name": "arcsinh", "untransformed": ["a"]})
    samples = open_samples(data, weight=WEIGHT)
    assert samples.untransformed == ("a",)
    assert samples.has_common_units


@pytest.mark.parametrize("kind", ["array", "data set", "lazy"])
@pytest.mark.parametrize("weights", ["list", "labelled", "lazy"])
def test_open__attaches_weights_of_any_kind(kind: str, weights: str) -> None:
    data = {"array": VALUES, "data set": dataset(), "lazy": dataset().chunk({"sample": 9})}[kind]
    weight: Any = WEIGHT.astype("int64")
    if weights == "list":
        weight = weight.tolist()
    elif weights == "labelled":
        weight = xr.DataArray(weight, dims="sample")
    else:
        weight = da.from_array(weight, chunks=11)
    samples = open_samples(data, weight=weight)
    block = next(iter(samples.blocks([(10, 30)], 20)))
    assert type(block.weight) is np.ndarray
    np.testing.assert_array_equal(block.weight, WEIGHT[10:30])


@pytest.mark.parametrize("name", ["weight", "groups", "sequence"])
@pytest.mark.parametrize("lazy", [False, True])
def test_open__refuses_row_variables_with_other_labels(name: str, lazy: bool) -> None:
    data = dataset("time").assign_coords(time=np.arange(ROWS))["X"]
    data = data.chunk(time=9) if lazy else data
    values = xr.DataArray(np.arange(1, ROWS + 1), {"time": np.arange(ROWS)})
    assert open_samples(data, sample_dim="time", **{name: values}).rows == ROWS
    assert open_samples(data, sample_dim="time", **{name: values[::-1].to_numpy()}).rows == ROWS
    with pytest.raises(DataError, match="has other labels along 'time'"):
        open_samples(data, sample_dim="time", **{name: values[::-1]})


def test_open__takes_stacked_rows_whose_coordinates_have_other_chunks() -> None:
    cube = xr.DataArray(
        da.from_array(VALUES.reshape(10, 6, 3), chunks=(4, 3, 3)), dims=("time", "place", "feature")
    ).assign_coords(altitude=("place", da.arange(6, chunks=2)))
    rows = cube.stack(sample=("time", "place"))
    np.testing.assert_array_equal(read(open_samples(rows)), VALUES)


def test_open__uses_stored_weights(tmp_path: Path) -> None:
    path = write_store(tmp_path / "w.zarr", VALUES, variables={"weight": WEIGHT})
    samples = open_samples(path)
    assert samples.has_weight
    np.testing.assert_array_equal(next(iter(samples.blocks([(0, 9)], 9))).weight, WEIGHT[:9])


REFUSED = {
    "no store": (lambda p: p / "none.zarr", {}, StoreReadError, "there is no store at"),
    "not Zarr": (
        lambda p: (p / "t.txt").write_text("x") and p / "t.txt",
        {},
        StoreReadError,
        "t.txt is a file; a Zarr store is a folder",
    ),
    "no dims": (
        lambda p: zarr.create_array(str(p / "n.zarr"), shape=(3, 2), dtype="f4") and p / "n.zarr",
        {},
        StoreReadError,
        "n.zarr is a Zarr array",
    ),
    "other dim": (lambda _: dataset("cell"), {}, LayoutError, "has the sample dimension 'sample'"),
    "array dim": (lambda _: dataset("cell")["X"], {}, LayoutError, "with sample_dim"),
    "two candidates": (
        lambda _: xr.Dataset(dict.fromkeys("pq", (("sample", "feature"), VALUES))),
        {},
        LayoutError,
        "['p', 'q']; rename the one to use to 'X'",
    ),
    "1-d": (lambda _: VALUES[0], {}, LayoutError, "expected 2D array (rows, features), got 1D"),
    "3-d lazy": (lambda _: da.zeros((2, 2, 2)), {}, LayoutError, "expected rows and features"),
    "3-d labelled": (
        lambda _: xr.DataArray(np.zeros((2, 2, 2)), dims=("sample", "u", "v")),
        {},
        LayoutError,
        ".stack(feature=['u', 'v'])",
    ),
    "3-d variable": (
        lambda _: xr.Dataset({"image": (("sample", "u", "v"), np.zeros((2, 2, 2)))}),
        {},
        LayoutError,
        "image has 3 dimensions",
    ),
    "1-d variables": (
        lambda _: xr.Dataset({"a": ("sample", VALUES[:, 0]), "b": ("sample", VALUES[:, 1])}),
        {},
        LayoutError,
        ".to_dataarray('feature')",
    ),
    "complex variable": (
        lambda _: dataset().astype("complex64"),
        {},
        LayoutError,
        "X holds complex64",
    ),
    "times": (
        lambda _: dataset().astype("datetime64[ns]"),
        {},
        LayoutError,
        "X holds datetime64[ns]",
    ),
    "unknown chunks": (
        lambda _: (lambda a: a[a[:, 0] > 0])(da.from_array(VALUES, chunks=(7, 3))),
        {},
        LayoutError,
        "call .compute_chunk_sizes() first",
    ),
    "split features": (
        lambda _: da.from_array(VALUES, chunks=(7, 2)),
        {},
        LayoutError,
        "use .rechunk({1: -1})",
    ),
    "split labelled": (
        lambda _: dataset("sample", "marker").chunk({"marker": 1}),
        {},
        LayoutError,
        "use .chunk({'marker': -1})",
    ),
    "empty": (lambda _: VALUES[:0], {}, DataError, "0 sample(s)"),
    "empty lazy": (lambda _: da.zeros((0, 3)), {}, DataError, "0 sample(s)"),
    "no features": (lambda _: VALUES[:, :0], {}, DataError, "0 feature(s)"),
    "long": (lambda _: VALUES.astype("longdouble"), {}, DataError, "at most 64 bits"),
    "complex": (lambda _: VALUES.astype("complex64"), {}, DataError, "Complex data not supported"),
    "objects": (
        lambda _: pd.DataFrame({"a": [{"x": 1}, None]}, dtype=object),
        {},
        DataError,
        "neither all numbers nor all names",
    ),
    "a name beside a number": (
        lambda _: pd.DataFrame({"site": ["north", "south"], "load": [1.0, 2.0]}),
        {},
        DataError,
        "numbers for names (TensorTrainDensity",
    ),
    "other features": (
        lambda _: [pd.DataFrame(VALUES, columns=NAMES), pd.DataFrame(VALUES, columns=[*"abd"])],
        {},
        DataError,
        "they differ in ['c', 'd']",
    ),
    "other order": (
        lambda _: [pd.DataFrame(VALUES, columns=NAMES), pd.DataFrame(VALUES, columns=[*"acb"])],
        {},
        DataError,
        "they differ in their order",
    ),
    "other dtype": (lambda _: [VALUES, VALUES.astype("f8")], {}, DataError, "convert one of them"),
    "lazy and not": (
        lambda _: [VALUES, da.from_array(VALUES, chunks=(9, 3))],
        {},
        DataError,
        "only lazy arrays or none",
    ),
    "weight shape": (
        lambda _: VALUES,
        {"weight": WEIGHT[1:]},
        DataError,
        "sample_weight has shape (59,); expected (60,), one a row",
    ),
    "weight by name": (
        lambda _: dataset().assign(weight=("sample", WEIGHT)),
        {"weight": "weight"},
        DataError,
        "without sample_weight",
    ),
    "weight of a store": (
        lambda p: own_store(p / "o.zarr"),
        {"weight": WEIGHT},
        DataError,
        "variable 'weight' along the sample dimension",
    ),
    "nested": (
        lambda _: [open_samples([VALUES, VALUES]), VALUES],
        {},
        DataError,
        "one by one, not nested",
    ),
    "weight of text": (
        lambda _: dataset().assign(weight=("sample", ["a"] * ROWS)),
        {},
        DataError,
        "the variable 'weight' holds <U1; expected one real number a row",
    ),
    "object column": (
        lambda _: pd.DataFrame(VALUES, columns=NAMES).assign(b="x"),
        {},
        DataError,
        "row 0 of column 'b' is 'x'",
    ),
    "object variable": (
        lambda _: dataset().astype(object),
        {},
        LayoutError,
        "object ('sample', 'feature')",
    ),
    "empty name": (
        lambda _: dataset().assign_coords(feature=["a", "", "c"]),
        {},
        ViewError,
        "feature 1 (from 0) is named ''; give every feature a name",
    ),
    "name that is NaN": (
        lambda _: pd.DataFrame(VALUES, columns=["a", "b", np.nan]),
        {},
        ViewError,
        "feature 2 (from 0) is named 'nan'",
    ),
    "views": (lambda _: dataset(), {"views": {"v": ["q"]}}, ViewError, "unknown feature 'q'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_open__refuses_with_a_remedy(tmp_path: Path, case: str) -> None:
    make, options, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        open_samples(make(tmp_path), **options)
    assert words in str(caught.value)


def test_feature_names__of_no_characters_are_refused() -> None:
    """A damaged array of characters holds any numbers, and NumPy makes strings of them."""
    names = np.array([97, 98, 99, 2**32 - 256], "<u4").view("<U2")
    with pytest.raises(ViewError, match=r"name of feature 1 .*no characters"):
        feature_names(names)


def test_open__refuses_features_without_end(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    # no chunk is written, so that the store is small whatever its metadata say
    zarr.create_group(path).create_array(
        "X",
        shape=(5, 3_000_000_000),
        chunks=(5, 1000),
        dtype="f8",
        dimension_names=["sample", "feature"],
    )
    with pytest.raises(LayoutError, match="'X' has 3,000,000,000 features"):
        open_samples(path)


def test_open__names_a_lost_file_of_the_packages_layout(tmp_path: Path) -> None:
    path = own_store(tmp_path / "own.zarr")
    (tmp_path / "own.zarr" / "X" / "c" / "0" / "0").unlink()
    with pytest.raises(StoreReadError) as caught:
        open_samples(path)
    assert "1 of the 1 files of 'X' are absent" in str(caught.value)
    assert "X/c/0/0, with rows 0 to 59" in str(caught.value)


@pytest.mark.parametrize("transposed", [True, False])
def test_open__warns_of_absent_files_of_other_layouts(tmp_path: Path, transposed: bool) -> None:
    values = VALUES.T.copy() if transposed else VALUES
    layout: dict[str, Any] = {"chunks": (3, 20) if transposed else (20, 3), "fill_value": 7.0}
    if transposed:
        layout["dims"] = ("feature", "sample")
    path = write_store(tmp_path / "f.zarr", values, **layout)
    name = "c/0/1" if transposed else "c/1/0"
    (Path(path) / "X" / name).unlink()
    with pytest.warns(LayoutWarning) as caught:
        samples = open_samples(path)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert f"X/{name}, with rows 20 to 39" in message
    assert "are read as 7.0" in message
    assert (read(samples)[20:40] == 7).all()


def test_open__accepts_shards_and_format_2_as_whole(tmp_path: Path) -> None:
    write_store(tmp_path / "s.zarr", VALUES, chunks=(5, 3), shards=(25, 3))
    np.testing.assert_array_equal(read(open_samples(tmp_path / "s.zarr")), VALUES)


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ((500, 3), r"500 rows of 3 of the 3 .*0\.00572 MiB"),
        ((50_000, 1), r"rows of 1 .*0\.191 MiB.* 0\.572 MiB"),
        ((60_000, 3), r"0\.687 MiB have to be read together"),
    ],
)
def test_open__warns_of_bad_chunks_with_a_remedy_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: tuple[int, int], words: str
) -> None:
    values = np.random.default_rng(0).normal(size=(60_000, 3)).astype("float32")
    path = write_store(tmp_path / "b.zarr", values, chunks=chunks)
    assert read(open_samples(path)).shape == values.shape  # small data: no warning
    monkeypatch.setattr(inspection, "SMALL_DATA_NBYTES", 2**16)
    monkeypatch.setattr(inspection, "SMALL_CHUNK_NBYTES", 2**14)
    monkeypatch.setattr(inspection, "LARGE_UNIT_NBYTES", 2**19)
    monkeypatch.setattr(inspection, "chunk_rows", lambda *_: 16_384)
    with pytest.warns(LayoutWarning) as caught:
        open_samples(path)
    (message,) = [str(warning.message) for warning in caught]
    assert re.search(words, message)
    packed = xr.Dataset({"X": (("sample", "feature"), values)})
    encoding = {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999, "chunks": chunks}
    packed.to_zarr(tmp_path / "p.zarr", encoding={"X": encoding}, consolidated=False)
    with pytest.warns(LayoutWarning, match=r"p\.zarr .*once: xarray\.open_zarr"):
        open_samples(tmp_path / "p.zarr")
    remedy = message.split("once: ")[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eval(remedy, {"xarray": xr})
    better = open_samples(tmp_path / "b-rechunked.zarr")  # warns no more
    np.testing.assert_array_equal(read(better), values)
    assert better.sources[0].unit_rows == 16_384


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_open__warns_of_packed_chunks_by_their_decoded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zarr_format: Any
) -> None:
    """A chunk has 0.24 MiB as int16, and 0.98 MiB as the float64 that xarray decodes it to."""
    monkeypatch.setattr(inspection, "SMALL_DATA_NBYTES", 2**16)
    monkeypatch.setattr(inspection, "LARGE_UNIT_NBYTES", 2**19)
    packed = xr.Dataset({"X": (("sample", "feature"), np.zeros((6000, 64)))})
    encoding = {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999, "chunks": (2000, 64)}
    options = {"consolidated": False, "zarr_format": zarr_format}
    packed.to_zarr(tmp_path / "p.zarr", encoding={"X": encoding}, **options)
    with pytest.warns(LayoutWarning) as caught:
        samples = open_samples(tmp_path / "p.zarr")
    (message,) = [str(warning.message) for warning in caught]
    assert "0.977 MiB have to be read" in message
    assert f"'sample': {chunk_rows(64, samples.dtype.itemsize)}," in message


@pytest.mark.slow  # twelve readers at once
def test_open__leaves_no_setting_of_zarr_behind(tmp_path: Path) -> None:
    before = zarr.config.get("async.concurrency"), zarr.config.get("threading.max_workers")
    path = write_store(tmp_path / "g.zarr", np.tile(VALUES, (50, 1)), chunks=(10, 3))
    samples = open_samples(path)
    lazy = [dask.delayed(read)(samples) for _ in range(12)]
    dask.compute(*lazy, scheduler="threads", num_workers=6)
    assert before == (
        zarr.config.get("async.concurrency"),
        zarr.config.get("threading.max_workers"),
    )


def test_scale_that_is_no_number__is_an_error_in_words(tmp_path):
    """A store that xarray scales is read once to see whether it holds strings."""
    path = tmp_path / "scaled.zarr"
    data = xr.Dataset({"X": (("sample", "feature"), VALUES.round(2))})
    scaled = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9999}
    data.to_zarr(path, zarr_format=2, encoding={"X": scaled})
    document = json.loads((path / ".zmetadata").read_text())
    document["metadata"]["X/.zattrs"]["scale_factor"] = {"name": "blosc"}
    (path / ".zmetadata").write_text(json.dumps(document))

    with pytest.raises(StoreReadError, match="the first row of 'X' cannot be read"):
        open_samples(path)


def test_exchanged_metadata__are_an_error_in_words(tmp_path):
    """The names of the features are read when a store is opened, and may not be what they say."""
    path = tmp_path / "scaled.zarr"
    rows = np.random.default_rng(0).normal(size=(240, 3)).round(2)
    data = xr.Dataset(
        {"X": (("sample", "feature"), rows), "weight": ("sample", np.ones(240))},
        coords={"feature": ["cd3", "cd4", "cd8"]},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.to_zarr(path, zarr_format=3, encoding={"X": {"dtype": "i2", "scale_factor": 0.01}})
    document = json.loads((path / "zarr.json").read_text())
    members = document["consolidated_metadata"]["metadata"]
    members["feature"], members["weight"] = members["weight"], members["feature"]
    (path / "zarr.json").write_text(json.dumps(document))

    with pytest.raises(StoreReadError, match=r"features 'feature' of 'X' cannot be"):
        open_samples(path)
