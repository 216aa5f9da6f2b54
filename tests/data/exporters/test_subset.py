"""A subset is a store like any other: the same rows, attributes and variables."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.exporters.subset import label_numbers, write_subset
from bigtensor.data.opening import open_samples
from bigtensor.data.rows import rows_where
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.manifest import check_manifest, seal
from bigtensor.data.stores.stored_arrays import create_array
from bigtensor.errors import ConditionError, DataError, OutputError, ParameterError

ROWS = 1_000
VALUES = np.random.default_rng(2).normal(size=(ROWS, 2)).astype("float32")
CODES = (np.arange(ROWS) % 3).astype("int32")
KEPT = (VALUES[:, 0] > 0.5) & (CODES != 1)
CONDITION = "CD3 > 0.5 and sample_id != 'bob'"


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_where, "WINDOW_ROWS", 128)
    monkeypatch.setattr(rows_where, "READ_NBYTES", 4096)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "cells.zarr"
    with SampleStoreWriter(
        path,
        ["CD3", "SSC-A"],
        feature_coordinates={"role": ["use", "scatter"]},
        row_variables={
            "sample_id": ("int32", {"categories": ["ann", "bob", "cy"]}),
            "weight": "float64",
            "gate": "bool",
        },
        keep_raw=True,
        attrs={"transform": {"name": "arcsinh", "untransformed": ["SSC-A"]}},
    ) as store:
        store.append(
            VALUES, raw=2 * VALUES, sample_id=CODES, weight=np.arange(ROWS), gate=CODES == 2
        )
        store.add(xr.Dataset({"truth": ("component", [1.0, 2.0])}))
    return path


def labelled(path: Path, labels: Any, **attrs: Any) -> Path:
    xr.Dataset({"label": ("sample", labels, attrs)}).to_zarr(
        path, zarr_format=3, consolidated=False
    )
    return path


def test_subset__has_everything_that_lies_beside_the_rows(cells: Path, tmp_path: Path) -> None:
    path = tmp_path / "subset.zarr"
    summary = write_subset(cells, path, where=CONDITION)
    check_manifest(path)
    assert summary.shares.kept == KEPT.sum()
    with xr.open_zarr(path) as subset, xr.open_zarr(cells) as whole:
        expected = whole.isel(sample=np.flatnonzero(KEPT))
        for name in whole.variables:
            np.testing.assert_array_equal(subset[name], expected[name])
            assert subset[name].attrs == whole[name].attrs
        assert subset.attrs["transform"] == whole.attrs["transform"]
        np.testing.assert_array_equal(subset["source_row"], np.flatnonzero(KEPT))
        assert subset.attrs["subset"]["rows"] == ROWS
    assert open_samples(path).views == open_samples(cells).views


def test_subset_of_a_subset__keeps_the_rows_of_the_first_store(cells: Path, tmp_path: Path) -> None:
    write_subset(cells, tmp_path / "once.zarr", where="CD3 > 0.5")
    write_subset(tmp_path / "once.zarr", tmp_path / "twice.zarr", where="sample_id != 'bob'")
    with xr.open_zarr(tmp_path / "twice.zarr") as twice:
        np.testing.assert_array_equal(twice["source_row"], np.flatnonzero(KEPT))


def test_population__is_kept_by_number_and_by_name(cells: Path, tmp_path: Path) -> None:
    labels = np.where(np.arange(ROWS) % 5 == 0, -1, np.arange(ROWS) % 4).astype("int32")
    names = ["B", "CD4 T", "CD8 T", "0"]
    stored = labelled(tmp_path / "labels.zarr", labels, categories=names)
    for populations, numbers in [(["CD4 T"], [1]), (["2", "B"], [2, 0]), (["0"], [3])]:
        path = tmp_path / f"{'_'.join(populations)}.zarr"
        write_subset(cells, path, labels=stored, populations=populations)
        with xr.open_zarr(path) as subset:
            rows = np.flatnonzero(np.isin(labels, numbers))
            np.testing.assert_array_equal(subset["source_row"], rows)


def test_population_and_condition__hold_both(cells: Path, tmp_path: Path) -> None:
    labels = (np.arange(ROWS) % 2).astype("int32")
    stored = labelled(tmp_path / "labels.zarr", labels)
    where = "CD3 > 1 or gate"
    write_subset(cells, tmp_path / "s.zarr", where=where, labels=stored, populations=[1])
    with xr.open_zarr(tmp_path / "s.zarr") as subset:
        rows = ((VALUES[:, 0] > 1) | (CODES == 2)) & (labels == 1)
        np.testing.assert_array_equal(subset["source_row"], np.flatnonzero(rows))


def test_unknown_population__is_named_with_near_ones() -> None:
    with pytest.raises(ParameterError, match="CD4 T"):
        label_numbers(["CD4T"], ["B", "CD4 T"], "l.zarr")
    with pytest.raises(ParameterError, match="number"):
        label_numbers(["B"], None, "l.zarr")


@pytest.mark.parametrize("number", ["2", "9", "-2"])
def test_number_beyond_the_names__is_no_population(number: str) -> None:
    with pytest.raises(ParameterError, match=f"'{number}'"):
        label_numbers(["0", number], ["B", "CD4 T"], "l.zarr")
    # rows without a label have -1
    assert label_numbers(["0", "-1"], ["B", "CD4 T"], "l.zarr") == (0, -1)


def test_names_along_the_rows__become_codes(cells: Path, tmp_path: Path) -> None:
    group = zarr.open_group(cells, mode="r+")
    day = create_array(group, "day", shape=(ROWS,), dtype="string", dimensions=("sample",))
    day[:] = np.array(["mon", "tue"], object)[CODES % 2]
    seal(cells)
    write_subset(cells, tmp_path / "s.zarr", where="day == 'tue'")
    with xr.open_zarr(tmp_path / "s.zarr") as subset:
        assert subset["day"].attrs["categories"] == ["tue"]
        assert set(subset["day"].values.tolist()) == {0}


@pytest.mark.parametrize(
    ("options", "kind", "hint"),
    [
        ({}, ParameterError, "where"),
        ({"populations": ["1"]}, ParameterError, "labels"),
        ({"where": "CD4 > 1"}, ConditionError, "CD3"),
        ({"where": "CD3 > 100"}, DataError, "no row"),
        ({"where": "CD3 > 0", "out": "cells.zarr"}, OutputError, "replaced"),
        ({"labels": "few.zarr", "populations": ["0"]}, DataError, "10 rows"),
        ({"labels": "cells.zarr", "populations": ["0"]}, DataError, "no labels"),
    ],
)
def test_wrong_subset__writes_nothing(
    cells: Path, tmp_path: Path, options: dict[str, Any], kind: type[Exception], hint: str
) -> None:
    labelled(tmp_path / "few.zarr", np.zeros(10, "int32"))
    before = sorted(tmp_path.iterdir())
    out = tmp_path / options.pop("out", "s.zarr")
    if "labels" in options:
        options["labels"] = tmp_path / options["labels"]
    with pytest.raises(kind, match=hint):
        write_subset(cells, out, **options)
    assert sorted(tmp_path.iterdir()) == before
    check_manifest(cells)
