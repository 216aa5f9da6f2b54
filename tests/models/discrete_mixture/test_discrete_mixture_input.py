"""Codes that a discrete mixture cannot use, and categories that it did not see."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import DiscreteMixture
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    IdentifiabilityError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    ViewError,
)

X = np.random.default_rng(0).integers(0, 3, (400, 4))


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (X - 2, DataError, "have no categories.* from 0 .* strings"),
        (X - 1, MissingValueError, "missing entry.*missing='marginalise'"),
        (X + 0.5, DataError, "takes codes of categories"),
        (X[:, :2], ViewError, "needs three views .* the data have 2"),
        (np.zeros_like(X), IdentifiabilityError, "0 of 4 views .* one category"),
        (X[:1], DataError, "1 rows, fewer than the 2 components"),
    ],
)
def test_fit__says_what_is_wrong_with_the_data(data, error, words) -> None:
    with pytest.raises(error, match=words):
        DiscreteMixture(2).fit(data)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"method": "exact"}, "method is 'exact'; expected one of ex, "),
        ({"ridge": -1.0}, "ridge is -1.0; .* positive"),
        ({"max_iter": -1}, "max_iter is -1"),
        ({"n_starts": 0}, "n_starts is 0"),
        ({"missing": "keep"}, "one of raise, omit, marginalise"),
        ({"n_components": "auto", "method": "svd"}, "is for a known number of components"),
    ],
)
def test_parameters__out_of_range_are_refused(parameters, words) -> None:
    with pytest.raises(ParameterError, match=words):
        DiscreteMixture(**parameters).fit(X)


def test_view__of_several_features_is_refused() -> None:
    with pytest.raises(ViewError, match="'pair' has several features"):
        DiscreteMixture(2, views={"pair": [0, 1], "a": [2], "b": [3]}).fit(X)


def test_reference_methods__refuse_more_components_than_symbols() -> None:
    with pytest.raises(IdentifiabilityError, match=r"'svd'.*at most 3 components"):
        DiscreteMixture(4, method="svd").fit(X)


@pytest.mark.slow  # a law on every model
def test_constant_view__tells_nothing_and_is_kept() -> None:
    data = np.column_stack([X, np.zeros(len(X), int)])
    model = DiscreteMixture(2, ridge=None).fit(data)
    np.testing.assert_allclose(model.component_probabilities_["x4"], [[1.0, 1.0]])
    other = DiscreteMixture(2, ridge=None).fit(X)
    np.testing.assert_allclose(model.predict_proba(data), other.predict_proba(X), atol=1e-3)


def test_components__of_hardly_any_row_are_a_warning() -> None:
    with pytest.warns(ConditioningWarning) as told:
        DiscreteMixture(8, n_starts=1, max_iter=50).fit(X[:30])
    assert any("of 8 components have fewer than 5 rows" in str(one.message) for one in told)


@pytest.mark.slow  # quick in tests of array types
def test_unseen_category__is_a_missing_entry() -> None:
    table = pd.DataFrame(np.array(["no", "yes", "maybe"])[X], columns=list("abcd"), dtype="string")
    model = DiscreteMixture(2, missing="marginalise").fit(table)
    seen = np.asarray(model.predict_proba(table))
    other = table.copy()
    other.loc[0, "a"] = "never"
    with pytest.warns(MissingValueWarning, match="'never' of 'a'; .* ignored"):
        found = np.asarray(model.predict_proba(other))
    np.testing.assert_array_equal(found[1:], seen[1:])
    codes = [list(model.categories_[name]).index(table.loc[0, name]) for name in "bcd"]
    joint = model.weights_.copy()
    for name, code in zip("bcd", codes, strict=True):
        joint *= model.component_probabilities_[name].to_numpy()[code]
    np.testing.assert_allclose(found[0], joint / joint.sum(), atol=1e-6)
    strict = DiscreteMixture(2).fit(table)
    with pytest.warns(MissingValueWarning, match="'never' of 'a'"):
        np.testing.assert_array_equal(strict.predict_proba(other), found)
    other.loc[0, "a"] = None
    with pytest.raises(MissingValueError, match=r"missing entry .* row 0, feature 'a'"):
        strict.predict(other)


def named_without_rows(values: np.ndarray, *, labelled: bool) -> pd.DataFrame | np.ndarray:
    """Return categories of which one is named and has no row, or integers with a gap."""
    if not labelled:
        return np.array([0, 2, 3, 1])[values]
    names = ["no", "yes", "maybe", "never"]
    columns = {
        name: pd.Categorical.from_codes(values[:, i], names) for i, name in enumerate("abcd")
    }
    return pd.DataFrame(columns)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.quick_cases("True")
def test_named_category_without_a_row__is_ignored_with_a_warning(labelled: bool) -> None:
    model = DiscreteMixture(2).fit(named_without_rows(X, labelled=labelled))
    other = X[:3].copy()
    other[0, 0] = 3
    other[1] = 3
    with pytest.warns(
        MissingValueWarning, match="; 'never' of 'd';" if labelled else "'1' of 'x3'"
    ):
        scores = np.asarray(model.score_samples(named_without_rows(other, labelled=labelled)))
    np.testing.assert_allclose(scores[1], 0, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model.score_samples(named_without_rows(X[:3], labelled=labelled))
    np.testing.assert_allclose(scores[2], np.asarray(expected)[2])


@pytest.mark.slow  # columns with names are quick
def test_named_categories_without_rows__are_named_for_columns_by_position() -> None:
    model = DiscreteMixture(2).fit(named_without_rows(X, labelled=False))
    assert model.categories_without_rows == {f"x{i}": ("1",) for i in range(4)}
    values = named_without_rows(X, labelled=False)
    values[0, 1] = 1
    other = xr.DataArray(values, {"feature": list("abcd")}, ("sample", "feature"))
    with pytest.warns(MissingValueWarning, match="not have: '1' of 'b'; these"):
        model.predict(other)


def test_categories__are_found_by_name_whatever_their_codes() -> None:
    names = np.array(["no", "yes", "maybe"])
    table = pd.DataFrame(names[X], columns=list("abcd"), dtype="string")
    model = DiscreteMixture(2).fit(table)
    turned = table.astype(pd.CategoricalDtype(["yes", "maybe", "no"]))[["d", "b", "a", "c"]]
    np.testing.assert_array_equal(
        np.asarray(model.predict_proba(turned[list("abcd")])),
        np.asarray(model.predict_proba(table)),
    )
    groups = np.arange(len(table)) % 2
    np.testing.assert_array_equal(
        model.weights_by(turned[list("abcd")], groups)["weight"],
        model.weights_by(table, groups)["weight"],
    )


@pytest.mark.filterwarnings("ignore:Views that are equal")
def test_few_rows__are_fitted_without_holding_any_out() -> None:
    with pytest.warns(ConditioningWarning, match="2 of 2 components .* 5 rows"):
        model = DiscreteMixture(2).fit(np.array([[0, 1, 1], [1, 0, 0]]))
    assert "ridge_choice" not in model.diagnostics_
    assert model.weights_.sum() == pytest.approx(1)


def test_equal_views__are_named_whatever_the_names_of_their_categories() -> None:
    table = pd.DataFrame(X, columns=[*"abcd"]).assign(same=1, copy=X[:, 1], other=0)
    table["renamed"] = table["b"].map({0: "high", 1: "low", 2: "none"})
    with pytest.warns(ConditioningWarning, match="b and copy and renamed"):
        model = DiscreteMixture(2, random_state=0).fit(table.astype(str))
    assert model.diagnostics_["equal_views"] == [["b", "copy", "renamed"]]
    verdict = model.diagnostics_["verdict"]
    assert any("b and copy and renamed" in sentence for sentence in verdict["sentences"])
    assert DiscreteMixture(2, random_state=0).fit(X).diagnostics_["equal_views"] == []


@pytest.mark.slow  # views of ids are quick
def test_ids_among_the_answers__are_named_because_they_decide_the_classes() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(2, 1000, p=[0.7, 0.3])
    share = np.where(kind[:, None] == 0, 0.75, 0.3)
    answers = pd.DataFrame((rng.random((1000, 6)) < share).astype(int), columns=[*"abcdef"])
    persons = answers.assign(person=range(1000), age=rng.integers(18, 80, 1000)).astype(str)
    with pytest.warns(ConditioningWarning, match="half as many categories .*person"):
        model = DiscreteMixture(2, random_state=0).fit(persons)
    assert model.diagnostics_["views_of_ids"] == ["person"]
    assert not model.diagnostics_["verdict"]["good"]
    without = DiscreteMixture(2, random_state=0).fit(persons.drop(columns="person"))
    assert without.diagnostics_["views_of_ids"] == []
    assert without.diagnostics_["verdict"]["good"]
    # the reason of the warning: every row is sure of a class with its id, also of a wrong one
    sure, unsure = (
        fit.predict_proba(persons[list(fit.categories_)]).max(1).mean() for fit in (model, without)
    )
    assert sure > unsure + 0.03


def test_views_of_ids__have_more_categories_than_half_the_weight_of_their_entries() -> None:
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 3, (400, 4))
    ids, age = np.arange(400), rng.integers(0, 29, 400)
    parameters = {"missing": "marginalise", "n_starts": 1, "max_iter": 3, "random_state": 0}

    def views_of_ids(values: np.ndarray, weight: np.ndarray | None = None, **more: str):
        model = DiscreteMixture(2, **{**parameters, **more})
        return model.fit(values, sample_weight=weight).diagnostics_["views_of_ids"]

    with warnings.catch_warnings():
        # independent answers and rows that are left out are warnings of their own
        warnings.simplefilter("ignore", ConditioningWarning)
        warnings.simplefilter("ignore", MissingValueWarning)
        batches = DiscreteMixture(2, **parameters)
        rows = np.column_stack([age, answers])
        for start in range(0, 400, 40):
            batches.partial_fit(rows[start : start + 40])
        assert batches.diagnostics_["views_of_ids"] == []
        # a frequency table is its rows repeated
        table, counts = np.column_stack([ids, answers])[:20], np.arange(50, 70)
        assert views_of_ids(table, counts) == views_of_ids(np.repeat(table, counts, axis=0)) == []
        numbered = np.column_stack([ids, answers])
        for weights in ("counts", "relative"):
            assert views_of_ids(numbered, ids % 5 < 2, weights=weights) == ["x0"]
        assert views_of_ids(np.column_stack([np.where(ids % 5 < 2, ids, -1), answers])) == ["x0"]
        left_out = np.where((ids % 5 < 2)[:, None], answers, -1)
        assert views_of_ids(np.column_stack([ids, left_out]), missing="omit") == ["x0"]


@pytest.mark.parametrize("missing", ["marginalise", "omit"])
def test_feature__without_an_entry_is_refused_by_name(missing):
    rows = np.random.default_rng(0).integers(0, 2, (60, 5)).astype(float)
    rows[:, 2] = np.nan
    with pytest.raises(DataError, match="feature 'x2' has no entry"):
        DiscreteMixture(2, missing=missing).fit(rows)
