"""predict --by: the weights of every sample as a file and as a small table."""

import csv
import os
import re

import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor.cli.group_table import table_in_words, write_table
from bigtensor.errors import OutputError

THREADS = ("--scheduler", "threads")


def only(folder):
    return sorted(os.listdir(folder))  # noqa: PTH208


def read(path):
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    return header, lines


def table(groups, components, without=0):
    weight = np.random.default_rng(0).dirichlet(np.ones(components), groups)
    return xr.Dataset(
        {
            "weight": (("donor", "population"), weight),
            "standard_error": (("donor", "population"), 0.1 * weight),
            "rows": (("donor",), 1000 + np.arange(groups)),
        },
        {"donor": [f"[red], {group}" for group in range(groups)]},
        {"rows_without": without, "method": "maximum likelihood"},
    )


def test_predict__by_writes_and_prints_the_weights_of_every_sample(run, cells, model, tmp_path):
    result = run(
        "predict", model, cells, "--out", tmp_path / "l.zarr", "--by", "sample_id", *THREADS
    )
    assert result.exit_code == 0, result.stderr
    assert only(tmp_path) == ["l.zarr", "l_by_sample_id.csv"]
    header, lines = read(tmp_path / "l_by_sample_id.csv")
    columns = [f"component_{h}" for h in range(4)]
    assert header == ["sample_id", "rows", *columns, *(f"{column}_error" for column in columns)]
    expected = bigtensor.load(model).weights_by(cells)
    assert [line[0] for line in lines] == [f"sample{n}" for n in (1, 2, 3, 4)]
    assert [int(line[1]) for line in lines] == [5_000] * 4
    for part, name in ((slice(2, 6), "weight"), (slice(6, None), "standard_error")):
        written = [[float(value) for value in line[part]] for line in lines]
        np.testing.assert_allclose(written, expected[name], rtol=1e-8)
    words = result.stdout.splitlines()
    start = f"table      {tmp_path}/l_by_sample_id.csv: shares of 4 components by sample_id"
    (at,) = (place for place, line in enumerate(words) if line.startswith(start))
    assert words[at + 1] == f"method     {expected.attrs['method']}"
    assert words[at + 2].split()[:2] == ["sample_id", "rows"]
    first = [
        (f"{share:.2%}", f"±{100 * error:.2f}")
        for share, error in zip(
            expected["weight"].to_numpy()[0], expected["standard_error"].to_numpy()[0], strict=True
        )
    ]
    assert words[at + 3].split() == ["sample1", "5,000", *sum(first, ())]
    passes = list(dict.fromkeys(line.split(":")[0] for line in result.stderr.splitlines()))
    assert passes == ["weights by sample_id", "likelihood by sample_id", "predict"]


def test_predict__table_names_the_file(run, cells, model, tmp_path):
    command = ("predict", model, cells, "--out", tmp_path / "l.zarr", *THREADS)
    refused = run(*command, "--table", tmp_path / "t.csv")
    assert refused.exit_code == 2
    assert "give --by" in refused.stderr
    same = run(
        *command, "--by", "label", "--table", tmp_path / "a.csv", "--csv", tmp_path / "a.csv"
    )
    assert same.exit_code == 2
    assert only(tmp_path) == []
    assert run(*command, "--by", "label", "--table", tmp_path / "t.csv").exit_code == 0
    assert only(tmp_path) == ["l.zarr", "t.csv"]
    assert len(read(tmp_path / "t.csv")[1]) == 4


def test_predict__an_unknown_variable_writes_nothing(run, cells, model, tmp_path):
    result = run("predict", model, cells, "--out", tmp_path / "l.zarr", "--by", "patient", *THREADS)
    assert result.exit_code == 1
    assert "there are label, sample_id" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert only(tmp_path) == []


def test_predict__an_existing_table_is_refused_before_anything_runs(run, cells, model, tmp_path):
    target = tmp_path / "l_by_sample_id.csv"
    target.write_text("mine")
    command = ("predict", model, cells, "--out", tmp_path / "l.zarr", "--by", "sample_id", *THREADS)
    result = run(*command)
    assert result.exit_code == 1
    assert "give --overwrite" in result.stderr
    assert target.read_text() == "mine"
    assert only(tmp_path) == ["l_by_sample_id.csv"]
    assert run(*command, "--overwrite").exit_code == 0
    assert target.read_text().startswith("sample_id,rows,")


def test_table__what_is_not_shown_is_said(tmp_path):
    lines = table_in_words(table(25, 30, without=7), tmp_path / "t.csv").splitlines()
    assert lines[1] == "method     maximum likelihood"
    assert lines[2] == "without    7 rows have no donor"
    assert re.findall(r"^shown|\d+", lines[3]) == ["shown", "20", "25", "8", "30"]
    assert len(lines) == 5 + 20
    assert lines[5].startswith("[red], 0")
    assert len(lines[5].split()) == 2 + 1 + 2 * 8
    short = table_in_words(table(3, 2), tmp_path / "t.csv").splitlines()
    assert len(short) == 3 + 3


def test_table__names_with_commas_and_all_columns_are_written(tmp_path):
    weights = table(25, 30)
    write_table(weights, tmp_path / "t.csv")
    header, lines = read(tmp_path / "t.csv")
    assert (header[0], header[31], len(header)) == ("donor", "population_29", 62)
    assert header[-1] == "population_29_error"
    assert [line[0] for line in lines] == [f"[red], {group}" for group in range(25)]
    np.testing.assert_allclose(
        np.array([line[2:32] for line in lines], float), weights["weight"], rtol=1e-8
    )


def test_table__that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    folder = tmp_path / "taken.csv"
    folder.mkdir()
    with pytest.raises(OutputError, match=r"write .*taken\.csv"):
        write_table(table(2, 2), folder)
    assert only(tmp_path) == ["taken.csv"]
