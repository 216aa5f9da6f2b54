"""AnnData in a file or a store, by path or URL, without a store made by an import."""

import csv
from pathlib import Path

import anndata
import fsspec
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

THREADS = ("--scheduler", "threads")
TWO_FEATURES = ("--features", "CD3,CD4", "--init", "kmeans")

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")


@pytest.fixture(scope="module")
def folder(cells, tmp_path_factory) -> Path:
    """Return a folder with the simulated cells as AnnData of every kind."""
    path = tmp_path_factory.mktemp("anndata")
    with xr.open_zarr(cells) as opened:
        data = opened[["X", "label", "sample_id", "feature"]].isel(sample=slice(12_000)).load()
    patient = pd.Categorical([f"p{code}" for code in data["sample_id"].to_numpy()])
    truth = pd.Categorical([f"type {code}" for code in data["label"].to_numpy()])
    whole = anndata.AnnData(
        data["X"].to_numpy(),
        obs=pd.DataFrame(
            {"patient": patient, "truth": truth}, [f"c{row}" for row in range(len(patient))]
        ),
        var=pd.DataFrame(index=data["feature"].to_numpy().tolist()),
    )
    sparse = whole.copy()
    sparse.X = sp.csr_matrix(sparse.X)
    for name, each in (("dense", whole), ("sparse", sparse)):
        each.write_h5ad(path / f"{name}.h5ad")
        each.write_zarr(path / f"{name}.zarr")
    return path


@pytest.fixture
def address(request, folder):
    """Return a path or a URL of AnnData."""
    scheme, name = request.param.split(" ")
    if scheme == "memory":
        files = fsspec.filesystem("memory")
        files.put(str(folder / name), f"/{name}", recursive=True)
        yield f"memory://{name}"
        files.rm(f"/{name}", recursive=True)
    else:
        yield f"{'file://' if scheme == 'file' else ''}{folder / name}"


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("path sparse.zarr", marks=pytest.mark.slow),
        "file sparse.h5ad",
        pytest.param("memory dense.zarr", marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_every_command__takes_anndata(run, address, tmp_path, undrawn):
    model, labels, page = (tmp_path / name for name in ("m.zarr", "l.zarr", "r.html"))
    table = tmp_path / "patients.csv"
    steps = (
        ("plan", address, "-k", 4),
        # of two features, because a report draws every pair
        ("fit", address, "-k", 4, *TWO_FEATURES, "--out", model, *THREADS),
        ("predict", model, address, "--out", labels, "--by", "patient", "--table", table, *THREADS),
        ("report", model, "--data", address, "--labels", labels, "--truth", "truth", "--out", page),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.stderr
    with table.open() as file:
        rows = {row["patient"]: int(row["rows"]) for row in csv.DictReader(file)}
    assert set(rows) <= {"p0", "p1", "p2", "p3"}
    assert sum(rows.values()) == 12_000
    with xr.open_zarr(labels) as found:
        assert found["label"].shape == (12_000,)
    assert all(f"type {code}" in page.read_text() for code in range(4))


@pytest.mark.slow
def test_processes__read_a_file_for_themselves(run, folder, tmp_path):
    labels = {}
    for scheduler in (("--workers", 2), THREADS):
        model, out = (tmp_path / f"{scheduler[0]}-{name}" for name in ("m.zarr", "l.zarr"))
        for step in (
            ("fit", folder / "sparse.h5ad", "-k", 4, "--init", "kmeans", "--out", model),
            ("predict", model, folder / "sparse.h5ad", "--out", out, "--by", "patient"),
        ):
            result = run(*step, *scheduler)
            assert result.exit_code == 0, result.stderr
        with xr.open_zarr(out) as found:
            labels[scheduler] = found["label"].to_numpy()
    np.testing.assert_array_equal(*labels.values())


def test_url__of_a_file_that_is_not_there_keeps_its_slashes(run, tmp_path):
    for url in (
        f"file://{tmp_path}/gone.h5ad",
        "memory://gone.h5ad",
        f"file://{tmp_path}/gone.zarr",
    ):
        result = run("plan", url, "-k", 2)
        assert result.exit_code == 1
        assert url in result.stderr
