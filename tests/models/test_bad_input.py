"""Bad input of the models of moment tensors: one clear error or warning each, or no harm."""

import warnings

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor import ICA, GaussianMixture, HiddenMarkovModel, LinearMixture
from bigtensor.errors import (
    BigtensorError,
    BigtensorWarning,
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    ViewError,
)

K, D = 3, 9


def views(n_features=D):
    """Return three views of so many features."""
    cuts = [0, 3, 6, n_features]
    return {name: list(range(*cuts[i : i + 2])) for i, name in enumerate("abc")}


def linear(k, n_features=D, **settings):
    return LinearMixture(k, views=views(n_features), random_state=0, **settings)


def gaussian(k, n_features=D, **settings):
    return GaussianMixture(k, random_state=0, **settings)


def tied(k, n_features=D, **settings):
    return gaussian(k, n_features, covariance_type="tied", **settings)


def ica(k, n_features=D, **settings):
    return ICA(k, random_state=0, **settings)


MIXTURES = pytest.mark.parametrize("model", [linear, gaussian])
MODELS = pytest.mark.parametrize("model", [linear, gaussian, tied, ica])


def components_of(model):
    """Return the number of components that a model is asked for here."""
    return {tied: 5, ica: D}.get(model, K)


@pytest.fixture(scope="module")
def data():
    """Rows of three components far apart, and their components."""
    rng = default_rng(0)
    label = rng.integers(components_of(tied), size=3000)
    means = 3 * rng.normal(size=(5, D))
    noise = rng.laplace(size=(3000, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
    return means, label, 0.3 * noise


def rows_for(model, data):
    """Return rows that the model is for."""
    means, label, noise = data
    if model is ica:
        return noise
    return means[label % components_of(model)] + noise


def quiet(call, *classes):
    """Return the result of a call, with warnings of these classes allowed and collected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert all(issubclass(one.category, (*classes, BigtensorWarning)) for one in caught)
    return result, [str(one.message) for one in caught]


@MODELS
@pytest.mark.parametrize("k", [0, -1, 2.5, "many"])
def test_a_number_of_components_that_is_none(model, k, data):
    with pytest.raises(ParameterError, match=r"n_components is .* expected an integer"):
        model(k).fit(rows_for(model, data))


def test_more_sources_than_features_allow(data):
    with pytest.raises(ParameterError, match="n_components=46 exceeds 45"):
        ica(46).fit(rows_for(ica, data))


@MODELS
def test_fewer_rows_than_components(model, data):
    few = components_of(model) - 1
    with pytest.raises(DataError, match=rf"have {few} rows, fewer than the {few + 1}"):
        model(few + 1).fit(rows_for(model, data)[:few])


@MODELS
@pytest.mark.quick_cases("gaussian", "tied", "ica")
def test_a_missing_value_names_its_row(model, data):
    rows = rows_for(model, data).copy()
    rows[7, 2] = np.nan
    with pytest.raises(MissingValueError, match="row 7"):
        model(components_of(model)).fit(rows)
    with pytest.warns(MissingValueWarning, match="1 of 3,000 rows"):
        model(components_of(model), missing="omit").fit(rows)
    rows[7, 2] = np.inf
    with pytest.raises(DataError, match="row 7"):
        model(components_of(model)).fit(rows)


@MODELS
@pytest.mark.quick_cases("gaussian", "tied", "ica")
def test_an_outlier_is_left_out_and_said(model, data):
    rows = rows_for(model, data).copy()
    k = components_of(model)
    (alone, _) = quiet(lambda: model(k).fit(rows))
    far = np.vstack([rows, np.full((1, D), 1e6)])
    with pytest.warns(ConditioningWarning, match=r"1 .*row.* far from all others"):
        found = model(k).fit(far)
    assert found.diagnostics_["outlying_rows"] == 1
    if model is ica:
        np.testing.assert_allclose(found.mixing_, alone.mixing_, atol=0.1)
    else:
        assert (alone.predict(rows) == found.predict(rows)).mean() > 0.99


@MODELS
@pytest.mark.quick_cases("gaussian", "tied", "ica")
def test_constant_features_do_no_harm(model, data):
    rows, k = rows_for(model, data), components_of(model)
    wide = np.hstack([rows, np.full((len(rows), 1), 7.0)])
    alone, _ = quiet(lambda: model(k).fit(rows))
    found, said = quiet(lambda: model(k, D + 1).fit(wide))
    if model is ica:
        assert any("'x9' has one value only" in words for words in said)
        assert not found.mixing_[9].any()
    else:
        assert (alone.predict(rows) == found.predict(wide)).mean() > 0.99
        assert found.diagnostics_["verdict"]["good"]
    with pytest.raises(DataError, match=r"constant|same values"):
        model(k).fit(np.ones((100, D)))


@MODELS
@pytest.mark.quick_cases("gaussian", "tied", "ica")
def test_duplicated_features_do_no_harm(model, data):
    rows, k = rows_for(model, data), components_of(model)
    wide = np.hstack([rows, rows[:, 6:8]])
    alone, _ = quiet(lambda: model(k).fit(rows))
    found, _ = quiet(lambda: model(k, D + 2).fit(wide))
    if model is ica:
        assert found.mixing_.shape == (D + 2, D)
        np.testing.assert_allclose(found.mixing_[9:], found.mixing_[6:8], atol=1e-3)
    else:
        assert (alone.predict(rows) == found.predict(wide)).mean() > 0.99
        assert len(found.weights_) == k


@MIXTURES
def test_labels_of_components_that_do_not_exist(model, data):
    rows, (_, label, _) = rows_for(model, data), data
    some = np.where(np.arange(len(rows)) < 200, label % K, -1)
    some[0] = 7
    with pytest.raises(ParameterError, match=r"n_components is 3, .* 4 different labels"):
        model(K).fit(rows, some)
    with pytest.raises(ParameterError, match=r"n_components is 3, .* 2 different labels"):
        model(K).fit(rows, np.where(some < 2, some, -1))
    with pytest.raises(ParameterError, match=r"have shape \(2999,\); expected \(3000,\)"):
        model(K).fit(rows, some[:-1])


def test_views_of_different_length(data):
    rows = rows_for(linear, data)
    tables = {name: rows[:, columns] for name, columns in views().items()}
    with pytest.raises(DataError, match="'a' 3,000, 'b' 2,999, 'c' 3,000"):
        LinearMixture(K).fit({**tables, "b": tables["b"][1:]})
    with pytest.raises(ViewError, match="exactly three views"):
        LinearMixture(K).fit({"a": tables["a"], "b": tables["b"]})


@MODELS
def test_an_unknown_feature_or_an_empty_view(model, data):
    make = {linear: LinearMixture, ica: ICA}.get(model, GaussianMixture)
    for wrong in ({"a": [0], "b": [1], "c": [99]}, {"a": [0], "b": [], "c": [2]}):
        with pytest.raises(BigtensorError, match=r"99|no feature|empty"):
            make(1, views=wrong).fit(rows_for(model, data))


@MODELS
@pytest.mark.parametrize("rows", [1, 2])
def test_hardly_any_row(model, rows, data):
    with pytest.raises(DataError, match="row"):
        model(components_of(model)).fit(rows_for(model, data)[:rows])


def test_constant_features__of_ica_have_a_warning_of_their_own(data):
    wide = np.hstack([data[2], np.ones((3000, 1))])
    with pytest.warns(ConstantFeatureWarning, match="'x9' has one value only"):
        ICA(random_state=0).fit(wide)


@pytest.mark.parametrize(
    ("name", "near"),
    [("sample_weights", "sample_weight"), ("sequences", "sequence"), ("worker", "workers")],
)
def test_an_option_of_fit_that_does_not_exist(name, near, data):
    with pytest.raises(TypeError, match=rf"'{name}'.*'{near}'"):
        HiddenMarkovModel(2, emissions="gaussian").fit(data[2], **{name: 2})
