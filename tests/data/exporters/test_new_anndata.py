"""AnnData files made of a store, as scanpy expects them."""

import re
from itertools import pairwise
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from bigtensor import GaussianMixture
from bigtensor.data.exporters.label_colours import label_colours
from bigtensor.data.exporters.new_anndata import write_new_anndata
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import DataError

ROWS = 40
FEATURES = ["CD3", "Time", "CD4", "FSC-A"]


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """Return a store of two markers, scatter and time, whose last rows have no sample."""
    path = tmp_path / "cells.zarr"
    with SampleStoreWriter(
        path,
        FEATURES,
        rows=ROWS,
        row_variables={"sample_id": ("int32", {"categories": ["p", "q"]}), "Time": "float64"},
        feature_coordinates={"role": ["use", "time", "use", "scatter"]},
    ) as store:
        values = np.arange(4.0 * ROWS).reshape(ROWS, 4)
        sample_id = np.where(np.arange(ROWS) < 38, np.arange(ROWS) % 2, -1)
        store.append(values, sample_id=sample_id, Time=np.zeros(ROWS))
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Return labels of these rows with log-densities. The last row is left out."""
    path = tmp_path / "labels.zarr"
    group = zarr.create_group(path, attributes={"model": "M", "views": {"t": ["CD3"]}})
    probability = np.random.default_rng(0).dirichlet(np.ones(3), ROWS).astype(np.float32)
    label = probability.argmax(axis=1).astype(np.int32)
    label[-1], probability[-1] = -1, np.nan
    group.create_array("label", data=label)
    group.create_array("probability", data=probability)
    group.create_array("log_density", data=np.linspace(-3, 0, ROWS, dtype=np.float32))
    return path


def test_new_file__observations_are_numbered_within_their_sample(
    cells: Path, labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bigtensor.data.exporters.new_anndata._BLOCK_ROWS", 7)
    write_new_anndata(labels, cells, tmp_path / "cells.h5ad", {})
    names = anndata.read_h5ad(tmp_path / "cells.h5ad").obs_names
    assert names[8:12].tolist() == ["p-4", "q-4", "p-5", "q-5"]
    subset = tmp_path / "subset.zarr"
    variables = {"sample_id": ("int32", {"categories": ["p", "q"]}), "source_row": "int64"}
    with SampleStoreWriter(subset, FEATURES, rows=ROWS, row_variables=variables) as store:
        codes, rows = np.arange(ROWS) // 20, 3 * np.arange(ROWS) + 50
        store.append(np.zeros((ROWS, 4)), sample_id=codes, source_row=rows)
    write_new_anndata(labels, subset, tmp_path / "subset.h5ad", {})
    names = anndata.read_h5ad(tmp_path / "subset.h5ad").obs_names
    assert names[[0, 20]].tolist() == ["p-50", "q-110"]


def test_new_file__is_what_scanpy_expects(cells: Path, labels: Path, tmp_path: Path) -> None:
    target = tmp_path / "cells.h5ad"
    write_new_anndata(labels, cells, target, {})
    made = anndata.read_h5ad(target)
    # markers alone, and the other features beside the variables of the rows
    assert made.var_names.tolist() == ["CD3", "CD4"]
    values = np.arange(4.0 * ROWS).reshape(ROWS, 4)
    np.testing.assert_array_equal(made.X, values[:, [0, 2]])
    np.testing.assert_array_equal(made.obs["FSC-A"], values[:, 3])
    np.testing.assert_array_equal(made.obs["Time"], np.zeros(ROWS))
    np.testing.assert_array_equal(made.obs["Time_2"], values[:, 1])
    assert made.obs_names.is_unique
    assert made.obs_names[[0, 1, 39]].tolist() == ["p-0", "q-0", "39"]
    probability = made.obsm["X_bigtensor_proba"]
    np.testing.assert_array_equal(made.obs["bigtensor_confidence"], probability.max(axis=1))
    assert np.isnan(made.obs["bigtensor_confidence"].iloc[-1])
    np.testing.assert_allclose(made.obs["bigtensor_log_density"], np.linspace(-3, 0, ROWS))
    categories = made.obs["bigtensor_label"].cat.categories
    assert made.uns["bigtensor_label_colors"].tolist() == label_colours(len(categories))


@pytest.mark.filterwarnings("ignore:The data type:zarr.errors.UnstableSpecificationWarning")
def test_text__of_rows_is_written(cells: Path, labels: Path, tmp_path: Path) -> None:
    gate = np.where(np.arange(ROWS) < 30, "T, naïve", "")
    days = np.full(ROWS, "2024-05-01", "datetime64[ns]")
    days[-1] = np.datetime64("NaT", "ns")
    variables = {
        "gate": ("sample", gate),
        "plate": ("sample", np.array(["p1", ""] * (ROWS // 2), object)),
        "well": ("sample", np.full(ROWS, b"A1")),
        "is_live": ("sample", gate == ""),
        "day": ("sample", days),
        "sample_id": ("sample", np.where(np.arange(ROWS) < 38, "donor", "")),
    }
    with xr.open_zarr(cells, consolidated=False) as store:
        data = store.load().assign(variables)
    path = tmp_path / "text.zarr"
    data.to_zarr(path, zarr_format=3, consolidated=False)
    write_new_anndata(labels, path, tmp_path / "cells.h5ad", {})
    made = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert made.obs["gate"].tolist() == gate.tolist()
    assert made.obs["plate"].tolist()[:2] == ["p1", ""]
    assert made.obs["well"].tolist() == ["A1"] * ROWS
    assert made.obs["is_live"].sum() == ROWS - 30
    assert made.obs["day"].tolist()[0].startswith("2024-05-01")
    assert made.obs["day"].tolist()[-1] == ""
    assert made.obs_names[[0, 37, 38]].tolist() == ["donor-0", "donor-37", "38"]


def test_columns__of_reserved_names_are_renamed(labels: Path, tmp_path: Path) -> None:
    features = ["CD3", "_index", "FSC/A", "bigtensor_label"]
    names = ["_index", "bigtensor.partial", "bigtensor_confidence"]
    with SampleStoreWriter(
        tmp_path / "reserved.zarr",
        features,
        rows=ROWS,
        row_variables=dict.fromkeys(names, "float64"),
        feature_coordinates={
            "role": ["use", "scatter", "time", "scatter"],
            "bigtensor_used": [*"efgh"],
        },
    ) as store:
        values = np.arange(4.0 * ROWS).reshape(ROWS, 4)
        store.append(values, **{name: np.full(ROWS, n) for n, name in enumerate(names)})
    write_new_anndata(labels, tmp_path / "reserved.zarr", tmp_path / "cells.h5ad", {})
    made = anndata.read_h5ad(tmp_path / "cells.h5ad")
    columns = ["_index_2", "bigtensor.partial_2", "bigtensor_confidence_2", "_index_3", "FSC_A"]
    first = made.obs[[*columns, "bigtensor_label_2"]].iloc[0]
    assert first.tolist() == [0, 1, 2, 1, 2, 3]
    assert made.var.iloc[0].to_dict() == {
        "role": "use",
        "bigtensor_used_2": "e",
        "bigtensor_used": True,
    }
    made.write_h5ad(tmp_path / "again.h5ad")


def test_features_of_the_labels__are_in_x(cells: Path, labels: Path, tmp_path: Path) -> None:
    zarr.open_group(labels).attrs["views"] = {"s": ["FSC-A"]}
    write_new_anndata(labels, cells, tmp_path / "cells.h5ad", {})
    made = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert made.var_names.tolist() == ["CD3", "CD4", "FSC-A"]
    assert made.var["bigtensor_used"].tolist() == [False, False, True]


def test_colours__are_stable_and_all_different() -> None:
    many = label_colours(200)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in many)
    assert len({*many}) == 200
    for count in (0, 1, 20, 21, 60):
        assert label_colours(count) == many[:count]
    channels = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in many[:40]])
    distances = np.abs(channels[:, None] - channels).sum(axis=2) + 1000 * np.eye(40, dtype=int)
    assert distances.min() > 20
    # neighbours in number, which often are neighbours in a figure
    assert min(np.abs(a - b).sum() for a, b in pairwise(channels)) > 60


def labels_of_both(labels: Path) -> Path:
    """Return these labels as those of a model of CD3 and CD4."""
    zarr.open_group(labels).attrs["views"] = {"t": ["CD3", "CD4"]}
    return labels


@pytest.mark.slow  # other columns of a new file are quick
def test_new_file__imported_again_keeps_the_record_of_its_import(
    labels: Path, tmp_path: Path
) -> None:
    rng, original = np.random.default_rng(0), tmp_path / "cells.zarr"
    table = pd.DataFrame(rng.normal([2e2, 8e2], 99, (ROWS, 2)), columns=["CD3", "CD4"])
    table.to_csv(tmp_path / "cells.csv", index=False)
    import_files(tmp_path / "cells.csv", original, transform="arcsinh", cofactor=15)
    model = GaussianMixture(1, random_state=0).fit(original)
    exported = tmp_path / "cells.h5ad"
    write_new_anndata(labels, original, exported, {})
    anndata.read_h5ad(exported)[5:].write_h5ad(exported)

    for options in ({}, {"transform": "none"}, {"like": original}):
        again = tmp_path / "again.zarr"
        summary = import_files(exported, again, overwrite=True, **options)
        assert summary.transform == {"name": "arcsinh", "cofactor": 15.0, "untransformed": []}
        np.testing.assert_array_equal(model.predict([original, again])[:ROWS][5:], 0)
        values = [xr.open_zarr(path)["X"].to_numpy() for path in (original, again)]
        np.testing.assert_array_equal(values[0][5:], values[1])
    linear = {"transform": "arcsinh", "cofactor": 15, "untransformed": ["CD4"]}
    import_files(tmp_path / "cells.csv", original, **linear, overwrite=True)
    partly = tmp_path / "partly.h5ad"
    write_new_anndata(labels_of_both(labels), original, partly, {})
    assert import_files(partly, again, overwrite=True).transform["untransformed"] == ["CD4"]
    with pytest.raises(DataError, match=r"linear: CD4.*different ways"):
        import_files([partly, exported], again, overwrite=True)

    import_files(tmp_path / "cells.csv", tmp_path / "5.zarr", transform="arcsinh", cofactor=5)
    for options in ({"transform": "arcsinh"}, {"like": tmp_path / "5.zarr"}):
        with pytest.raises(DataError, match=r"cofactor 15\b.*leave out transform"):
            import_files(exported, again, overwrite=True, **options)
    import_files(tmp_path / "cells.csv", original, transform="none", overwrite=True)
    write_new_anndata(labels, original, tmp_path / "linear.h5ad", {})
    with pytest.raises(DataError, match=r"linear\.h5ad .*different ways"):
        import_files([exported, tmp_path / "linear.h5ad"], again, overwrite=True)
