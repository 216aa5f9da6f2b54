"""AnnData as rows: against X, layers and obsm as anndata itself gives them."""

import warnings
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
from bigtensor.data.sources.row_sources import Columns
from bigtensor.errors import DataError, FileFormatError, ParameterError, StoreReadError
from tests.engine.sums import write_store

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


def dense(values):
    return values.toarray() if hasattr(values, "toarray") else values


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
        np.testing.assert_array_equal(dense(read.values), values[start:stop])
    sparse = kind in ("csr", "csc", "backed csr")
    assert samples.kind == ("counts" if sparse else "measured")
    blocks = list(samples.blocks([(0, ROWS)], 64))
    stacked = np.concatenate([dense(block.values) for block in blocks])
    assert not any(hasattr(b.values, "toarray") for b in samples.as_dense().blocks([(0, 99)], 9))
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
    with pytest.raises(DataError, match=r"into memory with \.to_memory\(\)"):
        open_samples(backed[:10])
    backed.file.close()
    with pytest.raises(DataError, match=r"adata\.X = adata\.X\.tocsr\(\)"):
        open_samples(make("backed csc", tmp_path)[0])


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_anndata__integers_are_taken_as_measured_values(tmp_path):
    data, _ = make("dense", tmp_path)
    data.X = data.X.astype(np.int32)
    samples = open_samples(data)
    assert samples.kind == "codes"
    expected = KernelMixture(2).fit(open_samples(data.X.astype(np.float64)))
    np.testing.assert_array_equal(KernelMixture(2).fit(samples).weights_, expected.weights_)


def test_anndata__repeated_names_are_numbered(tmp_path):
    data, _ = make("dense", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.var_names = ["a", "b", "a"]
    assert open_samples(data).features == ("a", "b", "a_2")


@pytest.mark.filterwarnings("ignore:Writing zarr v2:UserWarning")
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
def test_stamp__of_stored_anndata_follows_a_change(tmp_path, suffix):
    path = tmp_path / f"cells{suffix}"
    data = anndata.AnnData(np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32))
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    samples = open_samples(path)
    before = samples.stamp()
    assert before == samples.stamp()
    data.X += 1
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    assert samples.stamp() != before


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
@pytest.mark.quick_cases(".zarr")
def test_address__of_anndata_is_read_by_rows(tmp_path, suffix):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(500, 3)) + 6 * rng.integers(0, 2, 500)[:, None]).astype(np.float32)
    path = tmp_path / f"cells{suffix}"
    data = anndata.AnnData(values, var=pd.DataFrame(index=["CD3", "CD4", "CD19"]))
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    samples = open_samples(path)
    assert samples.features == ("CD3", "CD4", "CD19")
    np.testing.assert_array_equal(samples.sources[0].read(100, 230).values, values[100:230])
    model = KernelMixture(2, init="kmeans", random_state=0).fit(path)
    expected = KernelMixture(2, init="kmeans", random_state=0).fit(values)
    np.testing.assert_array_equal(model.predict(path), expected.predict(values))


def several(kind: str, tmp_path) -> tuple[Any, dict[str, np.ndarray]]:
    """Return AnnData with layers and entries of obsm, as an object or stored, and their arrays."""
    rng = np.random.default_rng(4)
    counts = rng.poisson(0.7, (ROWS, 3)).astype(np.float32)
    scores, named = rng.normal(size=(2, ROWS, 2)).astype(np.float32)
    scores += 6 * rng.integers(0, 2, ROWS)[:, None]
    data = anndata.AnnData(
        sp.csr_matrix(counts + 1) if kind == "sparse.zarr" else counts + 1,
        obs=pd.DataFrame(index=[f"c{row}" for row in range(ROWS)]),
        var=pd.DataFrame(index=NAMES),
        layers={"counts": sp.csr_matrix(counts), "dense": counts * 2},
    )
    data.obsm["X_pca"] = scores
    data.obsm["named"] = pd.DataFrame(named, data.obs_names, ["u", "v"])
    expected = {"counts": counts, "dense": counts * 2, "X_pca": scores, "named": named}
    path = tmp_path / f"cells.{kind}"
    if kind.endswith("h5ad"):
        data.write_h5ad(path)
        return (
            (anndata.read_h5ad(path, backed="r"), expected)
            if "backed" in kind
            else (
                path,
                expected,
            )
        )
    if kind.endswith("zarr"):
        data.write_zarr(path)
        return path, expected
    return data, expected


KINDS = ["object", "h5ad", "backed.h5ad", "zarr", "sparse.zarr"]


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases("object", "backed.h5ad", "sparse.zarr")
def test_layer_and_obsm__are_read_in_place_of_x(tmp_path, kind):
    data, expected = several(kind, tmp_path)
    features = {"counts": NAMES, "dense": NAMES, "X_pca": ["X_pca_0", "X_pca_1"]}
    for key, values in expected.items():
        part = "layer" if key in ("counts", "dense") else "obsm"
        samples = open_samples(data, **{part: key})
        assert samples.features == tuple(features.get(key, ["u", "v"]))
        blocks = samples.blocks([(0, ROWS)], 64)
        np.testing.assert_array_equal(np.concatenate([dense(b.values) for b in blocks]), values)
        assert samples.fingerprint() != open_samples(data).fingerprint()
    model = KernelMixture(2, init="kmeans", random_state=0)
    pca = open_samples(data, obsm="X_pca")
    found = model.fit(pca).predict(pca)
    np.testing.assert_array_equal(found, model.fit(expected["X_pca"]).predict(expected["X_pca"]))


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_layer_and_obsm__that_are_not_there_are_named_with_those_that_are(tmp_path, kind):
    data, _ = several(kind, tmp_path)
    with pytest.raises(DataError, match=r"layers of .* 'raw'; .* counts, dense"):
        open_samples(data, layer="raw")
    with pytest.raises(DataError, match=r"obsm of .* '\.\./X'; .* X_pca, named"):
        open_samples(data, obsm="../X")
    with pytest.raises(ParameterError, match="layer='counts' and obsm='X_pca' name"):
        open_samples(data, layer="counts", obsm="X_pca")


def test_layer__of_what_is_no_anndata_is_refused(tmp_path):
    values = np.ones((9, 2), np.float32)
    store = write_store(tmp_path / "cells.zarr", values)
    for data in (values, pd.DataFrame(values), store, open_samples(values), [values, values]):
        with pytest.raises(DataError, match=r"no AnnData, .* has 'layers/counts'"):
            open_samples(data, layer="counts")


def test_x__that_is_absent_is_named_with_what_there_is_instead(tmp_path):
    data = anndata.AnnData(obs=pd.DataFrame(index=list("ab")), var=pd.DataFrame(index=["g"]))
    data.obsm["X_umap"] = data.obsm["X_bigtensor_proba"] = np.ones((2, 2))
    data.write_h5ad(tmp_path / "a.h5ad")
    for given in (data, tmp_path / "a.h5ad"):
        with pytest.raises(DataError, match=r"no X; open_samples .* take obsm='X_umap'$"):
            open_samples(given)


def test_obsm__of_three_dimensions_is_refused(tmp_path):
    data = anndata.AnnData(obsm={"tiles": np.ones((3, 2, 2))})
    data.write_h5ad(tmp_path / "a.h5ad")
    for cells in (data, tmp_path / "a.h5ad"):
        with pytest.raises(DataError, match="obsm/tiles"):
            open_samples(cells, obsm="tiles")


@pytest.mark.filterwarnings("ignore:Forward slashes:FutureWarning")
def test_columns__of_hdf5_may_have_slashes_in_their_names(tmp_path):
    rows = pd.Index([f"c{row}" for row in range(4)])
    ratios = pd.DataFrame({"CD4/CD8": [0.5, 1, 2, 3], "size": [1.0, 2, 3, 4]}, rows)
    obs = pd.DataFrame({"site/donor": pd.Categorical(["a", "b", "a", "b"])}, rows)
    anndata.AnnData(obs=obs, obsm={"ratios": ratios}).write_h5ad(tmp_path / "a.h5ad")
    samples = open_samples(tmp_path / "a.h5ad", obsm="ratios", groups="site/donor")
    assert samples.features == ("CD4/CD8", "size")
    assert samples.groups is not None
    assert samples.groups.names == ("a", "b")
    np.testing.assert_array_equal(samples.sources[0].read(0, 4).values, ratios)


@pytest.mark.parametrize(("part", "place"), [("layer", "layers"), ("obsm", "obsm")])
def test_matrix__sparse_in_columns_is_refused_in_a_file(tmp_path, part, place):
    data = anndata.AnnData(np.ones((9, 3), np.float32))
    getattr(data, place)["m"] = sp.random(9, 3, 0.5, "csc", np.float32)
    data.write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(DataError, match=rf"adata\.{place}\['m'\]\.tocsr\(\)"):
        open_samples(tmp_path / "a.h5ad", **{part: "m"})


@pytest.mark.parametrize("fault", ["pointers", "short", "column"])
def test_matrix__that_is_damaged_names_file_and_rows(tmp_path, fault):
    path, _ = several("h5ad", tmp_path)
    samples = open_samples(path, layer="counts")
    with h5py.File(path, "r+") as file:
        if fault == "pointers":
            file["layers/counts/indptr"][100] = 2**30
        elif fault == "short":
            values = file["layers/counts/data"][:7]
            del file["layers/counts/data"]
            file["layers/counts/data"] = values
        else:
            file["layers/counts/indices"][5] = 77
    with pytest.raises(StoreReadError, match=r"rows 0 to 499 .*counts/data.*\.h5ad"):
        samples.sources[0].read(0, ROWS)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["csr", "in memory", ".h5ad", ".zarr"])
@pytest.mark.quick_cases("csr", "in memory", ".h5ad")
def test_sparse_anndata__is_fitted_as_dense_rows(tmp_path, kind):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(500, 3)) + 6 * rng.integers(0, 2, 500)[:, None]).astype(np.float32)
    data = anndata.AnnData(sp.csr_matrix(values), var=pd.DataFrame(index=["CD3", "CD4", "CD19"]))
    given = tmp_path / f"cells{kind}"
    if kind == ".h5ad":
        data.write_h5ad(given)
    elif kind == ".zarr":
        data.write_zarr(given)
    else:
        given = sp.csr_array(values) if kind == "csr" else open_samples(data)
    model = KernelMixture(2, init="kmeans", random_state=0)
    if kind == "csr":
        with pytest.raises(DataError, match=r"counts in sparse rows .*\.toarray\(\)"):
            model.fit(given)
        return
    expected = KernelMixture(2, init="kmeans", random_state=0).fit(values)
    np.testing.assert_array_equal(model.fit(given).predict(given), expected.predict(values))


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
def test_address__of_anndata_in_sparse_columns_is_refused(tmp_path):
    anndata.AnnData(sp.random(50, 4, 0.5, "csc", np.float32)).write_zarr(tmp_path / "cells.zarr")
    with pytest.raises(DataError, match=r"adata\.X = adata\.X\.tocsr\(\)"):
        open_samples(tmp_path / "cells.zarr")


def test_address__of_a_damaged_file_names_it(tmp_path):
    (tmp_path / "cells.h5ad").write_bytes(b"no HDF5")
    with pytest.raises(FileFormatError, match=r"cells\.h5ad"):
        open_samples(tmp_path / "cells.h5ad")
