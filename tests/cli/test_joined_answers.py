"""Answers are joined to the rows of the user's file by their row or by an own id."""

import numpy as np
import pandas as pd
import pytest

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
