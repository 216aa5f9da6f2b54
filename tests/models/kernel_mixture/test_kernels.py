"""Kernels of views: Laplace, categories, one's own, several kinds in one model."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import KernelMixture, SpectralOptions
from bigtensor.errors import DataError, ParameterError, ViewError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.kernel_mixture.view_functions import KernelExpansion
from tests.models.kernel_mixture.parameters import mixture_parameters

PAIRS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
PRECISE = {"spectral": SpectralOptions(feature_dtype="float64", bins=512), "random_state": 0}


@pytest.fixture(scope="module")
def mixed():
    """Three components in a measurement, a category, two measurements and one more category."""
    rng = np.random.default_rng(11)
    label = rng.choice(3, size=5000, p=[0.5, 0.3, 0.2])
    means = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, -1.0], [6.0, -1.0, 4.0]])
    values = means[label] + rng.normal(size=(5000, 3))
    first = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    second = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    colour = (rng.random(5000)[:, None] > np.cumsum(first[label], axis=1)).sum(axis=1) * 10 - 10
    sex = (rng.random(5000) > second[label, 0]).astype(int)
    columns = {"size": values[:, 0], "colour": colour, "x": values[:, 1], "y": values[:, 2]}
    rows = np.stack([*columns.values(), sex], axis=1)
    data = xr.DataArray(
        rows, dims=("sample", "feature"), coords={"feature": [*columns, "sex"]}, name="X"
    )
    return data, label, {"colour": first, "sex": second}, means


MIXED_VIEWS = {"size": ["size"], "colour": ["colour"], "place": ["x", "y"], "sex": ["sex"]}
MIXED_KERNELS = {"colour": "delta", "sex": "delta", "place": "laplace"}


@pytest.fixture(scope="module")
def mixed_model(mixed) -> KernelMixture:
    return KernelMixture(3, views=MIXED_VIEWS, kernel=MIXED_KERNELS, **PRECISE).fit(mixed[0])


def normal(width: np.ndarray):
    """Return the density of a normal distribution as a kernel of one's own."""

    def own_normal(x, landmarks):
        distance = (x[:, None, :] - landmarks) / width
        scale = np.prod(width) * (2 * np.pi) ** (len(width) / 2)
        return np.exp(-0.5 * (distance**2).sum(axis=2)) / scale

    return own_normal


# --- delta ---


def test_delta__expectation_is_that_of_the_table(mixed_model, mixed):
    codes = np.array([-10.0, 0.0, 10.0])
    table = mixed_model.component_density("colour", codes)
    for f in (lambda x: x, np.square, lambda x: np.stack([x, x == 10], axis=1)):
        expected = table.T @ np.asarray(f(codes), float)
        assert_allclose(mixed_model.expectation("colour", f), expected, atol=0.1)
    assert_allclose(table.T, mixed[2]["colour"], atol=0.04)
    frequency = mixed_model.expectation("sex", lambda x: x)
    assert_allclose(frequency, mixed[2]["sex"][:, 1], atol=0.04)


def test_delta__sample_draws_codes_by_their_probabilities(mixed_model, mixed):
    rows, label = mixed_model.sample(30_000, random_state=2)
    assert rows.shape == (30_000, 5)
    assert set(rows[:, 1]) == {-10.0, 0.0, 10.0}
    assert set(rows[:, 4]) == {0.0, 1.0}
    for component in range(3):
        drawn = rows[label == component]
        shares = [(drawn[:, 1] == code).mean() for code in (-10, 0, 10)]
        assert_allclose(shares, mixed[2]["colour"][component], atol=0.04)
        assert_allclose(drawn[:, 4].mean(), mixed[2]["sex"][component, 1], atol=0.04)
        assert_allclose(drawn[:, [0, 2, 3]].mean(axis=0), mixed[3][component], atol=0.15)


def test_delta__codes_that_the_pilot_has_not_seen_say_nothing(mixed_model, mixed):
    """The posterior of a row with an unknown code is that of its other views alone."""
    rows = mixed[0].isel(sample=slice(400)).copy(deep=True)
    joint = np.log(mixed_model.weights_) + sum(
        np.log(mixed_model.component_density(view, rows.sel(feature=members).to_numpy()))
        for view, members in MIXED_VIEWS.items()
        if view != "colour"
    )
    rows.loc[{"feature": "colour"}] = 77.0
    found = mixed_model.predict_proba(rows)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    assert_allclose(found, expected, atol=1e-5)
    unknown = mixed_model.component_density("colour", [77.0, 5.0, -11.0])
    assert np.all(unknown < 1e-5)
    assert np.isfinite(mixed_model.score_samples(rows)).all()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.linspace(0, 1, 300), "'x1' .*delta kernel: .*whole numbers"),
        (np.arange(300.0) * 2**20, "'x1' .*delta kernel: .*up to 16777216"),
        (np.zeros(300), "feature 'x1' has one value .*300 rows"),
    ],
)
def test_delta__needs_codes(column, message):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    rows[:, 1] = column
    with pytest.raises(DataError, match=message):
        KernelMixture(2, kernel={"x1": "delta"}, init="spectral").fit(rows)


# --- several kinds in one model ---


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_mixed_views__recover_the_components(mixed, start):
    data, label, tables, means = mixed
    model = KernelMixture(3, views=MIXED_VIEWS, kernel=MIXED_KERNELS, init=start, **PRECISE).fit(
        data
    )
    assert_allclose(model.weights_, [0.5, 0.3, 0.2], atol=0.03)
    assert adjusted_rand_score(label, model.predict(data)) > 0.95
    assert_allclose(model.expectation("size", lambda x: x), means[:, 0], atol=0.1)
    assert_allclose(model.expectation("place", lambda x: x), means[:, 1:], atol=0.15)
    table = model.component_density("sex", [0.0, 1.0])
    assert_allclose(table.T, tables["sex"], atol=0.04)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mixed_views__answer_bit_for_bit_after_loading(mixed, tmp_path, dtype):
    data = mixed[0]
    settings = mixture_parameters(PRECISE, feature_dtype=dtype, n_landmarks=30)
    model = KernelMixture(3, views=MIXED_VIEWS, kernel=MIXED_KERNELS, **settings).fit(data)
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert loaded.get_params() == model.get_params()
    for answer in ("predict", "predict_proba", "score_samples"):
        assert_array_equal(getattr(loaded, answer)(data), getattr(model, answer)(data))
    assert_array_equal(loaded.sample(99)[0], model.sample(99)[0])
    points = {"colour": [0.0, 10.0, 5.0], "place": np.ones((3, 2)), "size": [0.0, 1.0]}
    for view, at in points.items():
        expected = model.component_density(view, at)
        assert_array_equal(loaded.component_density(view, at), expected)


def test_laplace__is_near_the_gaussian_and_not_the_same(data, small):
    gaussian, laplace = (
        KernelMixture(3, kernel=kernel, **small).fit(data) for kernel in ("gaussian", "laplace")
    )
    assert laplace.diagnostics_["bandwidths"] == gaussian.diagnostics_["bandwidths"]
    assert not np.array_equal(
        laplace.diagnostics_["spectral"]["singular_values"],
        gaussian.diagnostics_["spectral"]["singular_values"],
    )
    assert (laplace.predict(data) == gaussian.predict(data)).mean() > 0.995
    assert_allclose(laplace.weights_, gaussian.weights_, atol=2e-3)


def test_laplace__density_of_wide_views_integrates_to_one(wide_rows):
    views = {"b": [1, 2], "a": [0], "c": [3, 4]}
    model = KernelMixture(3, views=views, kernel="laplace", **PRECISE).fit(wide_rows[0])
    assert adjusted_rand_score(wide_rows[1], model.predict(wide_rows[0])) > 0.97
    axis = np.linspace(-20, 20, 321)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = model.component_density("b", points)
    floor = density.min(axis=0) * (axis[-1] - axis[0]) ** 2
    mass = density.sum(axis=0) * (axis[1] - axis[0]) ** 2
    assert_allclose(mass, 1.0, atol=0.02 + floor.max())


# --- one's own ---


def fine_gaussian(rows: np.ndarray, k: int = 3, **settings) -> KernelMixture:
    """Fit wide views with one Gaussian for moments and densities, as a kernel of one's own is."""
    parameters = mixture_parameters(PRECISE, n_landmarks=200, **settings)
    model = KernelMixture(k, views=PAIRS, bandwidth=0.5, **parameters)
    model.fit(rows)
    widths = model.diagnostics_["bandwidths"]
    for view, width in model.diagnostics_["fine_bandwidths"].items():
        assert_allclose(width, widths[view], rtol=1e-12)
    return model


@pytest.fixture(scope="module")
def pair_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    means = np.array([[0.0] * 6, [4, 0, 0, 4, 4, 0], [0, 4, 4, 0, 4, 4]])
    label = rng.choice(3, size=1500, p=[0.5, 0.3, 0.2])
    return means[label] + rng.normal(size=(1500, 6)), label


@pytest.mark.slow
def test_custom_kernel__that_is_gaussian_gives_the_answers_of_the_gaussian(pair_rows):
    rows, label = pair_rows
    gaussian = fine_gaussian(rows)
    kernels = {
        view: CustomKernel(normal(np.array(width)), 2, "one")
        for view, width in gaussian.diagnostics_["bandwidths"].items()
    }
    own = KernelMixture(
        3, views=PAIRS, kernel=kernels, **mixture_parameters(PRECISE, n_landmarks=200)
    ).fit(rows)
    for entry in ("pilot_singular_values", "mean_log_likelihood"):
        assert_allclose(own.diagnostics_[entry], gaussian.diagnostics_[entry], rtol=1e-6, atol=1e-9)
    assert_allclose(own.weights_, gaussian.weights_, rtol=1e-6)
    assert_allclose(own.predict_proba(rows), gaussian.predict_proba(rows), atol=1e-5)
    assert_array_equal(own.predict(rows), gaussian.predict(rows))
    assert adjusted_rand_score(label, own.predict(rows)) > 0.97
    for view in PAIRS:
        expected = gaussian.component_density(view, rows[:200, :2])
        found = own.component_density(view, rows[:200, :2])
        assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * expected.max())
        own_mean, mean = (m.expectation(view, lambda x: x) for m in (own, gaussian))
        assert_allclose(own_mean, mean, rtol=1e-5, atol=1e-6)


@pytest.mark.slow  # its answers are quick
def test_custom_kernel__of_one_feature_is_near_the_gaussian(data, small):
    gaussian = KernelMixture(3, **small).fit(data)
    widths = gaussian.diagnostics_["bandwidths"]
    kernels = {view: CustomKernel(normal(np.array(width)), 1) for view, width in widths.items()}
    settings = mixture_parameters(small, feature_dtype="float64")
    own = KernelMixture(3, kernel=kernels, **settings).fit(data)
    # moments with the same features; densities that are not as narrow as histograms
    reference = KernelMixture(3, **settings).fit(data).diagnostics_["spectral"]
    found = own.diagnostics_["spectral"]
    assert_allclose(found["singular_values"], reference["singular_values"], rtol=1e-5, atol=1e-9)
    assert (own.predict(data) == gaussian.predict(data)).mean() > 0.99
    points = np.linspace(-5, 20, 2001)
    mass = np.trapezoid(own.component_density("view1", points), points, axis=0)
    assert_allclose(mass, 1.0, atol=0.01)


def test_custom_kernel__answers_in_rounds_and_in_a_store(pair_rows, tmp_path):
    rows, _ = pair_rows
    kernel = CustomKernel(normal(np.array([1.0, 1.0])), 2, "one")
    settings = mixture_parameters(PRECISE, kernel=kernel, n_landmarks=30)
    fitted = KernelMixture(3, views=PAIRS, max_iter=1, **settings).fit(rows)
    rounds = KernelMixture(3, views=PAIRS, **settings).prepare(rows)
    for _ in range(2):
        parts = [rounds.accumulate(rows[:700]), rounds.accumulate(rows[700:])]
        rounds.solve(bigtensor.merge(parts))
    assert_allclose(rounds.score_samples(rows), fitted.score_samples(rows), rtol=1e-7)
    fitted.write(rows, tmp_path / "answers.zarr", outputs=("label", "probability"))
    stored = xr.open_zarr(tmp_path / "answers.zarr")
    assert_array_equal(stored["label"], fitted.predict(rows))
    assert "CustomKernel" in stored.attrs["parameters"]["kernel"]


@pytest.mark.parametrize("kernels", ["all", "one"])
def test_custom_kernel__is_not_saved_and_the_error_says_so(pair_rows, tmp_path, kernels):
    kernel = CustomKernel(normal(np.array([1.0, 1.0])), 2, "one")
    given = kernel if kernels == "all" else {"b": kernel}
    model = KernelMixture(
        3, views=PAIRS, kernel=given, **mixture_parameters(PRECISE, n_landmarks=30)
    ).fit(pair_rows[0])
    with pytest.raises(ParameterError, match=r"CustomKernel.*no file holds a callable"):
        model.save(tmp_path / "model.zarr")
    assert list(tmp_path.iterdir()) == []


def test_custom_kernel__that_is_none_says_what_is_wrong(pair_rows):
    def uneven(x, landmarks):
        return np.exp(-np.abs(x[:, None, 0] - 2 * landmarks[:, 0]))

    def wide(x, landmarks):
        return np.ones((len(x), len(landmarks) + 1))

    for function, message in ((uneven, "'uneven' is not symmetric"), (wide, "'wide' returned an")):
        model = KernelMixture(3, views=PAIRS, kernel=CustomKernel(function, 2, "one"), **PRECISE)
        with pytest.raises(DataError, match=message):
            model.fit(pair_rows[0])


def test_custom_kernel__sums_of_another_kernel_are_not_sums_of_it(pair_rows):
    kernels = [CustomKernel(normal(np.array([width, 1.0])), 2, "one") for width in (1.0, 2.0)]
    model = KernelMixture(
        3, views=PAIRS, kernel=kernels[0], **mixture_parameters(PRECISE, n_landmarks=30)
    ).fit(pair_rows[0])
    fitted = model.view_kernel("b")
    own, other = (KernelExpansion(np.zeros((1, 2)), np.ones(1), kernel) for kernel in kernels)
    assert own.has_kernel(fitted)
    assert not other.has_kernel(fitted)
    # the expectation of a sum of other kernels is a mean over rows
    share = model.solution_.solution.responsibilities
    rows = model.solution_.solution.embedded[1].rows
    expected = share.T @ other(rows) / share.sum(axis=0)
    assert_allclose(model.expectation("b", other), expected, rtol=1e-12)


# --- errors ---


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kernel": "gauss"}, ParameterError, "kernel has 'gauss'; .* one of gaussian"),
        ({"kernel": {"x0": None}}, ParameterError, "kernel has None; .* one of gaussian"),
        ({"kernel": ["gaussian"]}, ParameterError, r"kernel has \['gaussian'\]; .* one of"),
        ({"kernel": {"nose": "delta"}}, ViewError, "names the views nose; the data have"),
        (
            {"kernel": "delta", "views": PAIRS},
            ViewError,
            "view 'a' has 2 .*delta kernel, .*codes",
        ),
        (
            {"kernel": {"x1": CustomKernel(np.dot, 2)}},
            ViewError,
            "view 'x1' has 1 .*, .* is for 2",
        ),
    ],
)
def test_parameters__that_do_not_fit_are_named(parameters, error, message):
    rows = np.random.default_rng(0).normal(size=(200, 6))
    with pytest.raises(error, match=message):
        KernelMixture(2, **parameters).fit(rows)
