"""Views that share their components: one density for all, from the rows of all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.data.simulate import labelled_kernel_density
from bigtensor.errors import ViewError
from tests.benchmarks.accuracy.truth import Truth
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

ACCURATE = {"spectral": SpectralOptions(bins=512), "init": "spectral", "random_state": 0}
PAIRS = {"first": [0, 1], "second": [2, 3], "third": [4, 5], "fourth": [6, 7]}


def error_of(truth: Truth, model: KernelMixture) -> float:
    """Return sum_h pi_h ||p_h - estimate||_2, mean over the views: recipe of the benchmark."""
    pairs = zip(truth.features, truth.grids, strict=True)
    return truth.error([model.component_density(name, grid) for name, grid in pairs])


def symmetric(rows: int, k: int, seed: int, views: int = 3, **parameters) -> Truth:
    return Truth.of(
        simulate.kernel_mixture(
            rows, k, views=views, symmetric=True, random_state=1000 * seed + k, **parameters
        )
    )


@pytest.fixture(scope="module")
def shared() -> tuple[Truth, KernelMixture]:
    truth = symmetric(4000, 3, seed=2)
    return truth, KernelMixture(3, views_share_components=True, **ACCURATE).fit(truth.data)


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Four measurements of two correlated quantities: rows, labels, means, covariance."""
    rng = np.random.default_rng(4)
    means, cov = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]]), np.array([[1.0, 0.6], [0.6, 1.0]])
    label = rng.choice(3, size=4000, p=[0.5, 0.3, 0.2])
    noise = rng.multivariate_normal(np.zeros(2), cov, size=(4000, 4))
    return (means[label][:, None] + noise).reshape(4000, 8), label, means, cov


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(("rows", "k"), first_quick([(300, 4), (1000, 8)]))
def test_error__is_less_than_that_of_untied_views(rows, k):
    ratios, to_labelled = [], []
    for seed in range(4):
        truth = symmetric(rows, k, seed)
        tied, untied = (
            error_of(
                truth,
                KernelMixture(k, views_share_components=tie, **ACCURATE).fit(truth.data),
            )
            for tie in (True, False)
        )
        label = np.tile(truth.data["label"].to_numpy(), 3)
        pooled = labelled_kernel_density(truth.values.T.ravel(), label, k, truth.grids[0])
        ratios.append(tied / untied)
        to_labelled.append(tied / truth.error([pooled] * 3))
    # three times the rows a density: 3^(-2/5) = 0.64 of the error of a kernel estimate
    assert max(ratios) < 0.85
    assert np.mean(ratios) < 0.75
    # the lower reference knows every label, and pools the views too
    assert np.mean(to_labelled) < 1.1


def test_density__is_one_for_all_views(shared):
    _, model = shared
    points = np.linspace(-5, 15, 200)
    first = model.component_density("view1", points)
    for view in ("view2", "view3"):
        assert_array_equal(model.component_density(view, points), first)
        assert_array_equal(
            model.expectation(view, lambda x: x), model.expectation("view1", lambda x: x)
        )
    assert_allclose(np.trapezoid(first, points, axis=0), 1.0, atol=5e-3)


def test_expectation__is_the_mean_over_the_rows_of_all_views(shared):
    truth, model = shared
    pooled = model.weights_ @ model.expectation("view2", lambda x: np.stack([x, x**2], axis=1))
    assert_allclose(pooled, [truth.values.mean(), (truth.values**2).mean()], rtol=2e-3)


def test_answers__do_not_depend_on_the_order_of_the_views(shared):
    truth, model = shared
    values = truth.values[:, [2, 0, 1]]
    other = KernelMixture(3, views_share_components=True, **ACCURATE).fit(values)
    # the pilot pools the views in another order, so that landmarks differ
    assert_allclose(other.weights_, model.weights_, atol=2e-3)
    assert (other.predict(values) == model.predict(truth.data).to_numpy()).mean() > 0.998


@pytest.mark.parametrize("views", [4, 5, 7])
@pytest.mark.quick_cases("4", "5")
def test_more_than_three_views__share_one_density(views):
    truth = symmetric(1500, 3, seed=1, views=views, separation=1.5)
    tied, untied = (
        KernelMixture(3, views_share_components=tie, **ACCURATE).fit(truth.data)
        for tie in (True, False)
    )
    assert error_of(truth, tied) < 0.85 * error_of(truth, untied)
    points = truth.grids[0]
    assert_array_equal(
        tied.component_density(f"view{views}", points), tied.component_density("view1", points)
    )
    joint = np.log(truth.weights) + norm.logpdf(
        truth.values[:, :, None],
        truth.data["true_means"].to_numpy().T,
        truth.data["true_sds"].to_numpy().T,
    ).sum(axis=1)
    label = truth.data["label"]
    best, found = (
        adjusted_rand_score(label, other)
        for other in (joint.argmax(axis=1), tied.predict(truth.data))
    )
    assert found > best - 0.03


@pytest.mark.parametrize("views", [PAIRS, {name: PAIRS[name] for name in list(PAIRS)[:3]}])
@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral-views1", "kmeans-views0")
def test_wide_views__share_one_density(pairs, views, start):
    rows, label, means, cov = pairs
    rows = rows[:, : 2 * len(views)]
    model = KernelMixture(
        3,
        views=views,
        views_share_components=True,
        init=start,
        spectral=SpectralOptions(n_landmarks=60),
        random_state=0,
    ).fit(rows)
    assert adjusted_rand_score(label, model.predict(rows)) > 0.97
    assert_allclose(model.weights_, [0.5, 0.3, 0.2], atol=0.03)
    points = np.random.default_rng(1).uniform(-3, 8, (400, 2))
    first = model.component_density("first", points)
    assert_array_equal(model.component_density("third", points), first)
    peak = multivariate_normal.pdf(np.zeros(2), np.zeros(2), cov)
    for component, mean in enumerate(means):
        exact = multivariate_normal.pdf(points, mean, cov)
        # smoothed by a kernel as wide as the landmarks are apart
        assert np.abs(first[:, component] - exact).mean() < 0.03 * peak
        assert_allclose(model.expectation("second", lambda x: x)[component], mean, atol=0.15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.quick_cases("False-float32", "True-float64")
def test_saved_model__answers_bit_for_bit(shared, pairs, tmp_path, dtype, wide):
    data = pairs[0] if wide else shared[0].values
    model = KernelMixture(
        3,
        views=PAIRS if wide else None,
        views_share_components=True,
        **mixture_parameters(ACCURATE, feature_dtype=dtype, n_landmarks=30),
    ).fit(data)
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert loaded.get_params() == model.get_params()
    for answer in ("predict", "predict_proba", "score_samples"):
        assert_array_equal(getattr(loaded, answer)(data), getattr(model, answer)(data))
    for view in model.views_.names:
        expected = model.expectation(view, np.square)
        assert_array_equal(loaded.expectation(view, np.square), expected)
    assert_array_equal(loaded.sample(50)[0], model.sample(50)[0])


def test_views__of_different_widths_are_refused():
    rows = np.random.default_rng(0).normal(size=(200, 4))
    views = {"a": [0], "b": [1, 2], "c": [3]}
    with pytest.raises(ViewError, match=r"equally many .*a: 1, b: 2, c: 1"):
        KernelMixture(2, views=views, views_share_components=True).fit(rows)


@pytest.mark.parametrize("kernels", [{"view1": "laplace"}, {"view3": "delta"}])
def test_views__of_different_kernels_are_refused(shared, kernels):
    model = KernelMixture(3, views_share_components=True, kernel=kernels)
    with pytest.raises(ViewError, match=r"one kernel .*; got .*gaussian"):
        model.fit(shared[0].data)


def test_sample_weight__counts_rows_of_every_view(shared):
    truth, model = shared
    label = truth.data["label"].to_numpy()
    doubled = KernelMixture(3, views_share_components=True, **ACCURATE).fit(
        truth.data, sample_weight=np.where(label == 0, 2.0, 1.0)
    )
    share = np.bincount(label) / len(label)
    expected = np.sort(share * [2, 1, 1] / (share @ [2, 1, 1]))[::-1]
    assert_allclose(doubled.weights_, expected, atol=0.02)
    assert np.abs(model.weights_ - expected).max() > 0.03
