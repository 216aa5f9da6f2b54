"""AnnData files, dense and sparse, against the object that was written."""

import warnings
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr

from bigtensor.data.importers.anndata import open_anndata
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.source import ImportSource
from bigtensor.errors import DataError, FileFormatError, FileFormatWarning, ParameterError
from tests.parameters import first_quick

ROWS, WIDTH = 230, 5


def make(path: Path, kind: str, dtype: str = "float32", repeated: bool = False) -> np.ndarray:
    """Write an AnnData file and return its X."""
    import anndata

    rng = np.random.default_rng(7)
    values = (rng.poisson(0.7, size=(ROWS, WIDTH)) * 1.5).astype(dtype)
    matrix = {"dense": values, "csr": sp.csr_matrix(values), "csc": sp.csc_matrix(values)}[kind]
    kinds = pd.Categorical(rng.choice(["T", "B", "NK"], size=ROWS))
    kinds[3] = np.nan
    obs = pd.DataFrame(
        {"kind": kinds, "donor": [f"d{i % 3}" for i in range(ROWS)], "plate": np.arange(ROWS) % 4},
        index=[f"cell{i}" for i in range(ROWS)],
    )
    names = ["a", "b", "a", "c", "d"] if repeated else [f"gene{j}" for j in range(WIDTH)]
    with warnings.catch_warnings():
        # What the library says while it writes is no matter of ours.
        warnings.simplefilter("ignore")
        data = anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=names))
        data.write_h5ad(path) if path.suffix == ".h5ad" else data.write_zarr(path)
    return values


def whole(source: ImportSource, rows: int) -> np.ndarray:
    """All values, read block by block."""
    blocks = list(source.blocks(rows))
    assert all(len(block.values) <= rows for block in blocks)
    return np.concatenate([block.values for block in blocks])


@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", first_quick(["float32", "int32"]))
@pytest.mark.quick_cases("float32-dense-.zarr", "float32-csr-.h5ad")
def test_anndata__is_read_by_blocks(tmp_path: Path, ending: str, kind: str, dtype: str) -> None:
    path = tmp_path / f"cells{ending}"
    expected = make(path, kind, dtype)
    source = open_anndata(path, label="kind", sample_id="donor")
    assert source.features == tuple(f"gene{j}" for j in range(WIDTH))
    assert source.rows == ROWS
    for rows in (1, 64, 1000):
        np.testing.assert_array_equal(whole(source, rows), expected)
    labels = [value for block in source.blocks(50) for value in block.variables["label"]]
    assert pd.isna(labels[3])
    assert set(labels[:3] + labels[4:]) == {"T", "B", "NK"}
    donors = [value for block in source.blocks(50) for value in block.variables["sample_id"]]
    assert donors == [f"d{i % 3}" for i in range(ROWS)]


@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
def test_anndata__columns_of_numbers_may_be_labels(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"cells{ending}"
    make(path, "dense")
    source = open_anndata(path, label="plate")
    labels = [value for block in source.blocks(50) for value in block.variables["label"]]
    assert labels == [i % 4 for i in range(ROWS)]


def test_anndata__column_sparse_is_refused_with_the_remedy(tmp_path: Path) -> None:
    make(tmp_path / "a.h5ad", "csc")
    with pytest.raises(DataError, match=r"adata\.X = adata\.X\.tocsr\(\)"):
        open_anndata(tmp_path / "a.h5ad")


def test_anndata__an_unknown_column_lists_the_known(tmp_path: Path) -> None:
    make(tmp_path / "a.h5ad", "dense")
    with pytest.raises(DataError, match=r"'type'.*\['kind', 'donor', 'plate'\]"):
        open_anndata(tmp_path / "a.h5ad", label="type")


def test_anndata__repeated_names_are_numbered(tmp_path: Path) -> None:
    make(tmp_path / "a.h5ad", "dense", repeated=True)
    with pytest.warns(FileFormatWarning, match="var_names were numbered"):
        assert open_anndata(tmp_path / "a.h5ad").features == ("a", "b", "a_2", "c", "d")


@pytest.mark.filterwarnings("ignore")
def test_anndata__nullable_integers_may_name_samples(tmp_path: Path) -> None:
    import anndata

    donors = pd.array([7, None, 7, 9], dtype="Int64")
    obs = pd.DataFrame({"donor": donors}, index=list("abcd"))
    anndata.AnnData(np.ones((4, 2), "f4"), obs=obs).write_h5ad(tmp_path / "a.h5ad")
    (block,) = open_anndata(tmp_path / "a.h5ad", sample_id="donor").blocks(10)
    assert block.variables["sample_id"].tolist() == [7, None, 7, 9]


def test_anndata__something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.h5ad").write_bytes(b"not HDF5 at all")
    with pytest.raises(FileFormatError, match="cannot be read as AnnData"):
        open_anndata(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "b.h5ad", "w") as file:
        file["X"] = np.ones((2, 2))
    with pytest.raises(FileFormatError, match="not AnnData: it has no obs, var"):
        open_anndata(tmp_path / "b.h5ad")
    zarr.create_group(tmp_path / "c.zarr").create_array("X", shape=(2, 2), dtype="f4")
    with pytest.raises(FileFormatError, match="needs no import"):
        open_anndata(tmp_path / "c.zarr")
    (tmp_path / "d.zarr").mkdir()
    with pytest.raises(FileFormatError, match="cannot be read as AnnData"):
        open_anndata(tmp_path / "d.zarr")


def test_anndata__truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5ad"
    make(path, "dense")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(FileFormatError, match="cannot be read as AnnData"):
        open_anndata(path)


@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
def test_anndata__matrices_beside_x_are_imported(tmp_path: Path, ending: str) -> None:
    import anndata

    path = tmp_path / f"cells{ending}"
    rng = np.random.default_rng(8)
    counts, axes = rng.poisson(1.0, (ROWS, 3)), rng.normal(size=(ROWS, 2))
    names = [f"cell{i}" for i in range(ROWS)]
    proteins = pd.DataFrame(rng.normal(size=(ROWS, 2)), index=names, columns=["CD3", "CD4"])
    data = anndata.AnnData(
        np.zeros((ROWS, 3), "f4"),
        obs=pd.DataFrame({"donor": names}, index=names),
        var=pd.DataFrame(index=["a", "b", "c"]),
        obsm={"X_pca": axes, "protein": proteins},
        layers={"counts": sp.csr_matrix(counts)},
    )
    with warnings.catch_warnings():
        # what the library says while it writes is no matter of ours
        warnings.simplefilter("ignore")
        data.write_h5ad(path) if ending == ".h5ad" else data.write_zarr(path)
    for matrix, features, values in (
        ({"layer": "counts"}, ("a", "b", "c"), counts),
        ({"obsm": "X_pca"}, ("X_pca_0", "X_pca_1"), axes),
        ({"obsm": "protein"}, ("CD3", "CD4"), proteins.to_numpy()),
    ):
        source = open_anndata(path, sample_id="donor", **matrix)
        assert source.features == features
        np.testing.assert_array_equal(whole(source, 64), values)
    with pytest.raises(DataError, match=r"no 'umap'.* X_pca, protein"):
        open_anndata(path, obsm="umap")


def test_import__of_a_matrix_is_for_anndata(tmp_path: Path) -> None:
    table = tmp_path / "cells.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ParameterError, match=r"obsm='X_pca'.* are csv"):
        import_files(table, tmp_path / "cells.zarr", obsm="X_pca")
    make(path := tmp_path / "cells.h5ad", "dense")
    with pytest.raises(ParameterError, match="layer='counts'"):
        import_files(path, tmp_path / "cells.zarr", layer="counts", codes=True)
