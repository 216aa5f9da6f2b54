"""Stores of sparse counts: what anndata and this package read back, and what a failure leaves."""

from itertools import pairwise

import anndata
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.sparse import csr_array

from bigtensor import open_samples
from bigtensor.data.stores import count_stores
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.errors import OutputError

WORDS = [f"gene{i}" for i in range(30)]


def rows(n, seed=0):
    return csr_array(default_rng(seed).poisson(0.5, (n, len(WORDS))).astype(np.int32))


def written(path, parts, **settings):
    with CountStoreWriter(path, WORDS, **settings) as store:
        store.add("varm/loading", np.arange(60.0).reshape(30, 2))
        for part in parts:
            store.append(part, share=part.toarray()[:, :2].astype(float))
    return path


@pytest.mark.parametrize("cut", [[0, 250], [0, 1, 1, 100, 101, 250]])
@pytest.mark.quick_cases("cut1")
def test_rows__come_back_however_they_were_given(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(count_stores, "CHUNK", 64)
    whole = rows(250)
    parts = [whole[a:b] for a, b in pairwise(cut)]
    path = written(tmp_path / "counts.zarr", parts)
    found = anndata.io.read_zarr(path)
    assert (whole != found.X).nnz == 0
    assert list(found.var_names) == WORDS
    assert found.n_obs == 250
    assert found.obsm["share"] == pytest.approx(whole.toarray()[:, :2])
    assert found.varm["loading"].shape == (30, 2)
    samples = open_samples(path)
    assert samples.kind == "counts"
    (block,) = samples.blocks([(0, 250)], 250)
    assert (block.values != whole).nnz == 0


def test_empty_rows_and_no_rows__are_stored(tmp_path):
    path = written(tmp_path / "empty.zarr", [csr_array((3, 30), dtype=np.int32)])
    assert anndata.io.read_zarr(path).X.nnz == 0
    none = written(tmp_path / "none.zarr", [])
    assert anndata.io.read_zarr(none).shape == (0, 30)


def test_existing_store__is_kept_unless_it_may_be_replaced(tmp_path):
    path = written(tmp_path / "counts.zarr", [rows(10)])
    with pytest.raises(OutputError, match="exists already"):
        written(path, [rows(20)])
    written(path, [rows(20)], overwrite=True)
    assert open_samples(path).rows == 20


def test_failure__leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="35 columns, but there are 30 words"):
        written(tmp_path / "counts.zarr", [rows(10), csr_array((10, 35), dtype=np.int32)])
    assert not list(tmp_path.iterdir())
