import csv
import os

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from scipy.sparse import csr_array

from bigtensor import GaussianMixture, TopicModel, open_samples
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.data.exporters.new_anndata import write_new_anndata
from bigtensor.data.exporters.row_columns import has_row_columns
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores import outputs
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import (
    DataError,
    FileFormatWarning,
    OtherRowsWarning,
    OutputError,
    StoreReadError,
)


def test_csv__one_line_a_row_in_order(labels, answers, tmp_path):
    label, probability = answers
    told = []
    write_answers_to_csv(
        labels, tmp_path / "l.csv", block_rows=300, progress=lambda *rows: told.append(rows)
    )
    with (tmp_path / "l.csv").open() as file:
        names, *rows = csv.reader(file)
    assert names == ["row", "label", "probability_0", "probability_1", "probability_2"]
    values = np.array(rows, float)
    assert values[:, 0].tolist() == list(range(1000))
    assert values[:, 1].tolist() == label.tolist()
    np.testing.assert_allclose(values[:, 2:], probability, rtol=1e-5)
    assert told[-1] == (1000, 1000)


def test_csv__labels_alone(labels, answers, tmp_path):
    write_answers_to_csv(labels, tmp_path / "l.csv", probabilities=False)
    lines = (tmp_path / "l.csv").read_text().splitlines()
    assert lines[:2] == ["row,label", f"0,{answers[0][0]}"]
    assert len(lines) == 1001


def test_csv__other_answers_by_name(tmp_path):
    path = tmp_path / "answers.zarr"
    group = zarr.create_group(path, attributes={"model": "M", "views": {"X": ["CD3", "=a,b"]}})
    surprise = np.random.default_rng(0).normal(size=(5, 2))
    group.create_array("surprise", data=surprise, dimension_names=("sample", "feature"))
    group.create_array("log_density", data=surprise[:, 0])
    write_answers_to_csv(path, tmp_path / "a.csv", block_rows=2)
    with (tmp_path / "a.csv").open() as file:
        names, *rows = csv.reader(file)
    assert names == ["row", "log_density", "surprise_CD3", "surprise_=a,b"]
    expected = np.column_stack([np.arange(5), surprise[:, 0], surprise])
    np.testing.assert_allclose(np.array(rows, float), expected, rtol=1e-8)


@pytest.mark.parametrize(
    "arrays", [{}, {"a": np.ones(3), "b": np.ones(4)}, {"a": np.ones((2, 2, 2))}, {"a": [True]}]
)
def test_csv__what_is_no_answer_is_named(arrays, tmp_path):
    group = zarr.create_group(tmp_path / "answers.zarr", attributes={"model": "M"})
    for name, values in arrays.items():
        group.create_array(name, data=np.asarray(values))
    with pytest.raises(DataError, match=r"holds no array.*predict|no numbers"):
        write_answers_to_csv(tmp_path / "answers.zarr", tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def test_csv__features_with_names_of_other_columns_are_renamed(labels, tmp_path):
    path = tmp_path / "named.zarr"
    names = ["label", "sample_id", "CD3", "row"]
    variables = {"sample_id": ("int32", {"categories": ["p"]})}
    values = np.arange(4000.0).reshape(1000, 4)
    with SampleStoreWriter(path, names, rows=1000, row_variables=variables) as store:
        store.append(values, sample_id=np.zeros(1000, int))
    renamed = write_answers_to_csv(
        labels, tmp_path / "l.csv", probabilities=False, cells=path, features=names
    )
    assert renamed == {"label": "label_2", "sample_id": "sample_id_2", "row": "row_2"}
    with (tmp_path / "l.csv").open() as file:
        header, first, *_ = csv.reader(file)
    assert header == ["row", "sample_id", "label_2", "sample_id_2", "CD3", "row_2", "label"]
    assert first[:6] == ["0", "p", "0.0", "1.0", "2.0", "3.0"]


def test_csv__names_and_values_come_back_from_an_import(labels, tmp_path):
    names = ["a,b", 'q"', "two\nlines", "=1+1", "'=1+1", "-CD8", "@x", "é;", "'c'"]
    samples = ["=p", "s,1", "'=p", "-1"]
    variables = {"sample_id": ("int32", {"categories": samples})}
    values = np.random.default_rng(0).normal(size=(1000, len(names))).astype(np.float32)
    values[3, 2] = values[5] = np.nan
    codes = np.arange(1000) % 5 - 1
    with SampleStoreWriter(tmp_path / "cells.zarr", names, row_variables=variables) as store:
        store.append(values, sample_id=codes)
    target = tmp_path / "l.csv"
    write_answers_to_csv(labels, target, cells=tmp_path / "cells.zarr", features=names)
    with pytest.warns(FileFormatWarning, match="were left out"):
        import_files(target, tmp_path / "back.zarr", sample_id="sample_id")
    back = xr.open_zarr(tmp_path / "back.zarr")
    assert back["feature"].to_numpy().tolist() == names
    np.testing.assert_array_equal(back["X"], values)
    categories = [*back["sample_id"].attrs["categories"], None]
    came = [categories[code] for code in back["sample_id"].to_numpy()]
    assert came == [[*samples, None][code] for code in codes]
    with pytest.warns(FileFormatWarning, match="were left out"):
        import_files(target, tmp_path / "codes.zarr", codes=True)
    listed = xr.open_zarr(tmp_path / "codes.zarr")["X"].attrs["categories"]["sample_id"]
    assert sorted(listed) == sorted(samples)


def test_csv__codes_of_features_and_variables_of_the_rows_are_names(labels, tmp_path):
    codes = np.resize([[0, 1], [1, -1], [-1, 0]], (1000, 2)).astype("int32")
    categories = {"q1": ["yes", "no, never"], "q2": ["=a", "b"]}
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), codes, {"categories": categories}),
            "age": ("sample", np.arange(1000) / 4),
            "day": ("sample", np.full(1000, np.datetime64("2020-02-03", "ns"))),
            "q2": ("sample", np.arange(1000)),
        },
        coords={
            "feature": np.array(["q1", "q2"], object),
            "sample": np.array([f"row {i}" for i in range(1000)], object),
        },
    )
    data.to_zarr(tmp_path / "c.zarr", zarr_format=3, consolidated=False)
    target = tmp_path / "l.csv"
    names = ["day", "q2", "sample", "q1", "age"]
    write_answers_to_csv(labels, target, cells=tmp_path / "c.zarr", features=names)
    with target.open() as file:
        header, *rows = csv.reader(file)
    assert header[:7] == ["row", *names, "label"]
    day = str(data["day"].to_numpy()[0])
    assert [row[1:6] for row in rows[:3]] == [
        [day, "b", "row 0", "yes", "0"],
        [day, "", "row 1", "no, never", "0.25"],
        [day, "'=a", "row 2", "", "0.5"],
    ]


def test_csv__nothing_is_left_when_it_stops_midway(labels, tmp_path):
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers_to_csv(labels, tmp_path / "l.csv", block_rows=300, progress=stop)
    assert os.listdir(tmp_path) == ["labels.zarr"]  # noqa: PTH208


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")  # noqa: PTH110
def test_csv__a_full_disk_is_named(labels, tmp_path, monkeypatch):
    partial = tmp_path / "full"
    partial.symlink_to("/dev/full")
    monkeypatch.setattr(outputs, "unfinished_path", lambda _: partial)
    with pytest.raises(OutputError, match=r"could not .*l\.csv.*No space"):
        write_answers_to_csv(labels, tmp_path / "l.csv", probabilities=False)
    assert not (tmp_path / "l.csv").exists()
    assert not partial.is_symlink()


@pytest.mark.filterwarnings(
    "ignore:Writing zarr v2", "ignore::bigtensor.errors.ConditioningWarning"
)
@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
def test_names_of_anndata__stand_beside_the_row(ending, tmp_path):
    counts = np.random.default_rng(0).poisson(60, (20, 4))
    names = pd.Index([f"letter, {row}" for row in range(20)])
    rows = anndata.AnnData(csr_array(counts), obs=pd.DataFrame(index=names))
    cells, answers, target = tmp_path / f"rows.{ending}", tmp_path / "a.zarr", tmp_path / "a.csv"
    getattr(rows, f"write_{ending}")(cells)
    assert has_row_columns(cells)
    model = TopicModel(3, max_iter=0).fit(rows)
    model.write(rows, answers)
    write_answers_to_csv(answers, target, cells=cells, block_rows=8)
    table = pd.read_csv(target)
    assert list(table.columns) == ["row", "obs_names", *(f"topic_share_{j}" for j in range(3))]
    assert list(table["obs_names"]) == list(names)
    fewer = tmp_path / "fewer.zarr"
    model.write(rows[:9], fewer)
    with pytest.raises(DataError, match="20 rows"):
        write_answers_to_csv(fewer, target, cells=cells)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize(("layer", "obsm"), [("doubled", None), (None, "X_half")])
def test_names_of_anndata__stand_beside_answers_for_another_matrix(layer, obsm, tmp_path):
    values = np.random.default_rng(0).normal(size=(60, 4))
    names = pd.DataFrame(index=[f"cell {row}" for row in range(60)])
    matrices = {"layers": {"doubled": 2 * values}, "obsm": {"X_half": values[:, :2]}}
    rows = anndata.AnnData(values, obs=names, **matrices)
    cells, answers, target = tmp_path / "rows.zarr", tmp_path / "a.zarr", tmp_path / "a.csv"
    rows.write_zarr(cells)
    opened = open_samples(cells, layer=layer, obsm=obsm)
    model = GaussianMixture(1).fit(opened)
    model.write(opened, answers)
    # a warning, which is an error here, would say that these are other rows
    write_answers_to_csv(answers, target, cells=cells)
    assert list(pd.read_csv(target)["obs_names"]) == list(names.index)
    other = tmp_path / "without.h5ad"
    anndata.AnnData(values, obs=names).write_h5ad(other)
    with pytest.warns(OtherRowsWarning):
        write_answers_to_csv(answers, tmp_path / "b.csv", cells=other)


@pytest.mark.parametrize("variable", ["X", "sample_id"])
@pytest.mark.parametrize("ending", ["csv", "h5ad"])
def test_cells__with_a_damaged_chunk_are_named(labels, cells, tmp_path, variable, ending):
    (chunk,) = (file for file in (cells / variable / "c").rglob("*") if file.is_file())
    content = bytearray(chunk.read_bytes())
    content[20] ^= 255
    chunk.write_bytes(content)
    target = tmp_path / f"l.{ending}"
    export = {
        "csv": lambda: write_answers_to_csv(labels, target, cells=cells, features=["CD3"]),
        "h5ad": lambda: write_new_anndata(labels, cells, target, {}),
    }
    with pytest.raises(StoreReadError, match=f"'{variable}' of {cells} cannot be read"):
        export[ending]()
    assert not target.exists()


def test_csv__cells_without_values_are_refused(labels, tmp_path):
    group = zarr.create_group(tmp_path / "other.zarr")
    group.create_array("x", data=np.zeros(3), dimension_names=["sample"])
    with pytest.raises(DataError, match=r"other\.zarr has no X"):
        write_answers_to_csv(labels, tmp_path / "l.csv", cells=tmp_path / "other.zarr")


@pytest.mark.parametrize("codes", [[0, 2], [0, -2]])
def test_csv__codes_without_a_category_are_refused(labels, tmp_path, codes):
    path = tmp_path / "other.zarr"
    donors = ("sample", np.resize(codes, 1000), {"categories": ["p", "q"]})
    values = ("sample", "feature"), np.zeros((1000, 2))
    data = xr.Dataset({"X": values, "sample_id": donors}, coords={"feature": [0, 1]})
    data.to_zarr(path, zarr_format=3, consolidated=False)
    with pytest.raises(DataError, match=r"'sample_id' of .* none of its 2"):
        write_answers_to_csv(labels, tmp_path / "l.csv", cells=path)


def test_csv__categories_that_are_no_list_are_refused(labels, tmp_path):
    path = tmp_path / "other.zarr"
    donors = ("sample", np.zeros(1000, "i4"), {"categories": 5})
    values = ("sample", "feature"), np.zeros((1000, 2))
    data = xr.Dataset({"X": values, "sample_id": donors}, coords={"feature": [0, 1]})
    data.to_zarr(path, zarr_format=3, consolidated=False)
    with pytest.raises(DataError, match=r"categories of 'sample_id' of .* are 5"):
        write_answers_to_csv(labels, tmp_path / "l.csv", cells=path)


def test_csv__names_that_are_no_text_are_escaped(labels, tmp_path):
    path = tmp_path / "other.zarr"
    donors = ("sample", np.zeros(1000, "i4"), {"categories": ["\ud800"]})
    values = ("sample", "feature"), np.zeros((1000, 2))
    data = xr.Dataset({"X": values, "sample_id": donors}, coords={"feature": [0, 1]})
    data.to_zarr(path, zarr_format=3, consolidated=False)
    write_answers_to_csv(labels, tmp_path / "l.csv", cells=path, probabilities=False)
    assert (tmp_path / "l.csv").read_text().startswith("row,sample_id,label\n0,\\ud800,")


@pytest.mark.parametrize(
    ("samples", "texts"),
    [
        (["plate 1, a", "=b", "", "c"], ["plate 1, a", "'=b", "", "c"]),
        ([7, -1, 7, 7], ["7", "-1", "7", "7"]),
    ],
)
def test_csv__samples_without_categories_are_written(labels, tmp_path, samples, texts):
    values = ("sample", "feature"), np.zeros((1000, 2))
    donors = ("sample", np.resize(pd.Series(samples).to_numpy(), 1000))
    data = xr.Dataset({"X": values, "sample_id": donors}, coords={"feature": [0, 1]})
    data.to_zarr(tmp_path / "other.zarr", zarr_format=3, consolidated=False)
    write_answers_to_csv(labels, tmp_path / "l.csv", cells=tmp_path / "other.zarr")
    with (tmp_path / "l.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [row["sample_id"] for row in rows[:4]] == texts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_csv__features_keep_all_their_bits(labels, tmp_path, dtype):
    values = np.random.default_rng(0).lognormal(size=(1000, 2)).astype(dtype)
    with SampleStoreWriter(tmp_path / "c.zarr", ["a", "b"], rows=1000, dtype=dtype) as store:
        store.append(values)
    write_answers_to_csv(labels, tmp_path / "l.csv", cells=tmp_path / "c.zarr", features=["b"])
    with (tmp_path / "l.csv").open() as file:
        written = np.array([row["b"] for row in csv.DictReader(file)], dtype)
    np.testing.assert_array_equal(written, values[:, 1])


@pytest.mark.parametrize(
    ("dtype", "text"), [("float64", "0.1"), ("float32", "0.1"), ("int32", "0")]
)
def test_csv__features_have_no_digits_of_rounding(labels, tmp_path, dtype, text):
    """0.1 was written as 0.10000000000000001 of 64 bits, and as 0.100000001 of 32."""
    values = ("sample", "feature"), np.full((1000, 1), 0.1, "f8").astype(dtype)
    data = xr.Dataset({"X": values}, coords={"feature": [7]})
    data.to_zarr(tmp_path / "c.zarr", zarr_format=3, consolidated=False)
    write_answers_to_csv(labels, tmp_path / "l.csv", cells=tmp_path / "c.zarr", features=["7"])
    assert (tmp_path / "l.csv").read_text().splitlines()[1].split(",")[1] == text


def test_features_of_anndata__are_refused_with_what_stands_beside_answers(labels, tmp_path):
    cells = tmp_path / "rows.h5ad"
    anndata.AnnData(np.ones((3, 1), np.float32)).write_h5ad(cells)
    with pytest.raises(DataError, match="obs_names"):
        write_answers_to_csv(labels, tmp_path / "l.csv", cells=cells, features=["0"])
