"""Names of columns of tables: answers belong to the columns of the fit, or an error says so."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

from bigtensor import GaussianMixture, annotate, open_samples
from bigtensor.errors import DataError, LayoutError

NAMES = ["a", "b", "c"]


def clusters(rows: int = 300) -> np.ndarray:
    """Draw rows of two clusters that differ in every column."""
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=(rows, 1))
    return label * [4.0, -6.0, 12.0] + rng.normal(size=(rows, 3))


VALUES = clusters()


def fitted(table: object) -> GaussianMixture:
    return GaussianMixture(2, random_state=0).fit(table)


@pytest.fixture(scope="module")
def model() -> GaussianMixture:
    return fitted(pd.DataFrame(VALUES, columns=NAMES))


def arrow(kind: str, names: list[str]) -> object:
    pyarrow = pytest.importorskip("pyarrow")
    return getattr(pyarrow, kind).from_pydict(dict(zip(names, VALUES.T, strict=True)))


@pytest.mark.parametrize("kind", ["Table", "RecordBatch"])
@pytest.mark.quick_cases("RecordBatch")
def test_pyarrow__has_the_names_of_its_columns(model, kind, tmp_path):
    table = arrow(kind, NAMES)
    assert_array_equal(model.predict(table), model.predict(pd.DataFrame(VALUES, columns=NAMES)))
    assert_array_equal(fitted(table).feature_names_in_, NAMES)
    for names in (["c", "b", "a"], ["a", "b", "z"]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(arrow(kind, names))
        with pytest.raises(ValueError, match="feature names"):
            model.write(arrow(kind, names), tmp_path / "answers.zarr")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.select(["a", "b"]))


def test_list_of_tables__has_the_names_of_its_columns(model):
    table = pd.DataFrame(VALUES, columns=NAMES)
    parts = [table[:100], table[100:]]
    assert_array_equal(model.predict(parts), model.predict(table))
    assert_array_equal(fitted(parts).feature_names_in_, NAMES)
    with pytest.raises(ValueError, match="feature names"):
        model.predict([part[["c", "b", "a"]] for part in parts])


@pytest.mark.parametrize(
    "columns",
    [[5, 6, 7], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), [5, "a", 6.5]],
)
@pytest.mark.quick_cases("columns0")
def test_names__that_are_no_strings_are_compared(columns):
    table = pd.DataFrame(VALUES, columns=columns)
    model = fitted(table)
    assert model.feature_names_in_.tolist() == [str(name) for name in table.columns]
    assert_array_equal(model.predict(table), fitted(VALUES).predict(VALUES))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.iloc[:, ::-1])


def test_numbered_columns__have_no_names():
    table = pd.DataFrame(VALUES)
    model = fitted(table)
    assert not hasattr(model, "feature_names_in_")
    assert_array_equal(model.predict(table), model.predict(VALUES))
    with pytest.raises(DataError, match=r"2, 1, 0.*to_numpy"):
        model.predict(table[[2, 1, 0]])
    turned = fitted(table[[2, 1, 0]])
    with pytest.raises(DataError, match=r"0, 1, 2.*2, 1, 0.*to_numpy"):
        turned.predict(table)


def test_samples_of_an_array__are_read_by_position(model):
    with pytest.warns(UserWarning, match="valid feature names"):
        expected = model.predict(VALUES)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert_array_equal(model.predict(open_samples(VALUES)), expected)
    with pytest.warns(UserWarning, match="valid feature names"):
        selected = model.predict(open_samples(VALUES, where="x0 > 2"))
    assert_array_equal(selected, expected[VALUES[:, 0] > 2])
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="2 features"),
    ):
        model.predict(open_samples(VALUES[:, :2]))


def test_names_of_anndata__are_told_to_a_model_of_an_array():
    data = anndata.AnnData(VALUES, var=pd.DataFrame(index=NAMES))
    nameless = fitted(VALUES)
    for read in (nameless.predict, lambda rows: annotate(rows, nameless)):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            read(data[:, ::-1].copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nameless.predict(anndata.AnnData(VALUES))
        # the names of columns of an array in obsm are made up
        data.obsm["X_pca"] = VALUES
        nameless.predict(open_samples(data, obsm="X_pca"))
        fitted(data).predict(data[:, ::-1].copy())


def test_tree__is_refused_with_the_way_to_a_data_set(model):
    tree = xr.DataTree(xr.Dataset({"X": (("sample", "feature"), VALUES)}))
    for call in (fitted, model.predict, open_samples):
        with pytest.raises(LayoutError, match="to_dataset"):
            call(tree)
