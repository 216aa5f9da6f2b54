"""AnnData objects as rows, against their X as anndata itself gives it."""

import warnings

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bigtensor import KernelMixture
from bigtensor.data.opening import open_samples
from bigtensor.data.sources import Columns
from bigtensor.errors import DataError, FileFormatError

ROWS, NAMES = 500, ["CD3", "CD4", "CD19"]


def make(kind: str, tmp_path) -> tuple[anndata.AnnData, np.ndarray]:
    """Return AnnData with one kind of X, and X as an array."""
    values = np.random.default_rng(3).poisson(0.8, size=(ROWS, 3)).astype(np.float32)
    matrix = values.copy()
    if "csr" in kind:
        matrix = sp.csr_matrix(values)
    elif "csc" in kind:
        matrix = sp.csc_matrix(values)
    data = anndata.AnnData(matrix, var=pd.DataFrame(index=NAMES))
    if kind.startswith("backed"):
        data.write_h5ad(tmp_path / "a.h5ad", compression="gzip")
        data = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    elif kind == "lazy":
        data.X = da.from_array(values, chunks=(100, -1))
    elif kind == "lazy csr":
        data.X = da.from_array(values, chunks=(100, -1)).map_blocks(sp.csr_matrix)
    return data, values


@pytest.mark.parametrize(
    "kind", ["dense", "csr", "csc", "backed", "backed csr", "lazy", "lazy csr"]
)
def test_anndata__rows_are_those_of_the_matrix(tmp_path, kind):
    data, values = make(kind, tmp_path)
    samples = open_samples(data, {"t": ["CD19", "CD3"], "b": ["CD4"]})
    assert (samples.rows, samples.features) == (ROWS, tuple(NAMES))
    assert samples.dtype == np.float32
    (source,) = samples.sources
    for start, stop in ((0, 500), (17, 18), (99, 311)):
        read = source.read(start, stop)
        assert isinstance(read, Columns)
        np.testing.assert_array_equal(read.values, values[start:stop])
    blocks = list(samples.blocks([(0, ROWS)], 64))
    stacked = np.concatenate([block.values for block in blocks])
    np.testing.assert_array_equal(stacked, values[:, [2, 0, 1]])
    assert f"{ROWS}" in source.describe()


@pytest.mark.parametrize("kind", ["dense", "csr", "backed"])
def test_anndata__fingerprint_tells_other_values(tmp_path, kind):
    data, _ = make(kind, tmp_path)
    first = open_samples(data).fingerprint()
    assert open_samples(data).fingerprint() == first
    if kind == "backed":
        data.file.close()
        (tmp_path / "a.h5ad").touch()
        data = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    else:
        data.X = data.X * 2
    assert open_samples(data).fingerprint() != first


def test_anndata__weights_go_with_rows_in_memory(tmp_path):
    data, _ = make("csr", tmp_path)
    weight = np.arange(ROWS, dtype=float)
    samples = open_samples(data, weight=weight)
    assert samples.has_weight
    np.testing.assert_array_equal(samples.sources[0].read(10, 20).weight, weight[10:20])
    assert samples.fingerprint() != open_samples(data).fingerprint()
    with pytest.raises(DataError, match="goes with one data set in memory"):
        open_samples(make("backed", tmp_path)[0], weight=weight)


def test_anndata__several_objects_are_read_as_one(tmp_path):
    data, values = make("dense", tmp_path)
    samples = open_samples([data, data[:100].copy()])
    assert samples.rows == ROWS + 100
    np.testing.assert_array_equal(samples.sources[1].read(0, 100).values, values[:100])


def test_anndata__what_cannot_be_read_by_rows_is_refused(tmp_path):
    with pytest.raises(DataError, match="has no X"):
        open_samples(anndata.AnnData(obs=pd.DataFrame(index=list("ab"))))
    backed, _ = make("backed", tmp_path)
    with pytest.raises(DataError, match=r"take the part into memory with \.to_memory\(\)"):
        open_samples(backed[:10])
    backed.file.close()
    with pytest.raises(DataError, match=r"adata\.X = adata\.X\.tocsr\(\)"):
        open_samples(make("backed csc", tmp_path)[0])


def test_anndata__integers_are_refused_with_the_remedy(tmp_path):
    data, _ = make("dense", tmp_path)
    data.X = data.X.astype(np.int32)
    with pytest.raises(DataError, match="convert with"):
        open_samples(data)


def test_anndata__repeated_names_are_numbered(tmp_path):
    data, _ = make("dense", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.var_names = ["a", "b", "a"]
    assert open_samples(data).features == ("a", "b", "a_2")


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
def test_address__of_anndata_is_read_by_rows(tmp_path, suffix):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(500, 3)) + 6 * rng.integers(0, 2, 500)[:, None]).astype(np.float32)
    path = tmp_path / f"cells{suffix}"
    data = anndata.AnnData(values, var=pd.DataFrame(index=["CD3", "CD4", "CD19"]))
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    samples = open_samples(path)
    assert samples.features == ("CD3", "CD4", "CD19")
    np.testing.assert_array_equal(samples.sources[0].read(100, 230).values, values[100:230])
    model = KernelMixture(2, start="kmeans", random_state=0).fit(path)
    expected = KernelMixture(2, start="kmeans", random_state=0).fit(values)
    np.testing.assert_array_equal(model.predict(path), expected.predict(values))


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
def test_address__of_sparse_anndata_in_zarr_names_the_import(tmp_path):
    data = anndata.AnnData(sp.random(50, 4, 0.5, "csr", np.float32))
    data.write_zarr(tmp_path / "cells.zarr")
    with pytest.raises(DataError, match="'bigtensor import' makes a store of it"):
        open_samples(tmp_path / "cells.zarr")


def test_address__of_a_damaged_file_names_it(tmp_path):
    (tmp_path / "cells.h5ad").write_bytes(b"no HDF5")
    with pytest.raises(FileFormatError, match=r"cells\.h5ad"):
        open_samples(tmp_path / "cells.h5ad")
