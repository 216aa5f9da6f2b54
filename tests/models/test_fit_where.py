"""A fit of the rows that meet a condition is a fit of a store of these rows, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor import GaussianMixture, HiddenMarkovModel, KernelMixture, open_samples
from bigtensor.data.exporters.subset import write_subset
from bigtensor.data.rows import rows_where
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine import answers_to_store
from bigtensor.errors import DataError

ROWS = 6_000
CONDITION = "gate == 1 and DNA < 1.5"
MODELS: list[Any] = [GaussianMixture(2, max_iter=3), KernelMixture(2, max_iter=3)]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_where, "WINDOW_ROWS", 256)
    monkeypatch.setattr(rows_where, "READ_NBYTES", 2**14)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a store, and its subset."""
    random = np.random.default_rng(0)
    values = random.normal(size=(ROWS, 4)).astype("float32")
    values[: ROWS // 3, :3] += 3
    folder = tmp_path_factory.mktemp("where")
    with SampleStoreWriter(
        folder / "cells.zarr",
        ["CD3", "CD4", "CD8", "DNA"],
        row_variables={
            "sample_id": ("int32", {"categories": ["ann", "bob"]}),
            "gate": "int8",
            "weight": "float64",
        },
    ) as store:
        store.append(
            values,
            sample_id=(np.arange(ROWS) > 2500).astype("int32"),
            gate=random.integers(0, 3, ROWS) > 0,
            weight=random.uniform(0.5, 1.5, ROWS),
        )
    write_subset(folder / "cells.zarr", folder / "subset.zarr", where=CONDITION)
    return folder / "cells.zarr", folder / "subset.zarr"


def fitted(model: Any, data: Any, **options: Any) -> Any:
    parameters = {**model.get_params(deep=False), "random_state": 3}
    views = {"a": ["CD3"], "b": ["CD4"], "c": ["CD8"]}
    return type(model)(**{**parameters, "views": views}).fit(data, **options)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.quick_cases("GaussianMixture")
def test_fit_where__is_subset_and_fit(
    model: Any, stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, subset = stores
    monkeypatch.setattr(answers_to_store, "CHUNK_ROWS", 1000)
    selected = open_samples(cells, where=CONDITION)
    checkpoint = tmp_path / "checkpoint"
    where, alone = fitted(model, selected, checkpoint=checkpoint), fitted(model, subset)
    again = fitted(model, open_samples(cells, where=CONDITION), checkpoint=checkpoint)
    for other in (alone, again):
        mine, theirs = where.to_contents(), other.to_contents()
        assert mine.arrays.keys() == theirs.arrays.keys()
        for name, array in mine.arrays.items():
            np.testing.assert_array_equal(array, theirs.arrays[name], strict=True)
    reused = [entry["reused_parts"] for entry in again.diagnostics_["passes"]]
    assert all(reused)
    with xr.open_zarr(subset) as store:
        rows = store["source_row"].values
    labels = np.full(ROWS, -1)
    labels[rows] = alone.predict(subset).values
    where.write(selected, tmp_path / "labels.zarr", outputs=["label", "log_density"])
    with xr.open_zarr(tmp_path / "labels.zarr") as answers:
        np.testing.assert_array_equal(answers["label"], labels)
        assert np.isnan(answers["log_density"].values).tolist() == (labels < 0).tolist()
    np.testing.assert_array_equal(where.predict(selected), labels[rows])
    tables = [where.weights_by(selected, "sample_id"), alone.weights_by(str(subset), "sample_id")]
    np.testing.assert_array_equal(tables[0]["weight"], tables[1]["weight"])


def test_chunk_of_rows_that_are_all_left_out__is_filled(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_to_store, "CHUNK_ROWS", 1000)
    selected = open_samples(stores[0], where="sample_id == 'ann'")
    model = fitted(MODELS[0], selected)
    model.write(selected, tmp_path / "labels.zarr")
    labels = xr.open_zarr(tmp_path / "labels.zarr")["label"].values
    assert (labels[2501:] == -1).all()
    np.testing.assert_array_equal(labels[:2501], model.predict(selected))
    assert len(list((tmp_path / "labels.zarr" / "label" / "c").iterdir())) == 6


@pytest.mark.slow  # a store is quick
def test_arrays_in_memory__give_the_fit_of_the_rows_alone() -> None:
    values = np.random.default_rng(1).normal(size=(2000, 3))
    data = xr.DataArray(values, dims=("sample", "feature"), coords={"feature": ["a", "b", "c"]})
    where = GaussianMixture(2, max_iter=2).fit(open_samples(data, where="a > -0.5"))
    alone = GaussianMixture(2, max_iter=2).fit(data[values[:, 0] > -0.5])
    np.testing.assert_array_equal(where.means_, alone.means_)


def test_model_of_sequences__refuses_rows_left_out_inside_them() -> None:
    codes = np.random.default_rng(4).integers(0, 3, (600, 1)).astype("int32")
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), codes, {"categories": {"a": ["x", "y", "z"]}}),
            "sequence": ("sample", np.arange(600) // 100),
        },
        {"feature": ["a"]},
    )
    assert HiddenMarkovModel(2).open(open_samples(data, where="sequence < 4")).samples.rows == 400
    with pytest.raises(DataError, match="sequence"):
        HiddenMarkovModel(2).open(open_samples(data, where="a == 'x'"))


def test_rounds__see_the_rows_that_meet_the_condition(stores: tuple[Path, Path]) -> None:
    cells, subset = stores
    means = []
    for data in (open_samples(cells, where=CONDITION), subset):
        model = GaussianMixture(2, random_state=3).prepare(data)
        means.append(model.solve(model.accumulate(data)).means_)
    np.testing.assert_array_equal(*means)
