"""Answers are joined to the rows of the user's file by their row or by an own id."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from bigtensor.data.exporters import csv, row_columns
from bigtensor.errors import StoreReadError

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Return a table with ids, its store, a store of half its rows, and a model."""
    path = tmp_path_factory.mktemp("joined")
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.arange(600) % 2)
    table = pd.DataFrame(rng.normal(size=(600, 2)) + 6 * kind[:, None], columns=["a", "b"])
    table.insert(0, "id", [f"P{number:03}" for number in rng.permutation(600)])
    table.assign(kind=kind).to_csv(path / "table.csv", index=False)
    names = ("--exclude", "id", "--exclude", "kind")
    cells, model = path / "cells.zarr", path / "model.zarr"
    for command in (
        ("import", path / "table.csv", *names, "--out", cells),
        ("import", path / "table.csv", *names, "--where", "a > 1", "--out", path / "half.zarr"),
        ("subset", cells, "--where", "b > 1", "--out", path / "subset.zarr"),
        ("fit", cells, "--model", "gaussian-mixture", "-k", 2, "--out", model, *THREADS),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    return path


@pytest.mark.parametrize("store", ["half", "subset"])
def test_predict__csv_names_the_row_of_the_file(run, folder, tmp_path, store):
    out, text = tmp_path / "l.zarr", tmp_path / "l.csv"
    cells = folder / f"{store}.zarr"
    result = run("predict", folder / "model.zarr", cells, "--out", out, "--csv", text, *THREADS)
    assert result.exit_code == 0, result.stderr
    answers = pd.read_csv(text)
    assert answers.columns.tolist() == ["row", "source_row", "sample_id", "label"]
    assert answers["row"].tolist() == list(range(len(answers)))
    table = pd.read_csv(folder / "table.csv")
    joined = table.loc[answers["source_row"]]
    assert (joined[{"half": "a", "subset": "b"}[store]] > 1).all()
    shares = pd.crosstab(joined["kind"].to_numpy(), answers["label"]).max(axis=1)
    assert shares.sum() == len(answers)
    made = tmp_path / "e.csv"
    exported = run("export", out, "--to", made, "--cells", cells, "--features", "b,source_row")
    assert exported.exit_code == 0, exported.stderr
    both = pd.read_csv(made)
    assert both.columns.tolist() == ["row", "source_row", "sample_id", "b", "label"]
    np.testing.assert_allclose(both["b"], joined["b"], rtol=1e-5)


def test_export__ids_are_written_as_in_the_table(run, folder, tmp_path):
    rows = len(pd.read_csv(folder / "table.csv"))
    ids = {
        "padded": [f"{row:04}" for row in range(rows)],
        "short": ["" if row == 3 else str(row) for row in range(rows)],
        "long": ["" if row == 3 else str(2**53 + 1 + 2 * row) for row in range(rows)],
    }
    table, cells = tmp_path / "ids.csv", folder / "cells.zarr"
    pd.DataFrame(ids).to_csv(table, index=False)
    out, made = tmp_path / "l.zarr", tmp_path / "e.csv"
    columns = [part for name in ids for part in ("--column", f"{name}={table}")]
    for command in (
        ("add", cells, *columns),
        ("predict", folder / "model.zarr", cells, "--out", out, *THREADS),
        ("export", out, "--to", made, "--cells", cells, "--features", ",".join(ids)),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    exported = pd.read_csv(made, dtype=str, keep_default_na=False)
    assert {name: exported[name].tolist() for name in ids} == ids


def test_export__an_own_id_is_written_beside_answers(run, folder, tmp_path):
    cells, out, made = folder / "cells.zarr", tmp_path / "l.zarr", tmp_path / "e.csv"
    for command in (
        ("add", cells, "--column", f"id={folder / 'table.csv'}", "--overwrite"),
        ("add", cells, "--column", f"kind={folder / 'table.csv'}", "--overwrite"),
        ("predict", folder / "model.zarr", cells, "--out", out, *THREADS),
        ("export", out, "--to", made, "--cells", cells, "--features", "id,a,kind"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    exported, table = pd.read_csv(made), pd.read_csv(folder / "table.csv")
    assert exported.columns.tolist() == ["row", "sample_id", "id", "a", "kind", "label"]
    assert exported["id"].tolist() == table["id"].tolist()
    assert exported["kind"].tolist() == table["kind"].tolist()
    np.testing.assert_allclose(exported["a"], table["a"], rtol=1e-5)


def predicted(run, folder, cells, out):
    """Label cells beside a CSV file."""
    files = ("--out", out, "--csv", out.with_suffix(".csv"))
    return run("predict", folder / "model.zarr", cells, *files, *THREADS)


def test_predict__refuses_ids_without_a_name_before_the_rows_are_read(run, folder, tmp_path):
    cells, out = tmp_path / "own.zarr", tmp_path / "labels.zarr"
    ids = ("sample", np.arange(6), {"categories": ["x", "y"]})
    values = {"X": (("sample", "feature"), np.ones((6, 2))), "sample_id": ids}
    dataset = xr.Dataset(values, {"feature": ["a", "b"]})
    dataset.to_zarr(cells, zarr_format=2, consolidated=False)
    result = predicted(run, folder, cells, out)
    assert result.exit_code == 1
    assert "sample_id" in result.stderr
    assert not out.exists()


def test_predict__names_a_store_that_cannot_be_read_before_the_rows_are_read(
    run, folder, tmp_path, monkeypatch
):
    def fail(_):
        raise StoreReadError("the network failed")

    monkeypatch.setattr(row_columns, "open_cells", fail)
    result = predicted(run, folder, folder / "half.zarr", tmp_path / "labels.zarr")
    assert result.exit_code == 1
    assert "the network failed" in result.stderr
    assert not (tmp_path / "labels.zarr").exists()


def test_predict__names_complete_labels_where_the_table_fails(run, folder, tmp_path, monkeypatch):
    def fail(*_):
        raise StoreReadError("the network failed")

    monkeypatch.setattr(csv, "_lines", fail)
    out = tmp_path / "labels.zarr"
    result = predicted(run, folder, folder / "half.zarr", out)
    assert result.exit_code == 1
    assert f"{out} is complete" in result.stderr
    assert zarr.open_group(out, mode="r")["label"].size
