"""Expectations, predictions of a view, densities and samples, against simulated truth."""

from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.errors import ParameterError, ViewError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.kernel_mixture.view_functions import KernelExpansion
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

VIEWS = {"a": [0], "pair": [2, 1], "code": [3], "d": [4]}
CODES = np.arange(4.0)
SHARES = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.7, 0.1, 0.1], [0.0, 0.1, 0.3, 0.6]])
PAIR_MEANS = np.array([[0.0, 0.0], [4.0, -4.0], [-4.0, 4.0]])
COVARIANCE = np.array([[1.0, 0.6], [0.6, 1.36]])
WEIGHTS = np.array([0.5, 0.3, 0.2])

STANDARD_ERRORS = 4.5
"""Largest deviation from the truth, in standard errors of the labelled rows."""


class Mixed(NamedTuple):
    """Rows of every kind of view, their labels, and a model of them; components by weight."""

    values: np.ndarray
    label: np.ndarray
    model: KernelMixture


def mixed_rows(seed: int, rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=rows, p=WEIGHTS)
    a = np.array([0.0, 4.0, 8.0])[label] + rng.normal(size=rows)
    noise = rng.normal(size=(rows, 2))
    noise[:, 1] += 0.6 * noise[:, 0]
    pair = PAIR_MEANS[label] + noise
    code = (rng.uniform(size=rows)[:, None] > np.cumsum(SHARES, axis=1)[label]).sum(axis=1)
    d = np.array([5.0, 0.0, 9.0])[label] + rng.laplace(size=rows)
    return np.column_stack([a, pair, code, d]), label


def mixed_model(seed: int, kernel: str = "gaussian", **parameters) -> Mixed:
    values, label = mixed_rows(seed)
    model = KernelMixture(
        3,
        views=VIEWS,
        kernel={"code": "delta", "pair": kernel, "d": "laplace"},
        **mixture_parameters({"bins": 512, "pilot_rows": 2000, "random_state": 0}, **parameters),
    ).fit(values)
    return Mixed(values, label, model)


@pytest.fixture(scope="module")
def mixed() -> Mixed:
    return mixed_model(0)


def columns_of(values: np.ndarray, view: str) -> np.ndarray:
    """Return the values of a view, as functions of it are given them."""
    return values[:, VIEWS[view][0]] if len(VIEWS[view]) == 1 else values[:, VIEWS[view]]


def is_code(values: np.ndarray) -> np.ndarray:
    return values[:, None] == CODES


def in_true_order(model: KernelMixture, data: xr.Dataset) -> np.ndarray:
    """Return the fitted component of every true one, by the label that most of its rows get."""
    predicted, label = model.predict(data).to_numpy(), data["label"].to_numpy()
    order = [np.bincount(predicted[label == h]).argmax() for h in range(len(model.weights_))]
    assert len({*order}) == len(order)
    return np.array(order)


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_expectation__of_one_feature_is_near_the_truth(seed, small):
    data = simulate.kernel_mixture(4000, 3, random_state=seed)
    model = KernelMixture(3, **small).fit(data)
    order = in_true_order(model, data)
    rows = np.bincount(data["label"])[:, None]
    mean, sd = data["true_means"].to_numpy(), data["true_sds"].to_numpy()
    found = np.stack([model.expectation(view, powers) for view in model.views_.names], axis=1)
    moments = np.stack([mean, mean**2 + sd**2], axis=2)[..., None, :].squeeze(2)
    errors = np.stack([sd**2, 4 * mean**2 * sd**2 + 2 * sd**4], axis=2)
    errors = np.sqrt(errors / rows[..., None])
    assert np.abs((found[order] - moments) / errors).max() < STANDARD_ERRORS


def powers(values: np.ndarray) -> np.ndarray:
    return np.stack([values, values**2], axis=1)


@pytest.mark.parametrize("seed", first_quick(range(3)))
def test_expectation__of_wide_and_categorical_views_is_near_the_truth(seed):
    model = mixed_model(seed).model
    # rows of the pilot sample stand for those of a wide view
    rows = 2000 * WEIGHTS[:, None]
    means = model.expectation("pair", lambda x: x)
    errors = np.sqrt(np.diag(COVARIANCE)[::-1] / rows)
    assert np.abs((means - PAIR_MEANS[:, ::-1]) / errors).max() < STANDARD_ERRORS
    products = model.expectation("pair", lambda x: x[:, 0] * x[:, 1]) - means.prod(axis=1)
    product_errors = np.sqrt((1.36 + 0.6**2) / rows[:, 0])
    assert np.abs((products - 0.6) / product_errors).max() < STANDARD_ERRORS
    shares = model.expectation("code", is_code)
    errors = np.sqrt(np.maximum(SHARES * (1 - SHARES), 1e-2) / rows)
    assert np.abs((shares - SHARES) / errors).max() < STANDARD_ERRORS
    assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


def test_expectation__has_no_smoothing_and_the_density_has(model):
    for view in model.views_.names:
        index = model.views_.names.index(view)
        grid = model.solution_.solution.grids.points(index)
        density = model.component_density(view, grid)
        density /= density.sum(axis=0)
        moments = model.expectation(view, powers)
        smoothed = grid**2 @ density - (grid @ density) ** 2
        added = smoothed - (moments[:, 1] - moments[:, 0] ** 2)
        width = model.solution_.solution.bandwidths[index]
        assert np.all(width > 0.1)
        # the grid ends with the sample, where the smoothed density is cut off
        assert np.all((added > 0.6 * width**2) & (added < 1.05 * width**2))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("f", [np.cos, lambda x: np.cos(x).reshape(len(x), -1)[:, 0]])
def test_expectation__with_data_is_the_mean_by_posterior_probability(mixed, view, f):
    share = mixed.model.predict_proba(mixed.values, level="component").astype(np.float64)
    found = mixed.model.expectation(view, f, mixed.values)
    expected = (share / share.sum(axis=0)).T @ f(columns_of(mixed.values, view))
    assert found.shape == expected.shape
    assert_allclose(found, expected, atol=1e-6)
    assert_allclose(mixed.model.expectation(view, f), found, atol=0.06)


def test_expectation__with_data_counts_weights_and_takes_every_container(model, data):
    weight = np.array([2.0, 0.5, 1.0])[data["label"].to_numpy()]
    share = model.predict_proba(data).to_numpy().astype(np.float64)
    rows = data["X"].to_numpy()[:, 1]
    plain = model.expectation("view2", np.abs, data)
    assert_allclose(plain, share.T @ np.abs(rows) / share.sum(axis=0), atol=1e-6)
    heavy = model.expectation("view2", np.abs, data.assign(weight=("sample", weight)))
    share *= weight[:, None]
    assert_allclose(heavy, share.T @ np.abs(rows) / share.sum(axis=0), atol=1e-6)
    assert np.abs(heavy - plain).max() > 1e-3
    chunked = model.expectation("view2", np.abs, data.chunk(sample=700))
    assert_allclose(chunked, plain, rtol=1e-12)


def test_expectation__of_components_where_there_are_populations(small):
    data = simulate.kernel_mixture(3000, 3, random_state=2)
    model = KernelMixture(6, n_populations=3, **small).fit(data)
    share = model.predict_proba(data, level="component").to_numpy().astype(np.float64)
    found = model.expectation("view1", lambda x: x, data)
    assert_allclose(found, share.T @ data["X"].to_numpy()[:, 0] / share.sum(axis=0), atol=1e-6)
    rows, label = model.sample(5000, random_state=1)
    assert {*label} == {0, 1, 2}
    predicted = model.predict(data["X"].copy(data=np.resize(rows, (3000, 3))))
    assert adjusted_rand_score(label[:3000], predicted) > 0.9


def test_expectation__says_what_it_cannot_take(model, data, tmp_path):
    with pytest.raises(ViewError, match=r"view 'code'; .* view1, view2, view3"):
        model.expectation("code", np.abs)
    with pytest.raises(ParameterError, match=r"f returned shape \(\) for 2 values"):
        model.expectation("view1", np.sum, data)
    with pytest.raises(ParameterError, match=r"no checkpoint.* leave checkpoint out"):
        model.expectation("view1", np.abs, data, checkpoint=tmp_path)


def expansion_of(found: Mixed, seed: int = 0) -> KernelExpansion:
    """Return four functions of kernels around rows of the pair."""
    points = columns_of(found.values, "pair")[:20]
    coefficients = np.random.default_rng(seed).normal(size=(20, 4))
    return KernelExpansion(points, coefficients, found.model.view_kernel("pair"))


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.quick_cases("laplace")
def test_kernel_expansion__is_the_inner_product_with_the_embedding(kernel):
    found = mixed_model(1, kernel)
    f, (view,) = (
        expansion_of(found),
        [v for v in found.model.solution_.solution.embedded if v.name == "pair"],
    )
    # the kernel has height one, so that the density is the embedding over the kernel's mass
    coefficients = view.feature_map.mixing @ view.coefficients / view.feature_map.volume
    mass = 2 * np.pi if kernel == "gaussian" else 4.0
    mass *= np.prod(f.kernel.bandwidth if kernel == "gaussian" else f.kernel.scale)
    assert_allclose(coefficients.sum(axis=0), 1 / mass, rtol=1e-6)
    coefficients = mass * coefficients
    gram = f.kernel.evaluate(f.points, view.feature_map.landmarks)
    expected = (f.coefficients.T @ gram @ coefficients).T
    assert_allclose(found.model.expectation("pair", f), expected, rtol=1e-6, atol=1e-9)
    alone = KernelExpansion(f.points, f.coefficients[:, 2], f.kernel)
    assert_allclose(found.model.expectation("pair", alone), expected[:, 2], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", first_quick(range(3)))
def test_kernel_expansion__is_the_mean_over_rows_up_to_sampling(seed):
    found = mixed_model(seed)
    f = expansion_of(found, seed)
    closed = found.model.expectation("pair", f)
    pilot = found.model.expectation("pair", lambda x: f(x))
    assert np.abs(closed - pilot).max() > 0
    variance = found.model.expectation("pair", lambda x: f(x) ** 2) - pilot**2
    errors = np.sqrt(variance / (2000 * WEIGHTS[:, None]))
    assert np.abs((closed - pilot) / errors).max() < STANDARD_ERRORS


def test_kernel_expansion__of_ones_own_kernel_in_one_feature(mixed):
    kernel = CustomKernel(lambda x, z: norm.pdf(x, z.T, 0.7), 1, "one")
    model = KernelMixture(
        3,
        views=VIEWS,
        kernel={"code": "delta", "a": kernel},
        spectral=SpectralOptions(bins=512),
        random_state=0,
    ).fit(mixed.values)
    f = KernelExpansion(np.array([-1.0, 3.0, 7.0]), np.array([1.0, -2.0, 0.5]), kernel)
    direct = model.expectation("a", lambda x: f(x), mixed.values)
    assert_allclose(model.expectation("a", f), direct, atol=2e-3)
    assert np.abs(direct).max() > 0.1
    assert model.view_kernel("a").function is kernel.function


def test_kernel_expansion__says_what_it_cannot_take(mixed):
    with pytest.raises(ViewError, match=r"view 'a' are no sums .* histograms"):
        mixed.model.view_kernel("a")
    with pytest.raises(ViewError, match="view 'code' are no sums of kernels"):
        mixed.model.view_kernel("code")
    kernel = mixed.model.view_kernel("pair")
    with pytest.raises(ParameterError, match=r"points \(5, 3\) and .* \(5,\) do not"):
        KernelExpansion(np.ones((5, 3)), np.ones(5), kernel)
    with pytest.raises(ParameterError, match=r"points \(5, 2\) and coefficients \(4,\)"):
        KernelExpansion(np.ones((5, 2)), np.ones(4), kernel)
    with pytest.raises(ParameterError, match=r"2 feature\(s\) was given values of 1"):
        mixed.model.expectation("a", expansion_of(mixed))


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.quick_cases("laplace")
def test_component_density__of_every_kind_of_view_integrates_to_one(kernel):
    model = mixed_model(2, kernel).model
    for view in ("a", "d"):
        points = np.linspace(-15, 25, 8001)
        total = np.trapezoid(model.component_density(view, points), points, axis=0)
        assert_allclose(total, 1.0, atol=2e-3)
    axis = np.linspace(-14, 14, 281)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    total = model.component_density("pair", points).sum(axis=0) * (axis[1] - axis[0]) ** 2
    assert_allclose(total, 1.0, atol=0.02)
    assert_allclose(model.component_density("code", CODES).sum(axis=0), 1.0, atol=1e-5)


def test_component_density__of_categories_is_not_smoothed_and_that_of_pairs_is(mixed):
    share = mixed.model.predict_proba(mixed.values).astype(np.float64)
    counts = is_code(mixed.values[:, 3]).T @ share
    found = mixed.model.component_density("code", CODES)
    assert_allclose(found, counts / counts.sum(axis=0), atol=2e-3)
    axis = np.linspace(-12, 12, 401)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = mixed.model.component_density("pair", points)
    density /= density.sum(axis=0)
    smoothed = (points**2).T @ density - (points.T @ density) ** 2
    means = mixed.model.expectation("pair", lambda x: x, mixed.values)
    variance = mixed.model.expectation("pair", lambda x: x**2, mixed.values) - means**2
    # less than the square of the bandwidth: landmarks are centres, and vary less than rows
    added = (smoothed - variance.T) / mixed.model.view_kernel("pair").bandwidth[:, None] ** 2
    assert np.all((added > 0) & (added < 1))
    assert added.mean() > 0.3


@pytest.mark.parametrize("seed", first_quick(range(2)))
def test_sample__has_the_moments_of_the_truth(seed):
    model = mixed_model(seed).model
    values, label = model.sample(20_000, random_state=5)
    assert_array_equal(label, model.sample(20_000, random_state=5)[1])
    rows = 2000 * WEIGHTS
    truth = {0: (np.array([0.0, 4.0, 8.0]), 1.0), 4: (np.array([5.0, 0.0, 9.0]), 2.0)}
    truth |= {1: (PAIR_MEANS[:, 0], 1.0), 2: (PAIR_MEANS[:, 1], 1.36)}
    for column, (mean, variance) in truth.items():
        drawn = [values[label == h, column] for h in range(3)]
        errors = np.sqrt(variance / rows)
        found = np.array([part.mean() for part in drawn])
        assert np.abs((found - mean) / errors).max() < STANDARD_ERRORS
        # noise of a fraction of the spread is added
        spread = np.array([part.std() for part in drawn])
        assert_allclose(spread, np.sqrt(variance), rtol=0.2)
    pair = np.stack([np.cov(values[label == h, 1], values[label == h, 2])[0, 1] for h in range(3)])
    assert_allclose(pair, 0.6, atol=0.2)
    shares = np.stack([is_code(values[label == h, 3]).mean(axis=0) for h in range(3)])
    assert_allclose(shares, SHARES, atol=0.06)
    assert_allclose(np.bincount(label) / 20_000, WEIGHTS, atol=0.03)
