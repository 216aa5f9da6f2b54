"""The answers of a kernel mixture against the truth, and against each other."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, simulate
from tests.models.kernel_mixture.parameters import mixture_parameters


def matching(fitted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return for every true component the fitted one whose means are nearest."""
    distance = ((truth[:, None, :] - fitted[None, :, :]) ** 2).sum(axis=2)
    return linear_sum_assignment(distance)[1]


def component_means(model: KernelMixture) -> np.ndarray:
    """Return ``(k, views)`` means by `KernelMixture.expectation`."""
    return np.stack([model.expectation(view, lambda x: x) for view in model.views_.names], axis=1)


def within_grid(model: KernelMixture, rows: np.ndarray) -> np.ndarray:
    """Return which rows lie within the tabulated part of every one-dimensional view."""
    grids = model.solution_.solution.grids
    low, high = grids.low, grids.low + grids.step * grids.bins
    return ((rows >= low) & (rows <= high)).all(axis=1)


def test_weights__descend_sum_to_one_and_are_near_the_truth(model, data):
    assert_allclose(model.weights_.sum(), 1.0, rtol=1e-12)
    assert np.all(np.diff(model.weights_) <= 0)
    assert model.weights_.dtype == np.float64
    assert_allclose(model.weights_, np.sort(data["true_weights"])[::-1], atol=0.03)


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_labels__recover_the_components(start, symmetric, small):
    data = simulate.kernel_mixture(4000, 3, symmetric=symmetric, random_state=5)
    found = KernelMixture(3, init=start, **small).fit_predict(data)
    assert adjusted_rand_score(data["label"], found) > 0.9


@pytest.mark.parametrize("decomposition", ["jacobi", "power"])
@pytest.mark.parametrize("landmarks", ["kmeans", "uniform"])
@pytest.mark.quick_cases("kmeans-jacobi", "uniform-power")
def test_labels__are_recovered_by_every_choice(data, small, decomposition, landmarks):
    fitted = KernelMixture(
        3, **mixture_parameters(small, decomposition=decomposition, landmarks=landmarks)
    ).fit(data)
    assert adjusted_rand_score(data["label"], fitted.predict(data)) > 0.9


def test_more_than_three_views__are_all_used(small):
    data = simulate.kernel_mixture(4000, 3, views=5, separation=2.0, random_state=2)
    fitted = KernelMixture(3, **small).fit(data)
    three = KernelMixture(3, **small).fit(data.isel(feature=slice(3)))
    every = adjusted_rand_score(data["label"], fitted.predict(data))
    first = adjusted_rand_score(data["label"], three.predict(data.isel(feature=slice(3))))
    assert len(fitted.diagnostics_["groups"]) == 3
    grouped = [name for group in fitted.diagnostics_["groups"] for name in group]
    assert sorted(grouped) == sorted(fitted.views_.names)
    assert every > 0.95
    assert every > first


def test_probabilities__sum_to_one_and_their_largest_is_the_label(model, data):
    probability = model.predict_proba(data)
    assert_allclose(probability.sum("component"), 1.0, atol=1e-6)
    assert probability.min() >= 0
    assert_array_equal(probability.argmax("component"), model.predict(data))


def test_probabilities__are_those_of_the_densities(model, data):
    rows = data["X"].to_numpy()
    rows = rows[within_grid(model, rows)]
    joint = np.log(model.weights_) + sum(
        np.log(model.component_density(view, rows[:, column]))
        for column, view in enumerate(model.views_.names)
    )
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict_proba(rows)
    assert_allclose(found, expected, atol=1e-6)


def test_score_samples__is_the_log_of_the_mixture_of_products(small, data):
    model = KernelMixture(3, **mixture_parameters(small, feature_dtype="float64")).fit(data)
    rows = data["X"].to_numpy()
    inside = within_grid(model, rows)
    assert inside.mean() > 0.995
    joint = np.log(model.weights_) + sum(
        np.log(model.component_density(view, rows[inside, column]))
        for column, view in enumerate(model.views_.names)
    )
    expected = np.logaddexp.reduce(joint, axis=1)
    assert_allclose(model.score_samples(data).to_numpy()[inside], expected, rtol=1e-9)


def test_score_samples__of_wide_views_is_the_log_of_the_mixture_of_products(wide_model, wide_rows):
    rows = wide_rows[0]
    inside = within_grid(wide_model, rows[:, [0]])
    parts = {"a": rows[:, 0], "b": rows[:, [1, 2]], "c": rows[:, [4, 3]]}
    joint = np.log(wide_model.weights_) + sum(
        np.log(wide_model.component_density(view, points)) for view, points in parts.items()
    )
    expected = np.logaddexp.reduce(joint, axis=1)[inside]
    assert_allclose(wide_model.score_samples(rows)[inside], expected, atol=5e-3)


def test_score__is_the_mean_of_score_samples(model, data):
    scores = model.score_samples(data).to_numpy()
    weight = np.arange(len(scores)) % 3
    assert_allclose(model.score(data), scores.mean(), rtol=1e-12)
    assert_allclose(model.score(data, sample_weight=weight), np.repeat(scores, weight).mean())


def test_score__is_near_the_likelihood_of_the_truth(model, data):
    rows = data["X"].to_numpy()
    joint = np.log(data["true_weights"].to_numpy()) + norm.logpdf(
        rows[:, None, :], data["true_means"].to_numpy(), data["true_sds"].to_numpy()
    ).sum(axis=2)
    truth = np.logaddexp.reduce(joint, axis=1).mean()
    assert model.score(data) == pytest.approx(truth, abs=0.05)


def test_fit_predict__is_fit_then_predict(model, data, small):
    assert_array_equal(KernelMixture(3, **small).fit_predict(data), model.predict(data))


def test_component_density__integrates_to_one_and_is_near_the_truth(model, data):
    order = matching(component_means(model), data["true_means"].to_numpy())
    for index, view in enumerate(model.views_.names):
        points = np.linspace(-8, 22, 6001)
        density = model.component_density(view, points)
        assert density.shape == (6001, 3)
        assert_allclose(np.trapezoid(density, points, axis=0), 1.0, atol=2e-3)
        truth = norm.pdf(points[:, None], data["true_means"][:, index], data["true_sds"][:, index])
        distance = np.trapezoid(np.abs(density[:, order] - truth), points, axis=0)
        # total variation of a kernel estimate of some hundred to thousand rows
        assert np.all(distance / 2 < 0.08)


def test_component_density__of_a_wide_view_integrates_to_one(wide_model):
    axis = np.linspace(-12, 12, 241)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = wide_model.component_density("b", points)
    step = axis[1] - axis[0]
    # what the floor of one millionth of the peak adds over this area
    floor = density.min(axis=0) * (axis[-1] - axis[0]) ** 2
    assert np.all(floor < 0.01)
    assert_allclose(density.sum(axis=0) * step**2, 1.0, atol=0.02)


def test_component_density__takes_labelled_points(model):
    points = xr.DataArray(np.linspace(0, 5, 7), dims="point", coords={"point": np.arange(7)})
    density = model.component_density("view1", points)
    assert density.dims == ("point", "component")
    assert_array_equal(density["point"], np.arange(7))
    assert_array_equal(density, model.component_density("view1", points.to_numpy()[:, None]))


def test_expectation__is_near_the_labelled_truth(model, data):
    rows, label = data["X"].to_numpy(), data["label"].to_numpy()
    means = np.stack([rows[label == h].mean(axis=0) for h in range(3)])
    order = matching(component_means(model), means)
    assert_allclose(component_means(model)[order], means, atol=0.1)
    second = model.expectation("view2", lambda x: np.stack([x, x**2], axis=1))
    variance = second[:, 1] - second[:, 0] ** 2
    assert_allclose(variance[order], [rows[label == h, 1].var() for h in range(3)], rtol=0.15)


def test_expectation__over_all_components_is_the_moment_of_the_sample(model, data):
    mixed = model.weights_ @ component_means(model)
    assert_allclose(mixed, data["X"].mean("sample"), atol=5e-3)


def test_expectation__of_a_wide_view_is_near_the_labelled_truth(wide_model, wide_rows):
    _, _, means = wide_rows
    found = wide_model.expectation("b", lambda x: x)
    assert found.shape == (3, 2)
    order = matching(found, means[:, [1, 2]])
    assert_allclose(found[order], means[:, [1, 2]], atol=0.15)
    swapped = wide_model.expectation("c", lambda x: x[:, 0])
    assert_allclose(swapped[order], means[:, 4], atol=0.15)


def test_wide_views__recover_the_components(wide_model, wide_rows):
    rows, label, _ = wide_rows
    assert adjusted_rand_score(label, wide_model.predict(rows)) > 0.97
    assert_allclose(wide_model.weights_, [0.5, 0.3, 0.2], atol=0.03)


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral")
def test_only_wide_views__are_enough(wide_rows, small, start):
    rows, label, _ = wide_rows
    rows = np.column_stack([rows, rows[:, 0] + np.random.default_rng(3).normal(size=len(rows))])
    views = {"a": [0, 5], "b": [1, 2], "c": [3, 4]}
    fitted = KernelMixture(3, views=views, init=start, **small).fit(rows)
    assert adjusted_rand_score(label, fitted.predict(rows)) > 0.97


def test_sample__has_the_moments_of_the_model(model):
    rows, label = model.sample(40_000, random_state=4)
    assert rows.shape == (40_000, 3)
    assert label.dtype == np.int32
    share = np.bincount(label) / len(label)
    assert_allclose(share, model.weights_, atol=0.01)
    drawn = np.stack([rows[label == h].mean(axis=0) for h in range(3)])
    assert_allclose(drawn, component_means(model), atol=0.06)
    again, _ = model.sample(40_000, random_state=4)
    other, _ = model.sample(40_000, random_state=5)
    assert_array_equal(again, rows)
    assert not np.array_equal(other, rows)


def test_sample__restores_the_columns_of_the_data(wide_model, wide_rows):
    rows, label = wide_model.sample(20_000, random_state=1)
    truth = wide_rows[0]
    assert rows.shape[1] == truth.shape[1]
    assert_allclose(rows.mean(axis=0), truth.mean(axis=0), atol=0.15)
    assert_allclose(rows.std(axis=0), truth.std(axis=0), rtol=0.06)
    assert adjusted_rand_score(label, wide_model.predict(rows)) > 0.97


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral")
def test_sample_weight__of_integers_repeats_rows(data, small, start):
    rows, label = data["X"].to_numpy(), data["label"].to_numpy()
    times = np.array([3, 1, 0])[label] + (np.arange(len(rows)) % 2)
    settings = {**small, "pilot_rows": 20_000}
    weighted = KernelMixture(3, init=start, **settings).fit(rows, sample_weight=times)
    repeated = KernelMixture(3, init=start, **settings).fit(np.repeat(rows, times, axis=0))
    alone = KernelMixture(3, init=start, **settings).fit(rows)
    assert_allclose(weighted.weights_, repeated.weights_, atol=4e-3)
    assert np.abs(weighted.weights_ - alone.weights_).max() > 0.03
    assert_allclose(component_means(weighted), component_means(repeated), atol=0.05)


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_sample_weight__of_zero_leaves_rows_out(data, small, start):
    rows = data["X"].to_numpy()
    junk = np.full((500, 3), 1e4) * np.arange(1, 501)[:, None]
    weight = np.r_[np.ones(len(rows)), np.zeros(len(junk))]
    settings = {**small, "pilot_rows": 20_000}
    fitted = KernelMixture(3, init=start, **settings).fit(
        np.concatenate([rows, junk]), sample_weight=weight
    )
    clean = KernelMixture(3, init=start, **settings).fit(rows)
    assert_allclose(fitted.weights_, clean.weights_, atol=2e-3)
    assert_allclose(component_means(fitted), component_means(clean), atol=0.02)


def test_weight_variable__of_a_dataset_is_used(data, small):
    weight = np.array([3.0, 1.0, 0.5])[data["label"].to_numpy()]
    stored = data[["X"]].assign(weight=("sample", weight))
    inside = KernelMixture(3, **small).fit(stored)
    given = KernelMixture(3, **small).fit(data["X"], sample_weight=weight)
    assert_array_equal(inside.weights_, given.weights_)


def test_posterior_passes__raise_the_likelihood(data, small):
    model = KernelMixture(
        3, init="kmeans", max_iter=8, **mixture_parameters(small, posterior_width=None)
    )
    fitted = model.fit(data)
    likelihoods = fitted.diagnostics_["mean_log_likelihood"]
    assert len(likelihoods) <= 8
    assert likelihoods[-1] > likelihoods[0]


def test_numpy_integers__are_integers(data, small):
    settings = mixture_parameters(small, random_state=np.int32(0), n_landmarks=np.int16(40))
    fitted = KernelMixture(np.int64(3), **settings).fit(data)
    assert_array_equal(fitted.weights_, KernelMixture(3, **small).fit(data).weights_)


def test_random_state__none_is_zero_and_others_are_other_fits(data, small):
    settings = {key: value for key, value in small.items() if key != "random_state"}
    fits = [
        KernelMixture(3, random_state=seed, **settings).fit(data).weights_ for seed in (None, 0, 9)
    ]
    assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
    assert_allclose(fits[0], fits[2], atol=0.01)


@pytest.mark.parametrize("kind", [list, pd.Series, lambda weight: weight.astype(np.float32)])
@pytest.mark.quick_cases("list")
def test_sample_weight__may_be_any_array_like(data, small, kind):
    rows, weight = data["X"].to_numpy(), 1.0 + data["label"].to_numpy()
    expected = KernelMixture(3, **small).fit(rows, sample_weight=weight).weights_
    found = KernelMixture(3, **small).fit(rows, sample_weight=kind(weight)).weights_
    assert_array_equal(found, expected)
