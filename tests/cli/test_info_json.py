"""``bigtensor info --json``: one document, of which the words are made."""

import json

import anndata
import fsspec
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

from bigtensor.cli.commands.info import _LINES
from bigtensor.cli.output import printable
from bigtensor.data.stores.layout import SampleStoreWriter
from tests.data.importers.conftest import _write_fcs

THREADS = ("--scheduler", "threads")

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")


def small_anndata() -> anndata.AnnData:
    """Return AnnData with elements of every kind."""
    values = np.arange(60, dtype=np.float32).reshape(20, 3)
    data = anndata.AnnData(
        values,
        obs=pd.DataFrame(
            {
                "patient": pd.Categorical(["a\x1b[2J", "b"] * 10),
                "score": np.arange(20.0),
                "whole": pd.array([1, None] * 10, dtype="Int64"),
            },
            [f"c{row}" for row in range(20)],
        ),
        var=pd.DataFrame(index=["CD3", "CD4", "CD19"]),
        layers={"counts": sp.csr_matrix(values)},
    )
    data.obsm["X_pca"] = values[:, :2]
    data.obsm["named"] = pd.DataFrame(values[:, :2], data.obs_names, ["u", "v"])
    return data


@pytest.fixture(scope="module")
def kinds(run, cells, model, tmp_path_factory):
    """Return the path of something of every kind."""
    folder = tmp_path_factory.mktemp("kinds")
    paths = {name: folder / f"{name}.zarr" for name in ("labels", "prepared", "statistics")}
    steps = (
        ("predict", model, cells, "--out", paths["labels"], *THREADS),
        ("prepare", cells, "-k", 4, "--out", paths["prepared"], *THREADS),
        ("accumulate", paths["prepared"], cells, "--out", paths["statistics"], *THREADS),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.stderr
    small_anndata().write_h5ad(folder / "a.h5ad")
    small_anndata().write_zarr(folder / "a.zarr")
    columns = [np.array([1, 2, 3], "<u2")] * 2
    keywords = {"$P2S": "CD3", "$CYT": "LSR\x1b[2J"}
    return paths | {
        "samples": cells,
        "model": model,
        "anndata": folder / "a.h5ad",
        "anndata store": folder / "a.zarr",
        "fcs": _write_fcs(folder / "a.fcs", columns, keywords, names=["FSC-A", "FL1-A"]),
    }


KINDS = ["samples", "model", "prepared", "labels", "statistics", "anndata", "anndata store", "fcs"]


@pytest.mark.parametrize("kind", KINDS)
def test_words__are_made_of_the_document_alone(run, kinds, kind):
    words, document = run("info", kinds[kind]), run("info", kinds[kind], "--json")
    assert (words.exit_code, document.exit_code) == (0, 0)
    (facts,) = json.loads(document.stdout)["paths"]
    assert facts["path"] == str(kinds[kind])
    expected = {"prepared": "model", "anndata store": "anndata"}.get(kind, kind)
    assert facts["kind"] == expected
    if kind == "labels":
        # keys of JSON are strings
        facts["counts"] = {int(label): count for label, count in facts["counts"].items()}
    assert printable("\n".join(_LINES[expected](facts))) + "\n" == words.stdout


def test_document__has_the_numbers(run, kinds):
    document = json.loads(run("info", *kinds.values(), "--json").stdout)
    facts = dict(zip(kinds, document["paths"], strict=True))
    assert "together" not in document
    assert facts["samples"]["rows"] == sum(facts["labels"]["counts"].values()) == 20_000
    assert facts["statistics"]["rows"] == 20_000
    assert sum(facts["model"]["weights"]) == pytest.approx(1)
    assert facts["prepared"]["weights"] is None
    assert [each["marker"] for each in facts["fcs"]["channels"]] == ["", "CD3"]
    for kind in ("anndata", "anndata store"):
        found = facts[kind]
        assert (found["rows"], found["features"]) == (20, ["CD3", "CD4", "CD19"])
        assert found["quantiles"]["features"]["CD3"]["quantiles"][2] == 28.5
        assert found["layers"][0]["encoding"] == "csr_matrix"
        assert found["layers"][0]["shape"] == [20, 3]
        names = [column["name"] for column in found["obs"]]
        assert names == ["patient", "score", "whole"]
        assert found["obs"][0]["categories"] == ["a\x1b[2J", "b"]
        assert [matrix["name"] for matrix in found["obsm"]] == ["X_pca", "named"]
        assert found["obsm"][1]["columns"] == ["u", "v"]


def test_document__tells_what_cannot_be_read_among_what_can(run, kinds, tmp_path):
    result = run("info", tmp_path / "gone.zarr", kinds["fcs"], "--json")
    assert result.exit_code == 1
    gone, fcs = json.loads(result.stdout)["paths"]
    assert "there is no store" in gone["error"]
    assert fcs["rows"] == 3
    cube = tmp_path / "cube.zarr"
    xr.Dataset({"X": (("lat", "lon", "band"), np.zeros((2, 2, 2)))}).to_zarr(
        cube, consolidated=False
    )
    # the error of the layout knows no path
    assert f"error: {cube}: no two-dimensional" in run("info", kinds["fcs"], cube).stderr
    document = json.loads(run("info", kinds["fcs"], kinds["fcs"], "--json").stdout)
    assert document["together"] == {"rows": 6, "features": ["FSC-A", "CD3"], "problem": None}


def test_document__holds_no_nan(run, tmp_path):
    path = tmp_path / "cells.zarr"
    record = {"transform": {"name": "arcsinh", "cofactor": float("nan")}}
    with SampleStoreWriter(path, ["a", "b"], attrs=record) as store:
        store.append(np.full((5, 2), np.nan))
    result = run("info", path, "--json")
    assert result.exit_code == 0, result.stderr
    (facts,) = json.loads(result.stdout, parse_constant=pytest.fail)["paths"]
    assert facts["attributes"]["transform"]["cofactor"] is None
    assert facts["quantiles"]["features"]["a"] == {"quantiles": None, "missing": 1.0}


def test_url__is_described_as_a_path_is(run, kinds):
    files = fsspec.filesystem("memory")
    try:
        for kind in ("samples", "model", "labels", "anndata", "anndata store"):
            files.put(str(kinds[kind]), f"/info/{kind}{kinds[kind].suffix}", recursive=True)
            url = f"memory://info/{kind}{kinds[kind].suffix}"
            for address in (url, f"file://{kinds[kind]}"):
                result = run("info", address)
                assert result.exit_code == 0, result.stderr
                expected = run("info", kinds[kind]).stdout.replace(str(kinds[kind]), address)
                assert result.stdout == expected
    finally:
        files.rm("/info", recursive=True)


@pytest.mark.parametrize("fault", ["columns", "no X"])
def test_anndata__that_no_fit_takes_is_described_with_the_reason(run, tmp_path, fault):
    data = small_anndata()
    if fault == "no X":
        data.X = None
    else:
        data.X = sp.csc_matrix(data.X)
    data.write_h5ad(tmp_path / "a.h5ad")
    result = run("info", tmp_path / "a.h5ad")
    assert result.exit_code == 0, result.stderr
    reason = {"columns": "tocsr()", "no X": "layer='counts'"}[fault]
    (problem,) = [line for line in result.stdout.splitlines() if line.startswith("problem")]
    assert reason in problem
    assert "patient              categorical: a\\x1b[2J, b" in result.stdout


@pytest.mark.slow
def test_anndata__of_many_genes_is_bounded(run, tmp_path):
    names = [f"gene{column}" for column in range(5000)]
    values = sp.random(3000, 5000, 0.01, "csr", np.float32, random_state=0)
    anndata.AnnData(values, var=pd.DataFrame(index=names)).write_h5ad(tmp_path / "a.h5ad")
    result = run("info", tmp_path / "a.h5ad")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) < 70
    assert "gene11, ... 5000 in all" in result.stdout
    assert "5,000 features in all" in result.stdout
    (facts,) = json.loads(run("info", tmp_path / "a.h5ad", "--json").stdout)["paths"]
    assert len(facts["quantiles"]["features"]) == 5000


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dims", [("sample", "feature"), ("feature", "sample")])
@pytest.mark.parametrize(("width", "chunks_of_a_row"), [(1, 5), (2, 3), (5, 1)])
def test_info__says_whether_chunks_are_split_along_features(
    run, tmp_path, width, chunks_of_a_row, dims, packed
):
    path = tmp_path / "store.zarr"
    values = np.random.default_rng(0).normal(size=(200, 5))
    data = xr.Dataset({"X": (("sample", "feature"), values)}).transpose(*dims)
    chunks = tuple(width if dim == "feature" else 50 for dim in dims)
    packing = {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999} if packed else {}
    data.to_zarr(path, encoding={"X": {"chunks": chunks, **packing}}, consolidated=False)
    (facts,) = json.loads(run("info", path, "--json").stdout)["paths"]
    assert facts["values"]["chunks_of_a_row"] == chunks_of_a_row
    words = run("info", path).stdout.splitlines()
    (layout,) = [line for line in words if line.startswith("layout")]
    assert ("split along features" in layout) == (chunks_of_a_row > 1)
    assert str(chunks_of_a_row) in layout or chunks_of_a_row == 1
    (described,) = [line for line in words if line.startswith("values")]
    assert ("decoded from int16" in described) == packed
