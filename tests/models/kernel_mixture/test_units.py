"""Labels do not depend on the units of the data, nor on where zero is."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor import KernelMixture, SpectralOptions, load
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.kernel_mixture.view_functions import KernelExpansion
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

# components at the edge of what a spectral start can tell are a warning, and no matter of units
pytestmark = [
    pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning"),
    pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning"),
]

ROWS = 600
SMALL = {
    "spectral": SpectralOptions(n_landmarks=20, bins=128),
    "pilot_rows": 400,
    "random_state": 0,
}
WIDE = {"a": [0], "b": [1, 2], "c": [3, 4]}
PAIRS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
CODES = {"a": [0], "b": [1, 2], "c": [3], "code": [6]}


def bump(scale, x, y):
    """Return an unnormalised kernel: its integral has the unit of the data."""
    return np.exp(-(((x[:, None] - y) / scale) ** 2).sum(axis=2))


def density(scale, x, y):
    """Return a normalised kernel: its values have one over the unit of the data."""
    return bump(scale, x, y) / (scale * np.sqrt(np.pi)) ** x.shape[1]


def custom(function, mass, widths, a):
    """Return kernels of one's own that are scaled with the data."""
    return {
        view: CustomKernel(partial(function, 2.0 * a), width, mass)
        for view, width in widths.items()
    }


@dataclass(frozen=True)
class Case:
    """Parameters of a model, and its kernels as a function of the unit."""

    parameters: dict
    kernels: object = "gaussian"

    def model(self, a=1.0, **changed):
        kernels = self.kernels(a) if callable(self.kernels) else self.kernels
        parameters = {**SMALL, "kernel": kernels}
        return KernelMixture(**mixture_parameters(parameters, **self.parameters, **changed))


SPECTRAL = {"n_components": 3}
CLUSTERED = {"n_components": 3, "init": "kmeans"}
NARROW = {"a": [0], "b": [1], "c": [2]}
CASES = {
    "one feature, spectral": Case(SPECTRAL),
    "one feature, k-means": Case(CLUSTERED),
    "one feature, populations": Case({"n_components": 12, "n_populations": 3}),
    "one feature, populations by the data": Case({"n_components": 8, "n_populations": "auto"}),
    "counted components": Case({"n_components": "auto", "views": NARROW}),
    "several features, spectral": Case(SPECTRAL | {"views": WIDE}),
    "several features, k-means": Case(CLUSTERED | {"views": WIDE}),
    "float64 features": Case(SPECTRAL | {"views": WIDE, "feature_dtype": "float64"}),
    "shared, one feature": Case(SPECTRAL | {"views_share_components": True, "views": NARROW}),
    "shared, several features": Case(SPECTRAL | {"views_share_components": True, "views": PAIRS}),
    "shared, k-means": Case(CLUSTERED | {"views_share_components": True}),
    "common units, spectral": Case(SPECTRAL | {"units": "common", "views": WIDE}),
    "common units, k-means": Case(CLUSTERED | {"units": "common"}),
    "laplace, spectral": Case(SPECTRAL | {"views": WIDE}, "laplace"),
    "laplace, k-means": Case(CLUSTERED | {"views": WIDE}, "laplace"),
    "codes, spectral": Case(SPECTRAL | {"views": CODES}, {"code": "delta"}),
    "codes, k-means": Case(CLUSTERED | {"views": CODES}, {"code": "delta"}),
    "codes, common units": Case(CLUSTERED | {"views": CODES, "units": "common"}, {"code": "delta"}),
    "own kernel, integrated": Case(
        SPECTRAL | {"views": WIDE}, partial(custom, bump, None, {"a": 1, "b": 2})
    ),
    "own kernel, density": Case(
        SPECTRAL | {"views": WIDE}, partial(custom, density, "one", {"a": 1, "b": 2, "c": 2})
    ),
    "own kernel, k-means": Case(
        CLUSTERED | {"views": WIDE}, partial(custom, density, "one", {"a": 1, "b": 2})
    ),
    "bandwidth by gap": Case(SPECTRAL | {"bandwidth": "gap", "views": WIDE}),
    "bandwidth by cross-validation": Case(
        SPECTRAL | {"bandwidth": "cross-validation", "views": NARROW}
    ),
    "bandwidth by a factor": Case(SPECTRAL | {"bandwidth": 0.5, "decomposition": "power"}),
    "landmarks by Cholesky": Case(SPECTRAL | {"landmarks": "cholesky", "views": WIDE}),
    "landmarks by a tolerance": Case(SPECTRAL | {"landmark_tolerance": 0.1, "views": WIDE}),
    "eleven features": Case(CLUSTERED | {"views": {"a": [0], "b": [*range(1, 6), *range(7, 13)]}}),
}


@pytest.fixture(scope="module")
def values():
    """Rows of three components in thirteen features; the seventh is one of codes."""
    rng = np.random.default_rng(5)
    label = rng.choice(3, size=ROWS, p=[0.5, 0.3, 0.2])
    means = 3.0 * rng.permuted(np.tile(np.arange(3.0), (13, 1)), axis=1).T
    rows = means[label] + rng.normal(size=(ROWS, 13))
    rows[:, 6] = (label + (rng.random(ROWS) < 0.2)) % 3
    return rows


def scaled(values, case, a):
    """Return the columns of a case in other units; codes have none."""
    columns = case.parameters.get("views")
    kept = values if columns is not None else values[:, :6]
    factor = np.full(kept.shape[1], a)
    factor[6:7] = 1
    # the unit goes on what is stored: float32 times a power of two is exact
    return kept * factor.astype(kept.dtype)


_fitted = {}


def fitted(name, values, dtype="float64"):
    """Return the model of the data as they are, fitted once."""
    if (name, dtype) not in _fitted:
        case = CASES[name]
        rows = scaled(values.astype(dtype), case, 1.0)
        model = case.model().fit(rows)
        _fitted[name, dtype] = model, model.predict(rows), model.score_samples(rows)
    return _fitted[name, dtype]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        pytest.param("float64", -100, marks=pytest.mark.slow),
        pytest.param("float64", 18, marks=pytest.mark.slow),
        pytest.param("float32", -37, marks=pytest.mark.slow),
        ("float32", 100),
    ],
)
@pytest.mark.quick_cases(
    "float32-100-one feature, k-means",
    "float32-100-several features, spectral",
    "float32-100-shared, one feature",
    "float32-100-codes, k-means",
    "float32-100-own kernel, density",
    "float32-100-bandwidth by gap",
    "float32-100-eleven features",
)
def test_labels__are_equal_in_units_of_a_power_of_two(values, name, dtype, exponent):
    case, a = CASES[name], 2.0**exponent
    model, labels, log_density = fitted(name, values, dtype)
    rows = scaled(values.astype(dtype), case, a)
    other = case.model(a).fit(rows)
    assert_array_equal(other.predict(rows), labels)
    assert_array_equal(other.weights_, model.weights_)
    d = sum(len(members) for _, members in model.views_.features) - ("code" in model.views_.names)
    assert_allclose(other.score_samples(rows), log_density - d * np.log(a), rtol=1e-12, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["several features, spectral", "one feature, k-means"])
@settings(max_examples=15, deadline=None)
@given(exponent=st.integers(-100, 100))
@example(exponent=63)
def test_labels__are_equal_in_any_power_of_two(name, exponent, values):
    case, a = CASES[name], 2.0**exponent
    rows = scaled(values, case, a)
    assert_array_equal(case.model(a).fit(rows).predict(rows), fitted(name, values)[1])


@pytest.mark.parametrize("a", first_quick([1e-30, 3.7, 1e30]))
@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick_cases(
    "one feature, spectral-1e-30",
    "several features, k-means-1e-30",
    "float64 features-1e-30",
    "counted components-1e-30",
    "common units, spectral-1e-30",
    "laplace, k-means-1e-30",
    "landmarks by Cholesky-1e-30",
)
def test_labels__agree_in_any_unit(values, name, a):
    case = CASES[name]
    rows = scaled(values, case, a)
    labels = case.model(a).fit(rows).predict(rows)
    assert np.mean(labels == fitted(name, values)[1]) >= 0.9999


@pytest.mark.parametrize("name", [name for name in CASES if "own kernel" not in name])
@pytest.mark.quick_cases(
    "one feature, populations",
    "counted components",
    "several features, k-means",
    "shared, several features",
    "laplace, spectral",
    "codes, common units",
    "bandwidth by a factor",
    "landmarks by a tolerance",
)
def test_labels__agree_a_million_standard_deviations_away(values, name):
    case = CASES[name]
    kept = scaled(values, case, 1.0)
    offset = 1e6 * kept.std(axis=0)
    if case.parameters.get("views_share_components"):
        offset[:] = 1e6 * kept.std()
    offset[6:7] = 0
    labels = case.model().fit(kept + offset).predict(kept + offset)
    assert np.mean(labels == fitted(name, values)[1]) >= 0.9999


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.parametrize("view", ["a", "b"])
@pytest.mark.quick_cases("a-kmeans", "b-spectral")
def test_answers__have_the_units_of_the_data(values, tmp_path, start, view):
    case, a = Case({"n_components": 3, "init": start, "views": WIDE}), 2.0**60
    rows = scaled(values, case, 1.0)
    model, other = case.model().fit(rows), case.model().fit(a * rows)
    columns = WIDE[view]
    points, d = rows[:40, columns], len(columns)
    kept = load(other.save(tmp_path / "model.zarr"))
    for scaled_model in (other, kept):
        found = scaled_model.component_density(view, a * points)
        assert_allclose(found * a**d, model.component_density(view, points), rtol=1e-9)
        for data in (None, rows):
            means = model.expectation(view, lambda x: x, data)
            again = None if data is None else a * data
            assert_allclose(
                scaled_model.expectation(view, lambda x: x, again), a * means, rtol=1e-9
            )
        drawn, labels = scaled_model.sample(50)
        expected, expected_labels = model.sample(50)
        assert_array_equal(labels, expected_labels)
        assert_allclose(drawn, a * expected, rtol=1e-9)
        assert_array_equal(scaled_model.predict_proba(a * rows), model.predict_proba(rows))
        missing = scaled_model.predict_view(a * rows, view)
        assert_allclose(missing, a * model.predict_view(rows, view), rtol=1e-5)
    for name in ("fine_bandwidths", "bandwidths"):
        if name in model.diagnostics_:
            for width, widened in zip(
                model.diagnostics_[name].values(), other.diagnostics_[name].values(), strict=True
            ):
                assert_array_equal(np.multiply(a, width), widened)
    likelihoods = np.array(model.diagnostics_["mean_log_likelihood"])
    assert_allclose(other.diagnostics_["mean_log_likelihood"], likelihoods - 5 * np.log(a))


def test_sum_of_kernels__is_one_in_the_units_of_the_data(values):
    case, a = Case(SPECTRAL | {"views": WIDE}), 2.0**60
    rows = scaled(values, case, 1.0)
    means = []
    for unit in (1.0, a):
        model = case.model().fit(unit * rows)
        kernel, points = model.view_kernel("b"), unit * rows[:5, 1:3]
        peak = kernel.evaluate(points, points).max() * np.prod(kernel.bandwidth)
        assert_allclose(peak, 1 / (2 * np.pi))
        means.append(model.expectation("b", KernelExpansion(points, np.ones(5), kernel)) * unit**2)
    assert_allclose(means[1], means[0], rtol=1e-9)
    # an inner product with the embedding of the view, not a mean over rows
    assert model.solution_.solution.embedded[0].holds(KernelExpansion(points, np.ones(5), kernel))


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral")
def test_rounds__have_the_same_answers_in_other_units(values, tmp_path, start):
    case, a = Case({"n_components": 3, "init": start, "views": WIDE}), 2.0**-80
    rows = scaled(values, case, 1.0)
    answers = []
    for unit in (1.0, a):
        model = case.model().prepare(unit * rows)
        model = load(model.save(tmp_path / f"{unit}.zarr"))
        for _ in range(2):
            model.solve(model.accumulate(unit * rows))
        answers.append((model.predict(unit * rows), model.weights_))
    assert_array_equal(answers[0][0], answers[1][0])
    assert_array_equal(answers[0][1], answers[1][1])
