"""--where, subset and add on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.stores.layout import SampleStoreWriter

ROWS = 3_000
VALUES = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
SAMPLES = (np.arange(ROWS) // 1_000).astype("int32")
KEPT = (VALUES[:, 2] < 1) & (SAMPLES != 1)
CONDITION = "`DNA-1` < 1 and sample_id in ['ann', 'cy']"
MODEL = ("--model", "gaussian-mixture", "-k", 2, "--max-iter", 2, "-q")


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    values = VALUES.copy()
    values[::2, :2] += 3
    sample_id = ("int32", {"categories": ["ann", "bob", "cy"]})
    path = tmp_path / "cells.zarr"
    features = ["CD3", "CD4", "DNA-1"]
    with SampleStoreWriter(path, features, row_variables={"sample_id": sample_id}) as store:
        store.append(values, sample_id=SAMPLES)
    return path


def facts(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    decoded: dict[str, Any] = json.loads(result.stdout)
    return decoded


def test_subset_and_fit__is_fit_where(run: Any, cells: Path, tmp_path: Path) -> None:
    subset, where, alone = (tmp_path / f"{name}.zarr" for name in ("s", "where", "alone"))
    made = facts(run("subset", cells, "--where", CONDITION, "--out", subset, "--json"))
    assert made["rows"] == KEPT.sum()
    assert made["where"]["samples"]["bob"] == {"rows": 1_000, "kept": 0}
    assert run("fit", cells, "--where", CONDITION, "--out", where, *MODEL).exit_code == 0
    assert run("fit", subset, "--out", alone, *MODEL).exit_code == 0
    labels, fewer = tmp_path / "labels.zarr", tmp_path / "fewer.zarr"
    answered = run("predict", where, cells, "--where", CONDITION, "--out", labels, "--json")
    assert facts(answered)["counts"]["-1"] == ROWS - KEPT.sum()
    assert run("predict", alone, subset, "--out", fewer).exit_code == 0
    with xr.open_zarr(labels) as all_rows, xr.open_zarr(fewer) as kept:
        np.testing.assert_array_equal(all_rows["label"][KEPT], kept["label"])
        assert (all_rows["label"][~KEPT] == -1).all()
    population = tmp_path / "population.zarr"
    options = ("--labels", labels, "--population", 1, "--out", population)
    assert facts(run("subset", cells, *options, "--json"))["rows"] == facts(answered)["counts"]["1"]


def test_share_kept__is_shown_by_sample(run: Any, cells: Path) -> None:
    planned = run("plan", cells, "--where", CONDITION, "--model", "gaussian-mixture", "-k", 2)
    assert planned.exit_code == 0, planned.stderr
    assert f"{KEPT.sum():,} of {ROWS:,} rows" in planned.stdout
    (line,) = (line for line in planned.stdout.splitlines() if line.strip().startswith("bob"))
    assert line.split() == ["bob", "1,000", "0", "0.0%"]


def test_gate__is_added_and_selects(run: Any, cells: Path, tmp_path: Path) -> None:
    gate = np.where(VALUES[:, 0] > 0, "lymphocytes", "debris")
    (tmp_path / "gate.csv").write_text("gate\n" + "\n".join(gate))
    np.save(tmp_path / "dose.npy", SAMPLES * 0.5)
    columns = ("--column", f"gate={tmp_path / 'gate.csv'}", "--column")
    added = run("add", cells, *columns, f"dose={tmp_path / 'dose.npy'}", "--json")
    assert [entry["name"] for entry in facts(added)["variables"]] == ["gate", "dose"]
    subset = tmp_path / "s.zarr"
    where = "gate == 'lymphocytes' and dose >= 0.5"
    made = run("subset", cells, "--where", where, "--out", subset, "--json")
    assert facts(made)["rows"] == ((VALUES[:, 0] > 0) & (SAMPLES > 0)).sum()


def test_table_of_samples__becomes_variables(run: Any, cells: Path, tmp_path: Path) -> None:
    table = tmp_path / "samples.csv"
    table.write_text(
        "file,n,dose,patient\ncy.fcs,1,1.5,x\nann.fcs,2,0,y\nbob.fcs,3,,x\neve.fcs,4,2,z\n"
    )
    added = facts(run("add", cells, "--metadata", table, "--json"))
    assert [entry["name"] for entry in added["variables"]] == ["n", "dose", "patient"]
    with xr.open_zarr(cells) as store:
        np.testing.assert_array_equal(store["dose"], np.array([0, np.nan, 1.5])[SAMPLES])
        names = np.array(store["patient"].attrs["categories"])[store["patient"].values]
        np.testing.assert_array_equal(names, np.array(["y", "x", "x"])[SAMPLES])
    table.write_text("file,age\ncy.fcs,1\nann.fcs,0\n")
    result = run("add", cells, "--metadata", table)
    assert result.exit_code == 1
    assert "bob" in result.stderr
    table.write_text("age,file\n1,cy.fcs\n0,ann.fcs\n2,bob.fcs\n")
    assert "first column" in run("add", cells, "--metadata", table).stderr


def test_wrong_column__adds_none(run: Any, cells: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", SAMPLES)
    columns = ("--column", f"good={tmp_path / 'good.npy'}", "--column")
    result = run("add", cells, *columns, f"bad={tmp_path / 'absent.npy'}")
    assert result.exit_code == 1
    assert "absent.npy" in result.stderr
    with xr.open_zarr(cells) as store:
        assert "good" not in store


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("subset", "--out", "s.zarr"), 2, "--where"),
        (("subset", "--out", "s.zarr", "--population", "1"), 2, "--labels"),
        (("subset", "--out", "s.zarr", "--where", "DNA-1 < 1"), 1, "`FSC-A`"),
        (("subset", "--out", "s.zarr", "--where", "CD5 < 1"), 1, "did you mean"),
        (("add", "--column", "gate.csv"), 2, "NAME=FILE"),
        (("plan", "-k", "2", "--where", "CD3 > 100"), 1, "no row"),
    ],
)
def test_wrong_usage__names_the_remedy(
    run: Any, cells: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, hint: str
) -> None:
    command, *options = arguments
    options = [str(tmp_path / part) if part.endswith(".zarr") else part for part in options]
    result = run(command, cells, *options)
    assert result.exit_code == code
    assert hint in result.stderr
