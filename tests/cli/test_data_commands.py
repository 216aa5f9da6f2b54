"""simulate, import and info."""

import gzip
import json

import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor import GaussianMixture
from bigtensor.data.simulate import cytometry
from tests.data.importers.conftest import _write_fcs


def test_simulate__writes_the_rows_of_the_generator(run, tmp_path):
    path = tmp_path / "c.zarr"
    result = run("simulate", "cytometry", path, "--rows", "2e3", "--components", 3, "--seed", 7)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"data       {path}: 2,000 rows of 3 components")
    assert result.stderr.startswith("simulate: 2,000 rows, ")
    expected = cytometry(2000, 3, random_state=7)
    with xr.open_zarr(path) as found:
        np.testing.assert_array_equal(found["X"], expected["X"])
        np.testing.assert_array_equal(found["label"], expected["label"])


def test_simulate__refuses_an_existing_store_unless_told(run, tmp_path):
    command = ("simulate", "kernel-mixture", tmp_path / "k.zarr", "--rows", 500, "-k", 2)
    assert run(*command).exit_code == 0
    again = run(*command)
    assert again.exit_code == 1
    (line,) = again.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / 'k.zarr'} exists already")
    assert "--overwrite" in line
    assert run(*command, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "images", "x.zarr", "--rows", 5, "-k", 2),
        ("simulate", "cytometry", "x.zarr", "--rows", 0, "-k", 2),
        ("simulate", "cytometry", "x.zarr", "--rows", 5),
        ("import", "--out", "x.zarr"),
        ("import", "a.csv", "--out", "x.zarr", "--transform", "log"),
        ("fit", "c.zarr", "-k", 2, "--out", "x.zarr", "--memory-limit", "plenty"),
        ("fit", "c.zarr", "-k", 2, "--out", "x.zarr", "--workers", 2, "--scheduler", "tcp://h:1"),
        ("merge", "a.zarr", "b.zarr"),
    ],
)
def test_usage__wrong_arguments_are_exit_code_2(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_import__real_fcs(run, tmp_path, shared_data):
    path = tmp_path / "cells.zarr"
    file = shared_data / "activation" / "Activation_1.fcs"
    result = run("import", file, "--out", path, "--compensate", "--cofactor", 120)
    assert result.exit_code == 0, result.stderr
    assert f"{path}: 50,000 rows x 18 features" in result.stdout
    assert "arcsinh, cofactor 120; linear: FSC-A, " in result.stdout
    with xr.open_zarr(path) as cells:
        assert cells["X"].shape == (50_000, 18)
        assert cells.attrs["transform"]["cofactor"] == 120
        assert "FSC-A" in cells.attrs["transform"]["untransformed"]
    described = run("info", path).stdout
    assert "50,000 rows x 18 features" in described
    assert "arcsinh, cofactor 120" in described
    assert "layout     good to read by rows" in described


def test_import__says_what_a_later_import_has_to_repeat(run, tmp_path):
    names = ["FSC-A", "A", "B"]
    columns = [np.linspace(1, 1e5, 400).astype("<f4")] * 3
    with_matrix = _write_fcs(
        tmp_path / "a.fcs", columns, {"$SPILLOVER": "2,A,B,1,0.3,0,1"}, names=names
    )
    without = _write_fcs(tmp_path / "b.fcs", columns, names=names)
    store = tmp_path / "a.zarr"
    left = run("import", with_matrix, "--out", store).stdout
    assert f"--like {store}" in left
    line = next(line for line in left.splitlines() if line.startswith("spillover"))
    assert "--compensate" in line
    assert line in run("info", store).stdout.splitlines()
    removed = run("import", with_matrix, "--out", store, "--compensate", "--overwrite").stdout
    assert "removed from 2 channels" in removed
    again = run("import", with_matrix, "--out", tmp_path / "again.zarr", "--like", store).stdout
    assert "removed from 2 channels" in again
    assert "--like" not in again
    plain = run("import", without, "--out", tmp_path / "b.zarr", "--cofactor", 150).stdout
    assert "spillover" not in plain
    assert "--like" not in plain
    assert "no matrix" in run("info", tmp_path / "b.zarr").stdout


def test_info__says_how_the_data_of_a_fit_were_imported(run, tmp_path):
    cells = xr.Dataset(
        {"X": (("sample", "feature"), np.random.default_rng(0).normal(size=(200, 2)))},
        {"feature": ["CD3", "CD4"]},
        {"transform": {"name": "arcsinh", "cofactor": 150.0, "untransformed": []}},
    )
    GaussianMixture(2, random_state=0).fit(cells).save(tmp_path / "model.zarr")
    described = run("info", tmp_path / "model.zarr").stdout.splitlines()
    (line,) = [line for line in described if line.startswith("imported with")]
    assert "arcsinh, cofactor 150" in line
    (facts,) = json.loads(run("info", tmp_path / "model.zarr", "--json").stdout)["paths"]
    assert facts["import_record"]["transform"] == {"name": "arcsinh", "cofactor": 150.0}


def test_import__warnings_are_lines_and_options_are_named(run, tmp_path, shared_data):
    zoo = shared_data / "fcs_zoo"
    several = run("import", zoo / "coulter.lmd", "--out", tmp_path / "a.zarr")
    assert several.exit_code == 0
    warned = [line for line in several.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 1
    assert "choose with --dataset" in warned[0]
    assert ".py:" not in several.stderr
    offsets = run(
        "import",
        zoo / "data_start_offset_discrepancy_example.fcs",
        "--out",
        tmp_path / "b.zarr",
    )
    assert offsets.exit_code == 1
    assert "choose with --offsets header or text" in offsets.stderr
    assert not (tmp_path / "b.zarr").exists()


def test_import__csv_with_labels_and_common_features(run, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,y,kind\n1,2,t\n3,4,b\n")
    (tmp_path / "b.csv").write_text("y,x,z,kind\n6,5,0,t\n")
    files = (tmp_path / "a.csv", tmp_path / "b.csv")
    out = tmp_path / "cells.zarr"
    refused = run("import", *files, "--out", out, "--label", "kind")
    assert refused.exit_code == 1
    assert "--channels common" in refused.stderr
    result = run("import", *files, "--out", out, "--label", "kind", "--channels", "common")
    assert result.exit_code == 0, result.stderr
    with xr.open_zarr(out) as cells:
        assert cells["X"].values.tolist() == [[1, 2], [3, 4], [5, 6]]
        assert cells["label"].values.tolist() == [0, 1, 0]


def test_import__numbers_too_large_name_the_option(run, tmp_path):
    pytest.importorskip("pandas")
    path, out = tmp_path / "a.csv", tmp_path / "a.zarr"
    path.write_text("CD3,CD4\n1,2\n3,1e39\n")
    refused = run("import", path, "--out", out)
    assert refused.exit_code == 1
    assert "row 1 (from 0) of 'CD4' holds 1e+39" in refused.stderr
    assert "import with --dtype float64" in refused.stderr
    assert run("import", path, "--out", out, "--dtype", "float64").exit_code == 0


def test_import__names_the_options_of_other_kinds_as_they_were_typed(run, tmp_path, shared_data):
    table, fcs = tmp_path / "a.csv", shared_data / "activation" / "Activation_1.fcs"
    table.write_text("x,y\n1,2\n")
    out = ("--out", tmp_path / "a.zarr")
    of_fcs = run("import", table, *out, "--compensate", "--dataset", 1).stderr
    assert "--compensate, --dataset" in of_fcs
    assert "label" not in of_fcs
    assert "offsets" not in of_fcs
    of_tables = run("import", fcs, *out, "--label", "x", "--sequence", "y").stderr
    assert "--label, --sequence" in of_tables
    assert "--sample-id" not in of_tables


def test_import__damaged_files_are_one_line(run, tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"CD3,CD4\n" + b"1,2\n" * 1000)[:-8])
    result = run("import", path, "--out", tmp_path / "a.zarr")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"error: {path} cannot be read as a table")


def test_import__lists_few_of_many_features(run, tmp_path):
    """Thousands of genes would fill the terminal. --json has them all."""
    pytest.importorskip("pandas")
    names = [f"g{number}" for number in range(300)]
    table, out = tmp_path / "a.csv", tmp_path / "a.zarr"
    table.write_text(f"{','.join(names)}\n" + f"{','.join('1' * 300)}\n" * 3)
    result = run("import", table, "--out", out)
    assert result.exit_code == 0, result.stderr
    linear = [part for name in names[:200] for part in ("--untransformed", name)]
    options = ("--transform", "arcsinh", *linear, "--overwrite")
    left_out = run("import", table, "--out", out, *options)
    assert "linear: g0, g1, " in left_out.stdout, left_out.stderr
    for shown in (result, left_out, run("info", out)):
        assert "300 features" in shown.stdout
        assert max(map(len, shown.stdout.splitlines())) < 500
    facts = json.loads(run("import", table, "--out", out, "--overwrite", "--json").stdout)
    assert facts["used"] == names


def test_import__never_replaces_what_it_reads(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    result = run("import", tmp_path / "a.csv", "--out", tmp_path / "a.csv", "--overwrite")
    assert result.exit_code == 2
    assert (tmp_path / "a.csv").read_text() == "x,y\n1,2\n"


def test_info__describes_simulated_data(run, cells):
    result = run("info", cells)
    assert result.exit_code == 0
    assert f"data       {cells}: 20,000 rows x 6 features" in result.stdout
    assert "features   CD3, CD4, CD8, CD19, CD45, CD56" in result.stdout
    assert "values     X float32, chunks of 20,000 x 6" in result.stdout
    assert "label                (sample) int32" in result.stdout
    assert "simulator  cytometry" in result.stdout
    assert result.stderr == ""


def test_info__bad_chunks_come_with_the_remedy(run, tmp_path):
    path = tmp_path / "tiny-chunks.zarr"
    group = zarr.create_group(path)
    group.create_array(
        "X",
        shape=(2_000_000, 10),
        chunks=(1000, 10),
        shards=(2_000_000, 10),
        dtype="float32",
        dimension_names=("sample", "feature"),
    )[0, 0] = 1.0
    result = run("info", path)
    assert result.exit_code == 0
    layout = next(line for line in result.stdout.splitlines() if line.startswith("layout "))
    assert "1,000 rows" in layout
    assert ".chunk({'sample': " in layout


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("categories", ["p", 5, [1, None], {"p": 0}])
def test_info__describes_stores_of_others(run, tmp_path, zarr_format, categories):
    path = tmp_path / "other.zarr"
    patient = xr.DataArray(np.zeros(5, "i4"), dims="sample", attrs={"categories": categories})
    data = xr.Dataset({"X": (("sample", "feature"), np.ones((5, 2))), "patient": patient})
    data.to_zarr(path, zarr_format=zarr_format)
    result = run("info", path)
    assert result.exit_code == 0, result.stderr
    assert "  X                    (sample, feature) float64\n" in result.stdout
    names = ": 1, None" if isinstance(categories, list) else ""
    assert f"  patient              (sample) int32{names}\n" in result.stdout


@pytest.mark.parametrize("command", [("info",), ("fit", "-k", 2, "--out", "m.zarr")])
def test_stores_of_others__have_remedies_without_an_option(run, tmp_path, command):
    values = (("cell", "feature"), np.ones((5, 2)))
    xr.Dataset({"X": values}).to_zarr(tmp_path / "dims.zarr", zarr_format=2)
    several = xr.Dataset({"p": values, "q": values}).rename(cell="sample")
    several.to_zarr(tmp_path / "several.zarr", zarr_format=2)
    dims = run(*command, tmp_path / "dims.zarr")
    assert dims.exit_code == 1
    assert "to 'sample', or in Python" in dims.stderr
    variables = run(*command, tmp_path / "several.zarr")
    assert variables.exit_code == 1
    assert "to 'X', or in Python" in variables.stderr


@pytest.mark.parametrize("kind", ["nothing", "folder", "text", "empty group"])
def test_info__anything_else_is_a_clear_error(run, tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("hello")
    elif kind == "empty group":
        zarr.create_group(path)
    result = run("info", path)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert "not expected" not in result.stderr
    assert result.stdout == ""
