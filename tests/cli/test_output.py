"""What commands print: words, JSON for programs, nothing on request, and no control characters."""

import csv
import json
import os
import shlex
import subprocess
import sys

import pytest

from bigtensor.cli.group_table import write_table
from bigtensor.cli.output import one_line, printable
from bigtensor.data.stores.layout import SampleStoreWriter
from tests.cli.conftest import ROOT
from tests.cli.test_group_table import table

THREADS = ("--scheduler", "threads")
ESCAPE = "\x1b[2J\x1b]0;title\x07"


def facts(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_plan__as_json(run, cells):
    found = facts(run("plan", cells, "-k", 4, "--memory-limit", "1GiB", "--json"))
    assert (found["rows"], found["features"], found["fits"]) == (20_000, 6, True)
    assert found["allowed_nbytes"] == 2**30
    sizes = {"state_nbytes", "work_nbytes", "driver_nbytes"}
    assert found["passes"][0].keys() == {"name", "times", "rows", *sizes}


def test_fit_and_predict__as_json(run, cells, tmp_path):
    model, labels, where = tmp_path / "m.zarr", tmp_path / "l.zarr", (*THREADS, "--json")
    found = facts(run("fit", cells, "-k", 4, "--out", model, *where))
    assert (found["model"], found["n_components"], found["populations"]) == (str(model), 4, None)
    assert sum(found["weights"]) == pytest.approx(1)
    (described,) = facts(run("info", model, "--json"))["paths"]
    same = {"n_components", "weights", "outcome", "verdict", "notes", "mean_log_likelihood"}
    assert {name: found[name] for name in same} == {name: described[name] for name in same}
    assert found["plan"]["rows"] == found["rows"] == 20_000
    assert found["verdict"]["good"]
    found = facts(run("predict", model, cells, "--out", labels, *where))
    assert found["labels"] == str(labels)
    assert sum(found["counts"].values()) == found["rows"] == 20_000
    assert found["csv"] is None


def test_quiet__leaves_warnings_and_errors(run, cells, model, tmp_path):
    result = run("predict", model, cells, "--out", tmp_path / "l.zarr", *THREADS, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    again = run("predict", model, cells, "--out", tmp_path / "l.zarr", *THREADS, "-q")
    assert again.exit_code == 1
    assert again.stderr.startswith("error: ")


def test_names_of_others__cannot_steer_the_terminal(run, tmp_path):
    names = [f"CD3{ESCAPE}", "CD4\nlayout     good", "CD\u202e19"]
    with SampleStoreWriter(tmp_path / "c.zarr", names) as store:
        store.append([[0.0, 1.0, 2.0]] * 20)
    result = run("info", tmp_path / "c.zarr")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "CD3\\x1b[2J\\x1b]0;title\\x07, CD4\\nlayout     good, CD\\u202e19" in result.stdout
    refused = run("plan", tmp_path / "c.zarr", "-k", 4, "--views", tmp_path / f"no{ESCAPE}.toml")
    assert refused.exit_code == 1
    assert "\x1b" not in refused.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("CD3+ T cells, µ ≥ 3 %\n\tnext", "CD3+ T cells, µ ≥ 3 %\n\tnext"),
        ("a\rb", "a\\rb"),
        ("\x9b31m", "\\x9b31m"),
        ("\u2066", "\\u2066"),
        ("name \ud800", "name \\ud800"),
        ("sftp://me:p%2Fw@h/a, http://h:80/b@c", "sftp://me:***@h/a, http://h:80/b@c"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown


def test_one_line__has_no_line_ends():
    assert one_line("a\nb\tc\x07") == "a\\nb\\tc\\x07"


def test_table__a_spreadsheet_runs_no_name(tmp_path):
    weights = table(5, 2)
    names = ["=cmd|'/C calc'!A0", "+1+A1", "-2+A1", "@SUM(A1)", "donor"]
    write_table(weights.assign_coords(donor=names), tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        written = [line[0] for line in csv.reader(file)]
    assert written[0] == "donor"
    assert sorted(written[1:]) == sorted(["donor", *(f"'{name}" for name in names[:4])])


def run_with(arguments, **streams):
    """Run a command in a process of its own, whose streams are real files."""
    words = [sys.executable, "-m", "bigtensor", *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, check=False, text=True, **streams)


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")  # noqa: PTH110


@FULL
@pytest.mark.parametrize("option", [(), ("--json",)])
@pytest.mark.quick_cases("option0")
def test_full_standard_output__is_a_plain_error(cells, option):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = run_with(("info", cells, *option), stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: standard output ")
    assert "not expected" not in line


@FULL
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_full_standard_output__is_a_plain_error_of_help_too(option):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = run_with((option,), stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: standard output ")


@pytest.mark.skipif(os.name != "posix", reason="shells of other systems close no streams")
@pytest.mark.slow  # a full one is quick
def test_closed_standard_error__ends_no_work(cells, tmp_path):
    out = tmp_path / "model.zarr"
    words = (sys.executable, "-m", "bigtensor", "fit", cells, "-k", 2, "--out", out)
    words += ("--init", "kmeans", "--max-iter", 1)
    command = f"{shlex.join(map(str, words))} --scheduler threads 2>&-"
    result = subprocess.run(["sh", "-c", command], cwd=ROOT, check=False, capture_output=True)
    assert result.returncode == 0
    assert (out / "zarr.json").exists()


@FULL
def test_full_standard_error__ends_no_work(cells):
    paths = ("info", cells, "nothing.zarr", "--json")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = run_with(paths, stdout=subprocess.PIPE, stderr=full)
    assert result.returncode == 1
    first, second = json.loads(result.stdout)["paths"]
    assert first["kind"] == "samples"
    assert "nothing.zarr" in second["error"]


@pytest.mark.skipif(os.name != "posix", reason="pipes of other systems have other errors")
def test_closed_pipe__ends_the_command_without_a_word(cells):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        result = run_with(("info", cells, cells), stdout=closed, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (141, "")
