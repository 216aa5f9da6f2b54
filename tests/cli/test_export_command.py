"""export: labels of a store to CSV, AnnData and FCS."""

import json
import shutil

import anndata
import flowio
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import bigtensor
from bigtensor import simulate
from bigtensor.data.stores.manifest import seal

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def labels(run, cells, model, tmp_path_factory):
    """Return labels and probabilities of the cells."""
    out = tmp_path_factory.mktemp("export") / "labels.zarr"
    assert run("predict", model, cells, "--out", out, "--probabilities", *THREADS).exit_code == 0
    return out


@pytest.fixture
def annotated(cells, tmp_path):
    """Return the cells as an AnnData file."""
    with xr.open_zarr(cells, chunks=None) as data:
        values, names = data["X"].to_numpy(), [str(name) for name in data["feature"].to_numpy()]
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(len(values))])
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=names)).write_h5ad(path)
    return path


def test_export__to_csv(run, labels, tmp_path):
    result = run("export", labels, "--to", tmp_path / "l.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0] == f"exported   {labels} to {tmp_path / 'l.csv'}"
    table = pd.read_csv(tmp_path / "l.csv")
    group = zarr.open_group(labels, mode="r")
    assert table["label"].tolist() == group["label"][:].tolist()
    names = [*(f"probability_{h}" for h in range(4)), "log_density"]
    assert table.columns.tolist()[2:] == names
    again = run("export", labels, "--to", tmp_path / "l.csv")
    assert again.exit_code == 1
    assert "give --overwrite" in again.stderr


def test_export__to_csv_says_which_features_are_renamed(run, labels, cells, tmp_path):
    with xr.open_zarr(cells, chunks=None) as data:
        names = [*map(str, data["feature"].to_numpy())]
        more = data["X"].load().assign_coords(feature=np.array(["label", *names[1:]], object))
        both = xr.concat([data["X"].load(), more[:, :1]], "feature")
        named = both.to_dataset(name="X").assign(sample_id=data["sample_id"].load())
    named.drop_encoding().to_zarr(tmp_path / "named.zarr", zarr_format=3, consolidated=False)
    result = run(
        *("export", labels, "--to", tmp_path / "l.csv", "--cells", tmp_path / "named.zarr"),
        *("--features", "label"),
    )
    assert result.exit_code == 0, result.stderr
    assert "'label_2'" in result.stdout
    assert pd.read_csv(tmp_path / "l.csv").columns.tolist()[:4] == [
        *("row", "sample_id", "label_2", "label")
    ]


def test_export__to_csv_with_samples_and_markers(run, labels, cells, tmp_path):
    out = tmp_path / "l.csv"
    with xr.open_zarr(cells, chunks=None) as data:
        features = [str(name) for name in data["feature"].to_numpy()[[3, 0]]]
        expected = data["X"].sel(feature=features).to_numpy()
        samples = np.array(data["sample_id"].attrs["categories"])[data["sample_id"]]
    chosen = ("--cells", cells, "--features", ", ".join(features))
    result = run("export", labels, "--to", out, *chosen)
    assert result.exit_code == 0, result.stderr
    table = pd.read_csv(out)
    assert table.columns.tolist()[:5] == ["row", "sample_id", *features, "label"]
    assert table["sample_id"].tolist() == samples.tolist()
    np.testing.assert_allclose(table[features], expected, rtol=1e-6)
    unknown = run("export", labels, "--to", tmp_path / "u.csv", *chosen[:3], "CD3,none")
    assert unknown.exit_code == 1
    assert "variable of the rows none" in unknown.stderr
    alone = run("export", labels, "--to", tmp_path / "u.csv", *chosen[2:])
    assert (alone.exit_code, "give it with --cells" in alone.stderr) == (2, True)


@pytest.mark.parametrize("kind", ["csv", "h5ad", "subset", "report"])
@pytest.mark.quick_cases("csv", "report")
def test_labels__of_other_rows_are_warned_of(run, labels, cells, model, tmp_path, kind, undrawn):
    other, copy, target = tmp_path / "other.zarr", tmp_path / "copy.zarr", tmp_path / f"l.{kind}"
    shutil.copytree(cells, copy)
    shutil.copytree(cells, other)
    with xr.open_zarr(cells, chunks=None) as data:
        zarr.open_group(other)["X"][:] = data["X"].to_numpy()[::-1]
    command = {
        "csv": ("export", labels, "--to", target, "--features", "CD3", "--cells"),
        "h5ad": ("export", labels, "--to", target, "--model", model, "--cells"),
        "subset": ("subset", "--labels", labels, "--population", "0", "--out", target),
        "report": ("report", model, "--labels", labels, "--out", target, "--data"),
    }[kind]
    warned = run(*command, other)
    assert (warned.exit_code, "answers that are not theirs" in warned.stderr) == (0, True)
    right = run(*command, copy, "--overwrite")
    assert (right.exit_code, "not theirs" in right.stderr) == (0, False)


def test_export__to_anndata_with_the_model(run, labels, cells, model, annotated):
    command = ("export", labels, "--to", annotated, "--model", model)
    result = run(*command)
    assert result.exit_code == 0, result.stderr
    data = anndata.read_h5ad(annotated)
    group = zarr.open_group(labels, mode="r")
    np.testing.assert_array_equal(data.obs["bigtensor_label"].cat.codes, group["label"][:])
    np.testing.assert_array_equal(data.obsm["X_bigtensor_proba"], group["probability"][:])
    assert data.var["bigtensor_used"].all()
    same = bigtensor.from_anndata(data)
    np.testing.assert_array_equal(same.weights_, bigtensor.load(model).weights_)
    again = run(*command)
    assert again.exit_code == 1
    assert "give --overwrite" in again.stderr
    assert run(*command, "--overwrite").exit_code == 0


def test_export__of_a_fit_to_obsm_writes_into_the_file_of_the_cells(run, annotated, tmp_path):
    data = anndata.read_h5ad(annotated)[:3000].copy()
    data.obsm["X_pca"] = data.X[:, :2] - 1
    data.write_h5ad(annotated)
    store, model, labels = (tmp_path / f"{name}.zarr" for name in ("pca", "model", "labels"))
    commands = [
        ("import", annotated, "--obsm", "X_pca", "--out", store),
        ("fit", store, "--model", "GaussianMixture", "--components", 2, "--out", model, *THREADS),
        ("predict", model, annotated, "--out", labels, "--probabilities", *THREADS),
        ("export", labels, "--to", annotated, "--model", model),
    ]
    for command in commands:
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    lines = run("info", model).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("matrix of the fit  ")]
    assert line.split("  ")[1].startswith("obsm/X_pca of AnnData (")
    data = anndata.read_h5ad(annotated)
    same = bigtensor.from_anndata(data, obsm="X_pca")
    np.testing.assert_array_equal(data.obs["bigtensor_label"].cat.codes, same.predict(store))
    assert "bigtensor_used" not in data.var
    made = tmp_path / "new.h5ad"
    new = run("export", labels, "--to", made, "--model", model, "--cells", store)
    assert new.exit_code == 0, new.stderr
    data = anndata.read_h5ad(made)
    np.testing.assert_array_equal(bigtensor.from_anndata(data).predict(data), same.predict(store))


def test_export__makes_an_anndata_file_of_cells_and_labels(run, labels, cells, model, tmp_path):
    out = tmp_path / "new.h5ad"
    result = run("export", labels, "--to", out, "--model", model, "--cells", cells)
    assert result.exit_code == 0, result.stderr
    made = anndata.read_h5ad(out)
    with xr.open_zarr(cells, chunks=None) as data:
        np.testing.assert_array_equal(made.X, data["X"])
        assert made.var_names.tolist() == data["feature"].to_numpy().tolist()
        for name in ("sample_id", "label"):
            names = np.array(data[name].attrs["categories"])[data[name]]
            assert made.obs[name].astype(str).tolist() == names.tolist()
    group = zarr.open_group(labels, mode="r")
    assert made.obs["bigtensor_label"].astype(int).tolist() == group["label"][:].tolist()
    np.testing.assert_array_equal(made.obsm["X_bigtensor_proba"], group["probability"][:])
    assert json.loads(made.uns["bigtensor"]["description"])["kind"] == "KernelMixture"
    assert made.obs_names[:2].tolist() == ["sample1-0", "sample1-1"]
    assert made.obs_names.is_unique
    made.write_h5ad(tmp_path / "again.h5ad")
    again = run("export", labels, "--to", out, "--model", model, "--cells", cells)
    assert (again.exit_code, "give --overwrite" in again.stderr) == (1, True)
    replaced = run(
        *("export", labels, "--to", out, "--model", model, "--cells", cells), "--overwrite"
    )
    assert replaced.exit_code == 0, replaced.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.h5ad", "new.h5ad"]


def test_export__to_no_anndata_file_says_how_to_make_one(run, labels, cells, model, tmp_path):
    result = run("export", labels, "--to", tmp_path / "new.h5ad", "--model", model)
    assert result.exit_code == 1
    assert "that was labelled (--cells)" in result.stderr
    zarr_made = run(
        "export", labels, "--to", tmp_path / "new.zarr", "--model", model, "--cells", cells
    )
    assert "ends in .h5ad" in zarr_made.stderr
    assert list(tmp_path.iterdir()) == []


def test_export__another_model_is_refused(run, labels, cells, annotated, tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\na = ["CD3", "CD4"]\nb = ["CD8", "CD19"]\n')
    other = tmp_path / "other.zarr"
    fit = ("fit", cells, "-k", 4, "--out", other, "--views", views, "--init", "kmeans", *THREADS)
    assert run(*fit).exit_code == 0
    result = run("export", labels, "--to", annotated, "--model", other)
    assert result.exit_code == 1
    assert "was not made by" in result.stderr
    assert "bigtensor" not in anndata.read_h5ad(annotated).uns


def test_export_and_report__labels_of_an_equal_model_of_other_cells_are_refused(run, tmp_path):
    paths = {}
    for name, seed in (("a", 0), ("b", 1)):
        paths[name] = tmp_path / f"{name}.zarr"
        simulate.write_cytometry(paths[name], 1_500, 2, markers=3, samples=1, random_state=seed)
        fitted = bigtensor.KernelMixture(2, random_state=0).fit(str(paths[name]))
        paths[f"model {name}"] = fitted.save(tmp_path / f"m{name}.zarr")
    labels, target, page = (tmp_path / name for name in ("l.zarr", "x.h5ad", "r.html"))
    assert run("predict", paths["model a"], paths["a"], "--out", labels, *THREADS).exit_code == 0
    export = ("export", labels, "--to", target, "--cells", paths["a"], "--model")
    report = ("--data", paths["a"], "--labels", labels, "--out", page)
    for refused in (run(*export, paths["model b"]), run("report", paths["model b"], *report)):
        assert refused.exit_code == 1
        assert "another fit of KernelMixture" in " ".join(refused.stderr.split())
    assert not target.exists()
    # a name changes no label
    named = bigtensor.load(paths["model a"]).rename_populations({0: "T cells"})
    named.save(paths["model a"], overwrite=True)
    accepted = run(*export, paths["model a"])
    assert accepted.exit_code == 0, accepted.stderr
    # answers of earlier versions have no digest
    stored = json.loads((labels / "zarr.json").read_text())
    del stored["attributes"]["fit_digest"]
    (labels / "zarr.json").write_text(json.dumps(stored))
    seal(labels, lost="drop")
    accepted = run(*export, paths["model b"], "--overwrite")
    assert accepted.exit_code == 0, accepted.stderr


def test_export__to_fcs_from_import_to_copies(run, tmp_path):
    rng = np.random.default_rng(2)
    paths, names = [], ["CD3", "CD4", "CD8", "CD19"]
    for name, rows in (("one", 3000), ("two", 2000)):
        centres = rng.choice([0.0, 4.0], size=(rows, 1))
        events = (centres + rng.normal(size=(rows, 4))).astype(np.float32)
        paths.append(tmp_path / f"{name}.fcs")
        with paths[-1].open("wb") as file:
            flowio.create_fcs(file, events.ravel().tolist(), names)
    cells, model, labels = (tmp_path / f"{name}.zarr" for name in ("cells", "model", "labels"))
    for command in (
        ("import", *paths, "--out", cells, "--transform", "none"),
        ("fit", cells, "-k", 2, "--out", model, *THREADS),
        ("predict", model, cells, "--out", labels, *THREADS),
        ("export", labels, *paths, "--to", tmp_path / "out", "--cells", cells),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    said = result.stdout.splitlines()[0]
    assert said == f"exported   {labels} to {tmp_path / 'out'} (2 FCS files)"
    label = zarr.open_group(labels, mode="r")["label"][:]
    read = [flowio.FlowData(tmp_path / "out" / path.name).as_array()[:, -1] for path in paths]
    np.testing.assert_array_equal(np.concatenate(read), label)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "folder"), "name the files that were imported"),
        (("--to", "a.h5ad"), "to anndata files needs --model"),
        (("x.fcs", "--to", "folder"), "an export to fcs files needs --cells"),
        (("x.fcs", "--to", "a.h5ad"), "FCS files are copied to a folder"),
        (("--to", "a.csv", "--model", "m.zarr"), "--model has no meaning"),
        (("--to", "a.csv", "--offsets", "text"), "--offsets has no meaning"),
    ],
)
def test_export__wrong_usage_says_what_is_needed(run, labels, options, message):
    result = run("export", labels, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", ["label", "probability"])
def test_export__of_labels_with_a_lost_chunk_is_refused(run, labels, tmp_path, name):
    copy = shutil.copytree(labels, tmp_path / "copy.zarr")
    shutil.rmtree(copy / name / "c")
    for command in (("export", copy, "--to", tmp_path / "l.csv"), ("info", copy)):
        result = run(*command)
        assert result.exit_code == 1
        assert f"1 of the 1 files of '{name}' are absent" in result.stderr.replace("\n", " ")
    assert not (tmp_path / "l.csv").exists()


@pytest.mark.parametrize("command", ["info", "export"])
def test_labels__with_a_flipped_bit_name_their_rows(run, labels, tmp_path, command):
    copy = shutil.copytree(labels, tmp_path / "copy.zarr")
    chunk = copy / "label" / "c" / "0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    options = ("--to", tmp_path / "l.csv") if command == "export" else ()
    result = run(command, copy, *options)
    assert result.exit_code == 1
    assert "rows 0 to 19,999 of" in result.stderr.replace("\n", " ")
