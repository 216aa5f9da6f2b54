"""Columns of obs as groups and classes, and rows of AnnData as xarray reads them."""

from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bigtensor import KernelMixture
from bigtensor.data.opening import open_samples
from bigtensor.data.sources.anndata_datasets import anndata_dataset
from bigtensor.data.sources.anndata_source import AnndataFileSource, anndata_file_source
from bigtensor.errors import DataError, FileFormatError, ParameterError
from bigtensor.report.rows import read_rows
from tests.parameters import first_quick

ROWS = 3000
KINDS = ["dense", "csr", "lazy", "backed", "h5ad", "zarr", "csr zarr"]
COLUMNS = ["patient", "text", "number", "nullable"]

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")


def cells() -> anndata.AnnData:
    """Return two populations in three patients. Rows 0 to 9 have none."""
    rng = np.random.default_rng(5)
    truth, patient = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    values = (rng.normal(size=(ROWS, 3)) + 7 * truth[:, None]).astype(np.float32)
    patient[:10] = -1
    names = np.where(patient < 0, None, np.array([f"p{code}" for code in patient], object))
    obs = pd.DataFrame(
        {
            "patient": pd.Categorical(names, ["p0", "p1", "p2", "unused"]),
            "text": ["" if name is None else name for name in names],
            "number": patient,
            "nullable": pd.array(np.where(patient < 0, None, patient), dtype="Int64"),
            "truth": pd.Categorical.from_codes(truth, ["B cell", "T cell"]),
            "score": rng.normal(size=ROWS),
            "weight": 5.0,
        },
        index=[f"c{row}" for row in range(ROWS)],
    )
    return anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=["CD3", "CD4", "CD19"]))


def stored(kind: str, tmp_path: Path) -> tuple[Any, anndata.AnnData]:
    """Return the cells of one kind, and as an object."""
    data = cells()
    whole = data.copy()
    if "csr" in kind:
        data.X = sp.csr_matrix(data.X)
    elif kind == "lazy":
        data.X = da.from_array(data.X, chunks=(700, -1))
    path = tmp_path / f"cells.{kind.split()[-1]}"
    if kind in ("h5ad", "backed"):
        data.write_h5ad(path.with_suffix(".h5ad"))
        path = path.with_suffix(".h5ad")
    elif "zarr" in kind:
        data.write_zarr(path)
    if kind == "backed":
        return anndata.read_h5ad(path, backed="r"), whole
    return (path if kind in ("h5ad", "zarr", "csr zarr") else data), whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases("dense", "csr", "lazy", "backed", "csr zarr")
def test_column__gives_the_group_of_every_row(tmp_path, kind):
    data, whole = stored(kind, tmp_path)
    for column in COLUMNS:
        samples = open_samples(data, groups=column)
        expected = whole.obs["patient"].astype(object).to_numpy()
        names = [
            name.removeprefix("p") if column[0] == "n" else name for name in ("p0", "p1", "p2")
        ]
        assert list(samples.groups.names)[:3] == names
        codes = np.concatenate([b.group for b in samples.blocks([(0, ROWS)], 1000)])
        found = [f"p{samples.groups.names[c].removeprefix('p')}" if c >= 0 else None for c in codes]
        np.testing.assert_array_equal(found, np.where(pd.isna(expected), None, expected))


@pytest.mark.parametrize("kind", ["csr", "h5ad", "zarr"])
@pytest.mark.quick_cases("csr", "h5ad")
def test_groups__are_in_the_fingerprint_and_in_the_memory(tmp_path, kind):
    data, _ = stored(kind, tmp_path)
    plain, by = open_samples(data), open_samples(data, groups="patient")
    assert (
        plain.fingerprint() != by.fingerprint() != open_samples(data, groups="truth").fingerprint()
    )
    assert by.sources[0].held_nbytes - plain.sources[0].held_nbytes == 4 * ROWS


@pytest.mark.parametrize("kind", ["dense", "h5ad", "zarr"])
def test_column__that_is_absent_or_no_group_is_named(tmp_path, kind):
    data, _ = stored(kind, tmp_path)
    with pytest.raises(DataError, match="'donor'; there are patient, text, "):
        open_samples(data, groups="donor")
    with pytest.raises(DataError, match="has no column 'c/codes'; there are"):
        open_samples(data, groups="c/codes")


def test_weights_by__are_those_of_the_same_rows_as_an_array(tmp_path):
    path, whole = stored("h5ad", tmp_path)
    model = KernelMixture(2, init="kmeans", random_state=0).fit(path)
    found = model.weights_by(path, "patient")
    expected = model.weights_by(whole, whole.obs["text"].to_numpy())
    np.testing.assert_allclose(
        found["weight"], expected["weight"].sel(group=found["patient"].to_numpy()), rtol=1e-12
    )
    assert found.attrs["rows_without"] == 10


@pytest.mark.parametrize(
    "kind", first_quick(["csr zarr", "h5ad", "dense", "csr", "backed", "zarr"], 2)
)
@pytest.mark.quick_cases("h5ad")
def test_report__has_columns_as_truth(tmp_path, kind):
    data, whole = stored(kind, tmp_path)
    model = KernelMixture(2, init="kmeans", random_state=0).fit(whole)
    rows = read_rows(model, data, sample_size=640, truth="truth")
    expected = read_rows(model, whole.X, sample_size=640)
    np.testing.assert_array_equal(rows.values, expected.values)
    assert rows.truth.names == ("B cell", "T cell")
    agree = np.mean(rows.truth.codes == rows.label)
    assert max(agree, 1 - agree) == 1
    # AnnData has no place for sample weights, and a fit does not read the column
    assert set(rows.weight) == {1.0}
    with pytest.raises(ParameterError, match=r"name one of .*patient, text, truth"):
        read_rows(model, data, truth="donor")


def test_dataset__reads_any_rows_and_columns(tmp_path):
    path, whole = stored("h5ad", tmp_path)
    dataset = anndata_dataset(anndata_file_source(str(path)), "sample")
    for rows in (slice(0, 0), slice(5, 900, 7), slice(None, None, -301), [9, 2, 2, 2990], 17):
        for columns in ([2, 0], slice(1, 3), 1):
            part = dataset["X"].isel(sample=rows, feature=columns).to_numpy()
            np.testing.assert_array_equal(part, whole.X[rows][..., columns])


def test_dataset__reads_no_row_before_it_is_asked(tmp_path, monkeypatch):
    path, _ = stored("h5ad", tmp_path)

    def refuse(*_: Any) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(AnndataFileSource, "read", refuse)
    dataset = anndata_dataset(anndata_file_source(str(path)), "sample")
    assert dataset["X"].shape == (ROWS, 3)


def test_column__of_another_length_is_a_damaged_file(tmp_path):
    path, _ = stored("h5ad", tmp_path)
    with h5py.File(path, "r+") as file:
        del file["obs/number"]
        file["obs/number"] = np.arange(7)
        file["obs/number"].attrs["encoding-type"] = "array"
        file["obs/number"].attrs["encoding-version"] = "0.2.0"
    with pytest.raises(FileFormatError, match="'number' of obs has 7 rows of 3000"):
        open_samples(path, groups="number")


@pytest.mark.parametrize("kind", first_quick(KINDS))
def test_samples__of_an_object_or_a_file_know_the_columns(tmp_path, kind):
    data, whole = stored(kind, tmp_path)
    samples = open_samples(data)
    again = open_samples(samples, groups="patient")
    assert again.groups.names == ("p0", "p1", "p2", "unused")
    block = next(iter(again.blocks([(0, ROWS)], block_rows=ROWS)))
    assert np.array_equal(block.group, whole.obs["patient"].cat.codes)


def test_samples__of_obsm_and_of_a_layer_know_the_columns():
    data = cells()
    data.obsm["X_pca"] = np.asarray(data.X)
    data.layers["counts"] = sp.csr_matrix(np.abs(data.X))
    model = KernelMixture(2, random_state=0).fit(open_samples(data, obsm="X_pca"))
    pca = open_samples(data, obsm="X_pca")
    expected = model.weights_by(pca, data.obs["patient"].to_numpy())
    # sums of three and of four groups differ in their last bits
    np.testing.assert_allclose(model.weights_by(pca, "patient")["weight"], expected["weight"])
    counts = open_samples(open_samples(data, layer="counts"), groups="patient")
    assert counts.groups.names == ("p0", "p1", "p2", "unused")
    with pytest.raises(DataError, match="there are patient, text"):
        model.weights_by(pca, "absent")
    chosen = open_samples(pca, where="patient == 'p1'")
    assert chosen.rows == (data.obs["patient"] == "p1").sum()


def test_samples__of_a_backed_object_have_its_own_columns(tmp_path):
    data, _ = stored("backed", tmp_path)
    data.obs["batch"] = pd.Categorical(np.where(np.arange(ROWS) % 2, "late", "early"))
    again = open_samples(open_samples(data), groups="batch")
    assert again.groups.names == ("early", "late")
