"""From files to a fit with what is there: starter views, features by name, refused outputs."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import bigtensor
from bigtensor.cli.options import read_views
from bigtensor.cli.starter_views import starter_views, write_starter_views

THREADS = ("--scheduler", "threads")
NAMES = ["CD3", "FSC-A", 'a "quoted" \\ name', "µ\tend\n", "\x7f\x01", "Time"]


def test_starter_views__are_those_of_a_fit_by_itself():
    kept = [name for name in NAMES if name not in ("FSC-A", "Time")]
    text = starter_views("cells.zarr", kept, {"scatter": ["FSC-A"], "time": ["Time"]})
    assert tomllib.loads(text)["views"] == {name: [name] for name in kept}
    whole = text.replace('# "FSC-A"', '"FSC-A"').replace('# "Time"', '"Time"')
    assert tomllib.loads(whole)["views"].keys() == set(NAMES)
    assert "# Left out (time):" in text


def test_starter_views__never_replace_a_file(tmp_path):
    (tmp_path / "cells.views.toml").write_text("mine")
    assert not write_starter_views(tmp_path / "cells.zarr", ["a", "b"], {})
    assert (tmp_path / "cells.views.toml").read_text() == "mine"


def test_starter_views__of_every_store_in_a_folder(run, table):
    for name in ("first", "second"):
        assert run("import", table, "--out", table.with_name(f"{name}.zarr")).exit_code == 0
        assert read_views(table.with_name(f"{name}.views.toml")).keys() == {"CD3", "CD4", "CD19"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("first") / "cells.csv"
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 3000)
    rows = rng.normal(size=(3000, 3)) + 5 * label[:, None]
    np.savetxt(path, rows, delimiter=",", header="CD3,CD4,CD19", comments="")
    return path


def test_import__writes_views_that_fit_takes(run, table):
    out = table.with_name("cells.zarr")
    result = run("import", table, "--out", out)
    assert result.exit_code == 0, result.stderr
    views = table.with_name("cells.views.toml")
    assert f"views      {views}: " in result.stdout
    assert read_views(views) == {name: [name] for name in ("CD3", "CD4", "CD19")}
    plan = run("plan", out, "-k", 2, "--views", views)
    assert plan.exit_code == 0, plan.stderr
    again = run("import", table, "--out", out, "--overwrite")
    assert f"views      {views}: kept" in again.stdout


def test_features__are_views_of_their_own(run, table, tmp_path):
    store = tmp_path / "cells.zarr"
    assert run("import", table, "--out", store).exit_code == 0
    out = tmp_path / "model.zarr"
    given = ("-k", 2, "--features", "CD19, CD3", "--init", "kmeans")
    result = run("fit", store, *given, "--out", out, *THREADS)
    assert result.exit_code == 0, result.stderr
    assert bigtensor.load(out).views_.as_mapping() == {"CD19": ["CD19"], "CD3": ["CD3"]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--features", "CD3,,CD4"), "holds an empty name"),
        (("--features", "CD3,CD3"), "holds 'CD3' twice"),
        (("--features", "CD3", "--views", "views.toml"), "give it or --views"),
    ],
)
def test_features__that_cannot_be_used(run, cells, given, words):
    result = run("plan", cells, "-k", 2, *given)
    assert result.exit_code == 2
    assert words in result.stderr


def test_import__to_another_kind_of_file_names_the_export(run, table):
    result = run("import", table, "--out", table.with_name("cells.h5ad"))
    assert result.exit_code == 2
    assert "bigtensor export" in result.stderr


@pytest.mark.slow  # 100,000 events; each command is quick elsewhere
def test_readme__from_cytometer_files_to_anndata(run, shared_data, tmp_path, monkeypatch):
    """The commands of the README, as they stand there, without the ones that only show."""
    anndata = pytest.importorskip("anndata")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^bigtensor ((?:import|fit|predict|export) .*)$", readme, re.MULTILINE)
    assert [line.split()[0] for line in shown] == ["import", "fit", "predict", "export"]
    for file in sorted((shared_data / "activation").glob("*.fcs"))[:2]:
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    for line in shown:
        threads = THREADS if line.startswith(("fit", "predict")) else ()
        # the pattern is left to the command, as in quotes
        result = run(*shlex.split(line), *threads)
        assert result.exit_code == 0, result.stderr
    made = anndata.read_h5ad("cells.h5ad")
    assert made.n_obs == 100_000
    assert len(made.obs["sample_id"].cat.categories) == 2
    populations = made.obs["bigtensor_label"].cat.categories
    assert 8 <= len(populations) <= 30
    np.testing.assert_allclose(made.obsm["X_bigtensor_proba"].sum(axis=1), 1.0, rtol=1e-5)
