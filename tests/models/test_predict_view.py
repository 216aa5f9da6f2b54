"""The prediction of a view from the others, against the truth and the plain formula."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from bigtensor import KernelMixture, simulate
from bigtensor.errors import MissingValueError, ParameterError, ViewError
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.models.kernel_mixture.test_queries import (
    VIEWS,
    Mixed,
    columns_of,
    expansion_of,
    is_code,
    mixed_model,
    powers,
)
from tests.parameters import first_quick


@pytest.fixture(scope="module")
def mixed() -> Mixed:
    return mixed_model(0)


def posterior_without(found: Mixed, view: str) -> np.ndarray:
    """Return P(h | all other views) from weights and densities, (rows, components)."""
    joint = np.log(found.model.weights_) + sum(
        np.log(found.model.component_density(other, columns_of(found.values, other)))
        for other in VIEWS
        if other != view
    )
    return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("view", "f"), [("a", powers), ("pair", None), ("code", is_code), ("d", np.abs)]
)
def test_predict_view__is_the_mean_by_the_posterior_of_the_others(mixed, view, f):
    found = mixed.model.predict_view(mixed.values, view, f)
    means = mixed.model.expectation(view, f or (lambda x: x)).reshape(3, -1)
    expected = posterior_without(mixed, view) @ means
    low, step = mixed.model.solution_.solution.grids.low, mixed.model.solution_.solution.grids.step
    measured = mixed.values[:, [0, 4]]
    inside = ((measured > low) & (measured < low + 512 * step)).all(axis=1)
    assert inside.mean() > 0.99
    assert found.shape == expected.shape
    # features of wide views are float32
    assert_allclose(found[inside], expected[inside], atol=5e-3)
    assert np.abs(found[inside] - expected[inside]).mean() < 2e-5


def test_predict_view__of_a_kernel_expansion_uses_the_embedding(mixed):
    f = expansion_of(mixed)
    found = mixed.model.predict_view(mixed.values, "pair", f)
    expected = posterior_without(mixed, "pair") @ mixed.model.expectation("pair", f)
    assert np.abs(found - expected).mean() < 2e-5


def explained(values: np.ndarray, predicted: np.ndarray) -> float:
    """Return R^2: the share of the variance that a prediction explains."""
    return float(1 - np.var(values - predicted) / np.var(values))


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_predict_view__is_nearly_as_good_as_the_truth_predicts(seed, small):
    data = simulate.kernel_mixture(8000, 3, separation=1.5, random_state=seed)
    seen, fresh = data.isel(sample=slice(4000)), data.isel(sample=slice(4000, None))
    model = KernelMixture(3, **small).fit(seen)
    rows, means = fresh["X"].to_numpy(), data["true_means"].to_numpy()
    logs = norm.logpdf(rows[:, None], means, data["true_sds"].to_numpy())
    for column, view in enumerate(model.views_.names):
        joint = np.log(data["true_weights"].to_numpy()) + np.delete(logs, column, 2).sum(axis=2)
        posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        oracle = explained(rows[:, column], posterior @ means[:, column])
        ours = explained(rows[:, column], model.predict_view(fresh, view).to_numpy()[:, 0])
        assert oracle > 0.3
        assert ours > oracle - 0.02


def test_predict_view__needs_no_feature_of_the_view(model, data):
    expected = model.predict_view(data, "view2")
    assert expected.dims == ("sample", "value")
    assert expected.shape == (4000, 1)
    assert_array_equal(expected["sample"], data["sample"])
    missing = data["X"].isel(feature=[2, 0])
    assert_array_equal(model.predict_view(missing, "view2"), expected)
    unknown = data["X"].copy(deep=True)
    unknown[:, 1] = np.nan
    assert_array_equal(model.predict_view(unknown, "view2"), expected)
    with pytest.raises(ViewError, match=r"X lacks features .*absent .*'view2'"):
        model.predict_view(missing, "view1")
    with pytest.raises(MissingValueError, match=r"4,000 of 4,000 rows .* 'view2'"):
        model.predict_view(unknown, "view1")


def test_predict_view__of_plain_arrays_may_hold_anything_in_the_view(mixed):
    expected = mixed.model.predict_view(mixed.values, "pair")
    assert isinstance(expected, np.ndarray)
    unknown = mixed.values.copy()
    unknown[:, [1, 2]] = np.nan
    assert_array_equal(mixed.model.predict_view(unknown, "pair"), expected)
    with pytest.raises(ValueError, match=r"X has 3 features, .* expecting 5"):
        mixed.model.predict_view(np.delete(unknown, [1, 2], axis=1), "pair")


def test_predict_view__of_two_views_uses_the_other_one(small):
    data = simulate.kernel_mixture(3000, 2, views=2, random_state=4)
    model = KernelMixture(2, init="kmeans", **mixture_parameters(small, posterior_width=None)).fit(
        data
    )
    found = model.predict_view(data["X"].isel(feature=[0]), "view2")
    rows, means = data["X"].to_numpy(), data["true_means"].to_numpy()
    sds, weights = data["true_sds"].to_numpy()[:, 0], data["true_weights"].to_numpy()
    joint = weights * norm.pdf(rows[:, :1], means[:, 0], sds)
    oracle = explained(rows[:, 1], joint @ means[:, 1] / joint.sum(axis=1))
    assert explained(rows[:, 1], found.to_numpy()[:, 0]) > oracle - 0.02


def test_predict_view__of_lazy_data_is_lazy(model, data, tmp_path):
    expected = model.predict_view(data, "view3", powers).to_numpy()
    assert expected.shape == (4000, 2)
    chunked = model.predict_view(data.chunk(sample=700), "view3", powers)
    assert chunked.chunks is not None
    assert chunked.dims == ("sample", "value")
    assert_allclose(chunked.to_numpy(), expected, rtol=1e-12)
    array = model.predict_view(da.from_array(data["X"].to_numpy(), (500, 3)), "view3", powers)
    assert isinstance(array, da.Array)
    assert_allclose(array.compute(), expected, rtol=1e-12)
    simulate.write_kernel_mixture(tmp_path / "rows.zarr", 4000, 3, random_state=1)
    stored = model.predict_view(tmp_path / "rows.zarr", "view3", powers)
    assert stored.chunks is not None
    assert_allclose(stored.to_numpy(), expected, rtol=1e-12)


def test_predict_view__of_rows_left_out_is_missing(small, data):
    damaged = data.copy(deep=True)
    damaged["X"][{"sample": 5, "feature": 0}] = np.nan
    model = KernelMixture(3, missing="omit", **small).fit(data)
    with pytest.warns(UserWarning, match="1 of 4,000 rows"):
        found = model.predict_view(damaged, "view2")
    assert np.flatnonzero(np.isnan(found.to_numpy()[:, 0])).tolist() == [5]
    assert not np.isnan(model.predict_view(damaged, "view1")).any()


def test_predict_view__says_what_it_cannot_take(model, data):
    with pytest.raises(ViewError, match="no view 'pair'; the model has view1"):
        model.predict_view(data, "pair")
    with pytest.raises(ParameterError, match=r"f returned shape \(\)"):
        model.predict_view(data, "view1", np.sum)
