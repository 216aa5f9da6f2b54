"""Features with one value are left out of a fit, with a warning, and answers do not need them."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from bigtensor import KernelMixture, SpectralOptions, load
from bigtensor.engine.events import Event
from bigtensor.errors import ConstantFeatureWarning, ViewError
from bigtensor.features.kernels.custom_kernel import CustomKernel

SMALL = {
    "spectral": SpectralOptions(n_landmarks=20, bins=128),
    "pilot_rows": 500,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def values():
    """Rows of two components in six features; the second and the fifth are constant."""
    rng = np.random.default_rng(2)
    label = rng.choice(2, size=900, p=[0.6, 0.4])
    rows = 4.0 * label[:, None] + rng.normal(size=(900, 6))
    rows[:, [1, 4]] = 3.5, 0.0
    return rows


@pytest.fixture(scope="module")
def named(values):
    features = ["a", "b", "c", "d", "e", "f"]
    return xr.DataArray(values, dims=("sample", "feature"), coords={"feature": features})


def fitted(X, **parameters):
    with pytest.warns(ConstantFeatureWarning) as caught:
        model = KernelMixture(**({"n_components": 2} | SMALL | parameters)).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return model, str(caught[0].message)


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral")
def test_constant_features__are_left_out_with_a_warning(values, start):
    model, said = fitted(values, init=start)
    assert re.match("features 'x1', 'x4' .* all 500 rows", said)
    assert "views" in said
    assert model.views_.names == ("x0", "x2", "x3", "x5")
    assert model.n_features_in_ == 6
    assert model.diagnostics_["constant_features"] == {"x1": ["x1"], "x4": ["x4"]}
    without = KernelMixture(2, init=start, **SMALL).fit(values[:, [0, 2, 3, 5]])
    assert_array_equal(model.predict(values), without.predict(values[:, [0, 2, 3, 5]]))
    assert_array_equal(model.weights_, without.weights_)
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict(values[:, [0, 2, 3, 5]])


def test_constant_feature__of_a_view_leaves_the_view(named, tmp_path):
    views = {"first": ["a", "b"], "second": ["c", "d"], "third": ["e", "f"]}
    kernels = {"first": "laplace", "second": "gaussian"}
    model, said = fitted(named, views=views, kernel=kernels)
    assert said.startswith("features 'b', 'e' have")
    assert model.views_.features == (("first", ("a",)), ("second", ("c", "d")), ("third", ("f",)))
    labels = model.predict(named)
    # found by name, so that the constant features need not be there
    assert_array_equal(model.predict(named.sel(feature=["f", "d", "c", "a"])), labels)
    again = load(model.save(tmp_path / "model.zarr"))
    assert_array_equal(again.predict(named), labels)
    assert again.sample(3)[0].shape == (3, 4)
    assert again.component_density("first", [0.0, 1.0]).shape == (2, 2)


def test_left_out_view__is_silent_when_views_leave_it_out(values):
    views = {f"x{column}": [column] for column in (0, 2, 3, 5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelMixture(2, views=views, **SMALL).fit(values)
    assert_array_equal(model.predict(values), fitted(values)[0].predict(values))


def test_category__of_one_value_is_left_out(values):
    rows = values.copy()
    rows[:, 0] = rows[:, 0] > 2
    kernels = {"x0": "delta", "x1": "delta"}
    model, _ = fitted(rows, kernel=kernels, n_populations=2, n_components=6)
    assert model.views_.names == ("x0", "x2", "x3", "x5")


def test_missing_values_of_a_constant_feature__are_not_looked_at_in_answers(values):
    model, _ = fitted(values)
    damaged = values.copy()
    damaged[7, 1] = np.nan
    assert_array_equal(model.predict(damaged), model.predict(values))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"views": {"a": [0], "b": [1], "c": [2]}, "init": "spectral"},
            r"least 3 .* 2 view\(s\) .*init='kmeans'",
        ),
        (
            {"views": {"a": [0], "b": [1]}, "init": "kmeans"},
            r"mixture .*least 2 .* 1 view\(s\) ",
        ),
        (
            {
                "views": {"a": [0, 1], "b": [2, 3], "c": [5, 4]},
                "kernel": {"a": CustomKernel(lambda x, y: x @ y.T, 2, "one")},
            },
            r"'a' has 1 feature\(s\), .* is for 2",
        ),
        (
            {"view_groups": [["x0"], ["x1", "x4"], ["x2", "x3"]]},
            "group of views is empty; give",
        ),
        (
            {
                "views": {"a": [0, 1], "b": [2, 3]},
                "init": "kmeans",
                "views_share_components": True,
            },
            "views_share_components=True .* got a: ",
        ),
    ],
)
def test_what_is_left__has_to_be_enough(values, parameters, message):
    with pytest.raises(ViewError, match=message):
        KernelMixture(2, **(SMALL | parameters)).fit(values)


def test_groups__lose_views_that_disappear(values):
    model, _ = fitted(values, view_groups=[["x0", "x1"], ["x4", "x2"], ["x3", "x5"]])
    assert model.diagnostics_["groups"] == [["x0"], ["x2"], ["x3", "x5"]]


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("kmeans")
def test_rounds__leave_constant_features_out(values, start, tmp_path):
    kernels = {"x1": "laplace", "x2": "gaussian"}
    groups = [["x0", "x1"], ["x4", "x2"], ["x3", "x5"]]
    model = KernelMixture(2, init=start, kernel=kernels, view_groups=groups, **SMALL)
    with pytest.warns(ConstantFeatureWarning, match="'x1', 'x4'"):
        model.prepare(values)
    model = load(model.save(tmp_path / "prepared.zarr"))
    for _ in range(2):
        model.solve(model.accumulate(values))
    again = load(model.save(tmp_path / "solved.zarr"))
    assert again.views_.names == ("x0", "x2", "x3", "x5")
    assert_array_equal(again.predict(values), model.predict(values))
    with pytest.warns(ConstantFeatureWarning):
        partial = KernelMixture(2, init=start, **SMALL).partial_fit(values[:600])
    partial.partial_fit(values[600:])
    assert partial.predict(values).max() == 1


@pytest.mark.parametrize("bandwidth", ["auto", "cross-validation"])
@pytest.mark.quick_cases("auto")
def test_resumed_fit__finds_its_parts(values, tmp_path, bandwidth):
    for reused in (False, True):
        events: list[Event] = []
        with pytest.warns(ConstantFeatureWarning):
            model = KernelMixture(2, bandwidth=bandwidth, **SMALL).fit(
                values, checkpoint=tmp_path / "parts", listeners=[events.append]
            )
        passes = model.diagnostics_["passes"]
        assert [entry["reused_parts"] > 0 or not reused for entry in passes] == [True] * len(passes)


def test_plan__holds_all_features(values):
    assert "pilot" in str(KernelMixture(2, **SMALL).plan(values))


def test_constant_in_the_pilot__is_left_out_whatever_the_other_rows_hold():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4)) + 5.0 * rng.integers(2, size=3000)[:, None]
    rows[:, 3] = 0
    pilot = KernelMixture(2, **(SMALL | {"pilot_rows": 100}))
    with pytest.warns(ConstantFeatureWarning, match="in all 100 rows of the pilot sample"):
        before = pilot.fit(rows).weights_
    differs = 0
    for first, last in pairwise(range(0, 3001, 500)):
        changed = rows.copy()
        changed[first + 3, 3] = 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = KernelMixture(2, **(SMALL | {"pilot_rows": 100})).fit(changed)
        if any(entry.category is ConstantFeatureWarning for entry in caught):
            assert_array_equal(model.weights_, before)
            assert len(model.predict(changed)) == last - first + 2500
        else:
            differs += 1
    assert differs <= 2


@pytest.mark.slow
def test_digits__can_be_fitted_as_they_are():
    digits = load_digits()
    model = KernelMixture(30, n_populations=10, **(SMALL | {"pilot_rows": 2000}))
    with pytest.warns(ConstantFeatureWarning, match="'x0', 'x32', 'x39'"):
        model.fit(digits.data)
    assert len(model.views_.names) == 61
    assert model.predict(digits.data).shape == (1797,)


@pytest.mark.parametrize("init", ["auto", "kmeans"])
@pytest.mark.quick_cases("kmeans")
def test_constant_features__may_leave_two_views(values, init):
    model, _ = fitted(values[:, [0, 1, 2]], n_components="auto", init=init)
    assert model.views_.names == ("x0", "x2")
    without = KernelMixture(**SMALL | {"init": init}).fit(values[:, [0, 2]])
    assert_array_equal(model.weights_, without.weights_)
