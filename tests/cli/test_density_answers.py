"""Answers of a density as text: names of imputed categories, and what is no table."""

import json

import numpy as np
import pandas as pd
import pytest
import zarr

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def survey(run, tmp_path_factory):
    """Return a table of categories without two entries in ten, its folder, and a density."""
    folder = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 300)
    texts = np.array(["yes", "no, never", "=maybe"])
    table = pd.DataFrame({name: texts[(first + shift) % 3] for shift, name in enumerate("abc")})
    holes = table.mask(np.random.default_rng(1).random(table.shape) < 0.2)
    holes = holes[holes.notna().any(axis=1)]
    holes.to_csv(folder / "table.csv", index=False)
    holes[::-1].to_csv(folder / "reversed.csv", index=False)
    choices = ("--rank", 3, "--coordinates", "z", "--structure", "balanced", "--max-iter", 1)
    for command in (
        ("import", folder / "table.csv", "--codes", "--out", folder / "table.zarr"),
        ("import", folder / "reversed.csv", "--codes", "--out", folder / "reversed.zarr"),
        (
            *("fit", folder / "table.zarr", "--model", "tensor-train-density", *choices),
            *("--missing", "marginalise", "--out", folder / "model.zarr", *THREADS),
        ),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    return folder, holes[::-1]


def test_predict__imputed_categories_are_names(run, survey, tmp_path):
    folder, holes = survey
    rows, out, text = folder / "reversed.zarr", tmp_path / "l.zarr", tmp_path / "l.csv"
    answers = ("--answer", "imputed", "--answer", "surprise", "--csv", text)
    result = run("predict", folder / "model.zarr", rows, *answers, "--out", out, *THREADS)
    assert result.exit_code == 0, result.stderr
    imputed = pd.read_csv(text)[[f"imputed_{name}" for name in "abc"]]
    present = holes.notna().to_numpy()
    plain = imputed.replace("'=maybe", "=maybe").to_numpy()
    assert (plain == holes.to_numpy())[present].all()
    assert {*plain[~present]} <= {"yes", "no, never", "=maybe"}
    array = zarr.open_group(out, mode="r")["imputed"]
    names = array.attrs["categories"]
    assert names == zarr.open_group(folder / "table.zarr")["X"].attrs["categories"]
    assert names != zarr.open_group(rows)["X"].attrs["categories"]
    said = run("info", out).stdout
    assert f"a                    3: {names['a'][0]}, {names['a'][1]}" in said
    facts = json.loads(run("info", out, "--json").stdout)["paths"][0]
    assert facts["categories"] == names


def test_predict__an_answer_that_is_no_table_is_refused_before_any_pass(run, survey, tmp_path):
    folder, _ = survey
    command = ("predict", folder / "model.zarr", folder / "table.zarr", *THREADS)
    answers = ("--answer", "imputed", "--answer", "posterior")
    out, text = tmp_path / "l.zarr", tmp_path / "l.csv"
    result = run(*command, *answers, "--out", out, "--csv", text)
    assert result.exit_code == 2
    assert "leave --csv or --answer posterior out" in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == []
    assert run(*command, *answers, "--out", out).exit_code == 0
    exported = run("export", out, "--to", text)
    message = " ".join(exported.stderr.split())
    assert (exported.exit_code, "posterior float64" in message, "imputed" in message) == (
        *(1, True, False),
    )
