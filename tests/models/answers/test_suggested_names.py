"""Names that a fitted mixture suggests for its populations."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import load_wine

from bigtensor import DiscreteMixture, GaussianMixture, KernelMixture
from bigtensor.testing import small_data

MARKERS = ["CD3", "CD4", "CD19", "CD69", "noise"]
POPULATIONS = [
    # markers that are positive, and the share of the cells
    ({"CD3", "CD4"}, 0.5),
    ({"CD3"}, 0.3),
    ({"CD19"}, 0.19),
    ({"CD3", "CD4", "CD69"}, 0.01),
]


VIEWS = {"pair": ["a", "b"], "c": ["c"], "second pair": ["d", "e"], "f": ["f"]}


@pytest.fixture(scope="module")
def cells() -> xr.DataArray:
    """Return cells of four types, one of them rare, on the arcsinh scale."""
    rng = np.random.default_rng(0)
    blocks = []
    for positive, share in POPULATIONS:
        mean = np.array([4.0 if marker in positive else 0.5 for marker in MARKERS])
        blocks.append(mean + 0.45 * rng.standard_normal((int(20_000 * share), len(MARKERS))))
    return xr.DataArray(
        np.concatenate(blocks), dims=("sample", "feature"), coords={"feature": MARKERS}
    )


@pytest.mark.parametrize(
    "model",
    [GaussianMixture(4, random_state=0), KernelMixture(40, n_populations=4, random_state=0)],
    ids=["Gaussian", "kernel"],
)
@pytest.mark.quick_cases("Gaussian")
def test_suggested_names__are_the_signs_of_the_cells(model, cells):
    model = model.fit(cells)
    suggested = model.suggest_population_names()
    names = np.array(suggested)[np.asarray(model.predict(cells))]
    assert len({*suggested}) == 4
    rows = np.cumsum([int(20_000 * share) for _, share in POPULATIONS]) - 1
    for row, (positive, _) in zip(rows, POPULATIONS, strict=True):
        signs = {*names[row].split()}
        assert {sign[:-1] for sign in signs if sign.endswith("+")} <= positive
        assert not {sign[:-1] for sign in signs if sign.endswith("-")} & positive
        assert len(signs) >= 2
    assert "CD69+" in names[rows[-1]]


def test_suggested_names__of_categories_are_empty():
    model = DiscreteMixture(2, random_state=0).fit(small_data("codes"))
    assert model.suggest_population_names() == ["", ""]


@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture(2, random_state=0),
        GaussianMixture(4, covariance_type="tied", random_state=0),
        KernelMixture(3, random_state=0),
    ],
    ids=["Gaussian", "tied", "kernel"],
)
@pytest.mark.quick_cases("tied")
def test_suggested_names__do_not_depend_on_columns_and_origins(model):
    values = load_wine().data
    features = [f"f{column}" for column in range(values.shape[1])]
    data = xr.DataArray(values, dims=("sample", "feature"), coords={"feature": features})
    model = model.fit(data)
    labels, names = model.predict(data).to_numpy(), model.suggest_population_names()
    assert all(names)
    order = np.random.default_rng(0).permutation(len(features))
    for moved in (data[:, ::-1], data[:, order], data * 1_000, data + 1e7):
        model = model.fit(moved)
        np.testing.assert_array_equal(model.predict(moved), labels)
        assert model.suggest_population_names() == names


@pytest.fixture(scope="module")
def classes() -> xr.DataArray:
    """Return three classes that differ in four of six features."""
    rng = np.random.default_rng(0)
    means = 4 * np.array([[0, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 1]])
    values = means[rng.integers(0, 3, 3_000)] + 0.6 * rng.standard_normal((3_000, 6))
    return xr.DataArray(values, dims=("sample", "feature"), coords={"feature": [*"abcdef"]})


@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture(3, random_state=0),
        GaussianMixture(3, covariance_type="diag", random_state=0),
        GaussianMixture(3, covariance_type="spherical", random_state=0),
        GaussianMixture(3, covariance_type="tied", random_state=0),
        GaussianMixture(3, covariance_type="shared_spherical", random_state=0),
        KernelMixture(3, random_state=0),
        KernelMixture(3, views=VIEWS, random_state=0),
    ],
    ids=["full", "diagonal", "spherical", "tied", "shared spherical", "kernel", "wide view"],
)
@pytest.mark.quick_cases("full", "diagonal", "spherical", "tied", "shared spherical", "kernel")
def test_feature_quantiles__are_those_of_drawn_rows(model, classes):
    fitted = model.fit(classes)._mixture()
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    for component in range(3):
        label = np.full(20_000, component)
        drawn = fitted.draw_rows(label, np.random.default_rng(1))
        for column, values in enumerate(drawn.T):
            expected = np.quantile(values, levels)
            quantiles = fitted.feature_quantiles(column, levels)[component]
            np.testing.assert_allclose(quantiles, expected, atol=0.07 * values.std())


def test_feature_quantiles__without_rows_are_those_of_the_landmarks(classes):
    fitted = KernelMixture(3, views=VIEWS, random_state=0).fit(classes)._mixture()
    without_rows = replace(fitted, solution=replace(fitted.solution, responsibilities=None))
    levels = np.array([0.2, 0.5, 0.8])
    for column in (0, 1):
        quantiles = fitted.feature_quantiles(column, levels)
        np.testing.assert_allclose(
            without_rows.feature_quantiles(column, levels), quantiles, atol=0.25
        )


def test_suggested_names__leave_out_a_view_of_categories(classes):
    data = classes.copy()
    data[:, 5] = 60 * (data[:, 5] > 2) + np.arange(len(data)) % 15
    model = KernelMixture(3, kernel={"f": "delta"}, random_state=0).fit(data)
    names = model.suggest_population_names()
    assert all(names)
    assert "f" not in " ".join(names)
