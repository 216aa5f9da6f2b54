"""Names, cuts and merges of populations on the command line, and where names are shown."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import bigtensor
from bigtensor import GaussianMixture, KernelMixture, simulate

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def few_cells(run, tmp_path_factory) -> Path:
    """Return a store of a few cells of four samples."""
    path = tmp_path_factory.mktemp("names") / "cells.zarr"
    options = ("--rows", 6_000, "-k", 4, "--seed", 1)
    assert run("simulate", "cytometry", path, *options).exit_code == 0
    return path


@pytest.fixture(scope="module")
def fitted(few_cells) -> Path:
    """Return a model of 12 components in four populations."""
    model = KernelMixture(12, n_populations=4, random_state=0).fit(few_cells)
    return model.save(few_cells.with_name("model.zarr"))


@pytest.fixture
def model(fitted, tmp_path) -> Path:
    """Return a copy of the model, which a test may change."""
    return Path(shutil.copytree(fitted, tmp_path / "model.zarr"))


def names_of(path: Path) -> list[str]:
    return bigtensor.load(path).population_names_.tolist()


def write_names(path: Path, *lines: str, head: str = "population,name") -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def test_name__writes_a_table_to_edit_and_reads_it(run, model, tmp_path):
    table = tmp_path / "names.csv"
    listed = run("name", model, "--out", table)
    assert listed.exit_code == 0, listed.stderr
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    suggested = bigtensor.load(model).suggest_population_names()
    assert [row["population"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["name"] for row in rows] == suggested
    assert all(name.strip("()")[-1] in "+-123" for name in suggested)
    assert names_of(model) == ["0", "1", "2", "3"]
    named = run("name", model, table)
    assert named.exit_code == 0, named.stderr
    assert names_of(model) == suggested
    assert suggested[0] in named.stdout


def test_name__lists_thresholds_of_markers_and_takes_no_suggestions(run, model, tmp_path):
    facts = json.loads(run("name", model, "--json").stdout)
    suggested = [row["suggested_name"] for row in facts["populations"]]
    signed = {name.rstrip("+-") for name in suggested[0].split() if name[-1] in "+-"}
    assert signed
    assert signed <= {*facts["thresholds"]}
    table = write_names(tmp_path / "names.csv", f"{suggested[1]},B cells")
    refused = run("name", model, table)
    assert refused.exit_code != 0
    assert "suggested" in refused.stderr
    assert "number 1" in refused.stderr


@pytest.mark.parametrize("head", ["population;name", "population; name", '"population";"name"'])
def test_name__elsewhere_leaves_the_model(run, model, tmp_path, head):
    table = write_names(tmp_path / "names.csv", "0;B cells", head=f"\ufeff{head}")
    out = tmp_path / "named.zarr"
    result = run("name", model, table, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["model"] == str(out)
    assert [row["name"] for row in facts["populations"]] == ["B cells", "", "", ""]
    assert names_of(model) == ["0", "1", "2", "3"]
    assert names_of(out) == ["B cells", "1", "2", "3"]
    assert run("name", model, table, "--out", out).exit_code == 1


@pytest.mark.parametrize(
    ("head", "lines", "word"),
    [
        ("number,name", ["0,B"], "population and name"),
        ("population,name", ["0,B", "0,C"], "line 3"),
        ("population,name", ["0,B", "1,B"], "0, 1"),
        ("population,name", ["9,B"], "from 0 to 3"),
        ("population,name", ["1,T cells, CD4"], "line 2"),
        ("population,name", ["1,B", "0"], "line 3"),
        ("population,name", ["0,Rest", "3,0"], "population 3"),
        ("population,name", ["3,12"], "population 3"),
    ],
)
def test_name__refuses_a_table_and_keeps_the_model(run, model, tmp_path, head, lines, word):
    result = run("name", model, write_names(tmp_path / "names.csv", *lines, head=head))
    assert result.exit_code == 1
    assert word in result.stderr
    assert names_of(model) == ["0", "1", "2", "3"]


def test_cut_and_merge__keep_names_of_sets_that_stay(run, model):
    loaded = bigtensor.load(model)
    loaded.rename_populations({0: "first", 3: "last"}).save(model, overwrite=True)
    cut = run("cut", model, 3, "--json")
    assert cut.exit_code == 0, cut.stderr
    assert len(json.loads(cut.stdout)["populations"]) == 3
    loaded.cut_populations(3)
    assert names_of(model) == loaded.population_names_.tolist()
    merged = run("merge-populations", model, "0,1")
    assert merged.exit_code == 0, merged.stderr
    assert len(names_of(model)) == 2
    loaded.merge_populations([0, 1])
    assert "names dropped" not in merged.stdout
    assert names_of(model) == loaded.population_names_.tolist()
    assert run("cut", model, "auto").exit_code == 0
    assert names_of(model) == loaded.cut_populations("auto").population_names_.tolist()


def test_cut__says_which_names_are_dropped(run, model):
    bigtensor.load(model).rename_populations({0: "B", 1: "T"}).save(model, overwrite=True)
    assert "names dropped: B, T" in run("cut", model, 1).stdout
    refused = run("cut", model, 13)
    assert (refused.exit_code, "at most 12" in refused.stderr) == (1, True)


def test_merge__refuses_unknown_populations(run, model):
    result = run("merge-populations", model, "0,NK")
    assert (result.exit_code, "'NK'" in result.stderr) == (1, True)
    assert run("merge-populations", model).exit_code == 2


@pytest.mark.parametrize("group", ['"CD8, T",1', '1, "CD8, T"', '"CD8, T" ,"1"'])
def test_merge__takes_quoted_names_with_commas(run, model, group):
    bigtensor.load(model).rename_populations({0: "CD8, T"}).save(model, overwrite=True)
    merged = run("merge-populations", model, group)
    assert merged.exit_code == 0, merged.stderr
    assert sorted(names_of(model)) == ["1", "2", "CD8, T"]


def test_merge__line_breaks_separate_populations(run, model):
    assert run("merge-populations", model, "0,1\n2").exit_code == 0
    assert len(names_of(model)) == 2


def test_cut__needs_a_tree(run, tmp_path):
    cells = simulate.cytometry(2_000, 3, random_state=1)
    path = GaussianMixture(3, random_state=0).fit(cells).save(tmp_path / "m.zarr")
    result = run("cut", path, 2)
    assert (result.exit_code, "--populations" in result.stderr) == (1, True)
    assert run("merge-populations", path, "0,2").exit_code == 0
    assert len(names_of(path)) == 2


@pytest.fixture(scope="module")
def labelled(run, fitted, few_cells, tmp_path_factory):
    """Return a named model, its labels with a table by sample, and what predict said."""
    folder = tmp_path_factory.mktemp("named")
    path = folder / "model.zarr"
    bigtensor.load(fitted).rename_populations({0: "CD4 T", 1: "=B"}).save(path)
    labels, text = folder / "labels.zarr", folder / "labels.csv"
    outputs = ("--out", labels, "--csv", text, "--probabilities", "--by", "sample_id")
    result = run("predict", path, few_cells, *outputs, *THREADS, "--json")
    assert result.exit_code == 0, result.stderr
    return path, labels, json.loads(result.stdout)


def test_predict__labels_are_numbers_with_categories(labelled):
    _, labels, facts = labelled
    array = zarr.open_group(labels, mode="r")["label"]
    assert array.dtype == np.int32
    assert array.attrs["categories"] == facts["names"] == ["CD4 T", "=B", "2", "3"]


def test_predict__counts_and_tables_have_names(run, labelled, few_cells, tmp_path):
    path, labels, facts = labelled
    said = run("predict", path, few_cells, "--out", tmp_path / "l.zarr", *THREADS).stdout
    assert f"CD4 T: {facts['counts']['0']:,}, =B: " in said
    lines = Path(facts["csv"]).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("row,sample_id,population,label,probability_0")
    first = int(zarr.open_group(labels, mode="r")["label"][0])
    assert lines[1].split(",")[2] == ["CD4 T", "'=B", "2", "3"][first]
    head = Path(facts["table"]).read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("sample_id,rows,CD4 T,'=B,population_2,population_3,CD4 T_error")


def test_info__shows_names_and_suggestions(run, labelled):
    path, labels, _ = labelled
    assert "  CD4 T  " in run("info", labels).stdout
    said = run("info", path).stdout
    assert "\n0 CD4 T " in said
    (facts,) = json.loads(run("info", path, "--json").stdout)["paths"]
    assert facts["names"] == ["CD4 T", "=B", "2", "3"]
    assert f"\n2 ({facts['suggested_names'][2]})" in said


def test_export__anndata_has_names_as_categories(run, labelled, few_cells, tmp_path):
    anndata = pytest.importorskip("anndata")
    path, labels, _ = labelled
    target = tmp_path / "cells.h5ad"
    result = run(
        "export", labels, "--cells", few_cells, "--model", path, "--to", target, "--overwrite"
    )
    assert result.exit_code == 0, result.stderr
    adata = anndata.read_h5ad(target)
    assert [*adata.obs["bigtensor_label"].cat.categories] == ["CD4 T", "=B", "2", "3"]
    kept = bigtensor.from_anndata(adata)
    assert kept.population_names_.tolist() == ["CD4 T", "=B", "2", "3"]


def test_labels__of_other_populations_are_refused(run, labelled, few_cells, tmp_path, undrawn):
    path, labels, _ = labelled
    changed, renamed = tmp_path / "changed.zarr", tmp_path / "renamed.zarr"
    assert run("merge-populations", path, "0,1", "--out", changed).exit_code == 0
    report = ("--data", few_cells, "--labels", labels, "--out", tmp_path / "r.html")
    export = ("export", labels, "--cells", few_cells, "--to", tmp_path / "cells.h5ad", "--model")
    for refused in (run("report", changed, *report), run(*export, changed)):
        assert (refused.exit_code, "predict the labels again" in refused.stderr) == (1, True)
    # another name is no other population
    assert (
        run("name", path, write_names(tmp_path / "n.csv", "0,Th"), "--out", renamed).exit_code == 0
    )
    assert run(*export, renamed).exit_code == 0
    said = run("report", renamed, *report)
    assert said.exit_code == 0, said.stderr
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.search(r">0 Th\b", html)


def test_python__answers_have_names(labelled, few_cells):
    path, _, _ = labelled
    model = bigtensor.load(path)
    cells = xr.open_zarr(few_cells).load()
    labels = model.predict(cells)
    assert labels.attrs["categories"] == ["CD4 T", "=B", "2", "3"]
    assert "categories" not in model.score_samples(cells).attrs
    weights = model.weights_by(cells)
    assert weights["population_name"].to_numpy().tolist() == ["CD4 T", "=B", "2", "3"]
    html = model._repr_html_()
    assert "<td>0 CD4 T</td>" in html
