"""Answers for AnnData read the matrix that the model was fitted to."""

import anndata
import numpy as np
import pandas as pd
import pytest

import bigtensor
from bigtensor import GaussianMixture
from bigtensor.data.importers.files import import_files
from bigtensor.errors import DataError
from bigtensor.report.rows import read_rows

GENES = ["CD3", "CD4", "CD19"]
MATRICES = {"X": {}, "layers/scaled": {"layer": "scaled"}, "obsm/X_pca": {"obsm": "X_pca"}}


@pytest.fixture
def cells() -> anndata.AnnData:
    """Return cells whose matrices have as many features, and different groups of rows."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, (3, 400))
    x, scaled, pca = rng.normal(0, 0.1, (3, 400, 3)) + 4 * classes[:, :, None]
    obs = pd.DataFrame(
        {"patient": pd.Categorical(rng.choice(["p1", "p2"], 400))},
        [f"c{row}" for row in range(400)],
    )
    var = pd.DataFrame(index=GENES)
    return anndata.AnnData(x, obs, var, obsm={"X_pca": pca}, layers={"scaled": scaled})


def stored(cells, kind, tmp_path):
    """Return the cells in memory, backed by a file, or the address of a file or store."""
    if kind == "zarr":
        cells.write_zarr(tmp_path / "cells.zarr")
        return tmp_path / "cells.zarr"
    if kind == "memory":
        return cells
    cells.write_h5ad(tmp_path / "cells.h5ad")
    path = tmp_path / "cells.h5ad"
    return anndata.read_h5ad(path, backed="r") if kind == "backed" else path


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["memory", "backed", "h5ad", "zarr"])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.quick_cases("X-memory", "layers/scaled-backed", "obsm/X_pca-memory", "X-h5ad")
def test_answers__read_the_matrix_of_the_fit(cells, tmp_path, kind, matrix):
    samples = bigtensor.open_samples(cells, **MATRICES[matrix])
    model = GaussianMixture(2, random_state=0).fit(samples)
    assert model.matrix_ == matrix
    model.save(tmp_path / "model.zarr")
    model, data = bigtensor.load(tmp_path / "model.zarr"), stored(cells, kind, tmp_path)
    np.testing.assert_array_equal(model.predict(data), model.predict(samples))
    np.testing.assert_array_equal(model.predict([data, data])[400:], model.predict(samples))
    assert model.score(data) == model.score(samples)
    by_patient = model.weights_by(data, "patient")
    np.testing.assert_array_equal(
        by_patient["weight"], model.weights_by(samples, "patient")["weight"]
    )
    rows = read_rows(model, data)
    np.testing.assert_array_equal(rows.label, model.predict(samples))


def test_answers__of_opened_samples_read_the_matrix_that_was_opened(cells):
    cells.obsm["X_other"] = pd.DataFrame(
        cells.X, cells.obs_names, [f"X_pca_{column}" for column in range(3)]
    )
    model = GaussianMixture(2, random_state=0).fit(bigtensor.open_samples(cells, obsm="X_pca"))
    other = bigtensor.open_samples(cells, obsm="X_other")
    assert (model.predict(other) != model.predict(cells)).any()
    bigtensor.annotate(cells, model)
    assert cells.obs["bigtensor_label"].cat.codes.tolist() == model.predict(cells).values.tolist()
    bigtensor.annotate(cells, model, obsm="X_other", overwrite=True)
    assert cells.obs["bigtensor_label"].cat.codes.tolist() == model.predict(other).tolist()
    assert bigtensor.from_anndata(cells).matrix_ == "obsm/X_other"


@pytest.mark.parametrize("kind", ["memory", "h5ad"])
@pytest.mark.quick_cases("memory")
def test_answers__for_anndata_without_the_matrix_name_it(cells, tmp_path, kind):
    model = GaussianMixture(2, random_state=0).fit(bigtensor.open_samples(cells, obsm="X_pca"))
    cells.obsm["X_umap"] = cells.obsm.pop("X_pca")
    data = stored(cells, kind, tmp_path)
    with pytest.raises(DataError, match=r"obsm/X_pca.*'X_pca'.*X_umap"):
        model.predict(data)


@pytest.mark.slow  # a law of second fits is quick
def test_fit__after_another_fit_forgets_its_matrix(cells):
    model = GaussianMixture(2, random_state=0).fit(bigtensor.open_samples(cells, obsm="X_pca"))
    assert model.fit(cells.X).matrix_ is None
    assert model.fit(cells).matrix_ == "X"


@pytest.mark.parametrize("kind", ["dataset", "store"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"matrix": "urine"},
        {"matrix": [[0.0, 1.0], [1.0, 0.0]]},
        {"anndata_matrix": "urine"},
        {"anndata_matrix": [0.0, 1.0]},
    ],
)
@pytest.mark.quick_cases("attrs0-store", "attrs1-dataset")
def test_fit__to_data_with_another_attribute_has_no_matrix(cells, tmp_path, kind, attrs):
    import xarray as xr

    data = xr.Dataset(
        {"X": (("sample", "feature"), cells.X)}, {"feature": np.array(GENES, object)}, attrs
    )
    if kind == "store":
        data.to_zarr(tmp_path / "cells.zarr", consolidated=False)
        data = tmp_path / "cells.zarr"
    model = GaussianMixture(2, random_state=0).fit(data)
    assert model.matrix_ is None
    np.testing.assert_array_equal(model.predict(cells), model.predict(data))


@pytest.mark.parametrize("opened", ["path", "xarray"])
@pytest.mark.quick_cases("xarray")
def test_import__keeps_the_matrix(cells, tmp_path, opened):
    path = stored(cells, "h5ad", tmp_path)
    import_files(path, tmp_path / "pca.zarr", obsm="X_pca")
    data = tmp_path / "pca.zarr"
    if opened == "xarray":
        import xarray as xr

        data = xr.open_zarr(data, chunks=None)
    model = GaussianMixture(2, random_state=0).fit(data)
    assert model.matrix_ == "obsm/X_pca"
    np.testing.assert_array_equal(model.predict(cells), model.predict(data))
