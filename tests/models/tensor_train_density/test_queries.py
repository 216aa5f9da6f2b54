"""Queries of a density: missing entries, chosen variables, names of categories, lazy rows."""

from __future__ import annotations

import warnings
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from bigtensor import TensorTrainDensity
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    MissingValueError,
    ParameterError,
    ViewError,
)

ROW = np.array([[4.0, np.nan, 0.0]])


@pytest.fixture(scope="module")
def rows() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    first = rng.normal(4.0 * (rng.random(600) < 0.5), 1.0)
    return np.column_stack([first, first + rng.normal(size=600), rng.normal(size=600)])


@pytest.fixture(scope="module")
def model(rows: NDArray[np.float64]) -> TensorTrainDensity:
    return TensorTrainDensity(2, random_state=0).fit(rows)


@pytest.fixture(scope="module")
def named() -> TensorTrainDensity:
    names = np.array([["a", "x"], ["b", "y"], ["a", "y"], ["a", "x"]])
    return TensorTrainDensity(2, random_state=0).fit(np.tile(names, (50, 1)))


@pytest.fixture(scope="module")
def mixed_rows() -> NDArray[np.float64]:
    rng = np.random.default_rng(3)
    code = rng.integers(1, 6, 400).astype(float)
    low = code + rng.normal(size=400)
    return np.column_stack([low, code, np.full(400, 7.0), 20 - low + rng.normal(size=400)])


@pytest.fixture(scope="module")
def mixed(mixed_rows: NDArray[np.float64]) -> TensorTrainDensity:
    with pytest.warns(ConstantFeatureWarning, match="x2"):
        return TensorTrainDensity(2, random_state=0).fit(mixed_rows)


@pytest.mark.parametrize("missing", ["omit", "raise"])
@pytest.mark.quick_cases("raise")
def test_queries__sum_over_missing_entries_whatever_the_rule(
    rows: NDArray[np.float64], model: TensorTrainDensity, missing: str
) -> None:
    strict = TensorTrainDensity(2, missing=missing, random_state=0).fit(rows)

    assert_array_equal(
        strict.predict_variable(ROW, "x1")["mean"], model.predict_variable(ROW, "x1")["mean"]
    )
    assert_array_equal(strict.score_samples(ROW, of=["x0"]), model.score_samples(ROW, of=["x0"]))
    assert_array_equal(strict.impute(ROW), model.impute(ROW))
    assert np.isfinite(strict.impute(ROW)).all()


@pytest.mark.slow  # queries of single variables are quick
def test_log_density__of_a_whole_row_keeps_the_rule(rows: NDArray[np.float64]) -> None:
    strict = TensorTrainDensity(2, missing="raise", random_state=0).fit(rows)

    with pytest.raises(MissingValueError):
        strict.score_samples(ROW)


def test_latent_posterior__is_the_same_for_lazy_rows_in_chunks(
    rows: NDArray[np.float64], model: TensorTrainDensity
) -> None:
    lazy = model.latent_posterior(da.from_array(rows, chunks=(200, -1)))

    assert_array_equal(lazy.compute(), model.latent_posterior(rows))


@pytest.mark.slow  # other queries are quick
def test_mutual_information__of_all_used_variables_if_views_leave_one_out(
    rows: NDArray[np.float64], model: TensorTrainDensity
) -> None:
    chosen = TensorTrainDensity(2, random_state=0, views={"both": [0, 1]}).fit(rows)

    information = chosen.mutual_information(["x0"], ["x1"])

    assert information == pytest.approx(model.mutual_information(["x0"], ["x1"]), abs=0.05)
    assert information > 0.5


def test_conditional__takes_a_category_by_name_or_code(named: TensorTrainDensity) -> None:
    by_name = named.conditional({"x0": "a"}).score_samples(np.array([["x"], ["y"]]))

    assert_array_equal(
        by_name, named.conditional({"x0": 0}).score_samples(np.array([["x"], ["y"]]))
    )
    assert_allclose(np.exp(by_name), [2 / 3, 1 / 3], atol=0.02)


@pytest.mark.parametrize(
    ("value", "words"),
    [("q", "expected one of 'a', 'b'"), (np.nan, "one of"), (2, "one of"), (0.5, "one of")],
)
def test_conditional__refuses_an_unknown_value(
    named: TensorTrainDensity, value: str | float, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        named.conditional({"x0": value})


@pytest.mark.parametrize("value", [3.5, 9, -4, 1e6, np.nan, "3"])
def test_conditional__refuses_a_value_that_a_categorical_variable_does_not_have(
    mixed: TensorTrainDensity, value: float | str
) -> None:
    with pytest.raises(ParameterError, match="expected one of 1, 2, 3, 4, 5"):
        mixed.conditional({"x1": value})
    with pytest.raises(ParameterError, match="expected one of 7"):
        mixed.conditional({"x2": value})


@pytest.mark.parametrize(
    "value",
    [None, pd.NA, [1.0], np.datetime64("2020-01-01", "ns"), np.ma.masked, 10**400],
    ids=["None", "NA", "list", "date", "masked", "beyond float64"],
)
@pytest.mark.parametrize("variable", ["x0", "x1"])
def test_conditional__refuses_what_is_no_number(
    mixed: TensorTrainDensity, variable: str, value: Any
) -> None:
    with pytest.raises(ParameterError, match=f"{variable} is given as"):
        mixed.conditional({variable: value})


def test_number_of_a_column__is_no_name_of_a_variable(mixed: TensorTrainDensity) -> None:
    with pytest.raises(ViewError, match="unknown variables: 0;"):
        mixed.marginal(0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.marginal("zz"),
        lambda model: model.conditional({"zz": 1}),
        lambda model: model.score_samples(ROW, of="zz"),
        lambda model: model.predict_variable(ROW, "zz"),
        lambda model: model.mutual_information("x0", "zz"),
    ],
)
def test_unknown_variable__is_a_view_error(model: TensorTrainDensity, ask: Any) -> None:
    with pytest.raises(ViewError, match=r"zz.*x0, x1, x2"):
        ask(model)


def test_conditional__takes_the_values_of_a_categorical_variable(mixed: TensorTrainDensity) -> None:
    # up to rounding to float32
    near = mixed.conditional({"x1": 3 + 1e-9, "x2": np.float32(7)})

    assert_allclose(
        near.score_samples([[0.5, 18.0]]),
        mixed.conditional({"x1": 3, "x2": 7}).score_samples([[0.5, 18.0]]),
    )


@pytest.mark.parametrize("scalar", [np.array, np.float32, xr.DataArray])
def test_conditional__takes_scalars_of_arrays(
    mixed: TensorTrainDensity, named: TensorTrainDensity, scalar: Any
) -> None:
    measured = mixed.conditional({"x0": scalar(2.5), "x1": scalar(3), "x2": 7})
    assert_array_equal(
        measured.score_samples([[18.0]]),
        mixed.conditional({"x0": 2.5, "x1": 3, "x2": 7}).score_samples([[18.0]]),
    )
    assert_array_equal(
        named.conditional({"x0": scalar(1)}).score_samples([["x"], ["y"]]),
        named.conditional({"x0": "b"}).score_samples([["x"], ["y"]]),
    )


def test_conditional__takes_truth_values_and_names_of_numpy(
    mixed: TensorTrainDensity, named: TensorTrainDensity
) -> None:
    row = [[0.5, 7.0, 18.0]]
    expected = mixed.conditional({"x1": 1}).score_samples(row)
    assert_array_equal(mixed.conditional({"x1": np.True_}).score_samples(row), expected)
    by_name = named.conditional({"x0": np.array("b")}).score_samples([["x"]])
    assert_array_equal(by_name, named.conditional({"x0": "b"}).score_samples([["x"]]))


def test_marginal__has_the_variables_in_the_order_of_their_names(
    mixed: TensorTrainDensity, mixed_rows: NDArray[np.float64]
) -> None:
    columns = [3, 1, 0]
    marginal = mixed.marginal(["x3", "x1", "x0"])

    assert marginal.views_.feature_names == ("x3", "x1", "x0")
    expected = mixed.score_samples(mixed_rows, of=["x0", "x1", "x3"])
    assert_allclose(marginal.score_samples(mixed_rows[:, columns]), expected)
    drawn = marginal.sample(2_000, random_state=1)
    assert_allclose(drawn.mean(axis=0), mixed_rows[:, columns].mean(axis=0), atol=0.3)
    assert_array_equal(np.unique(drawn[:, 1]), [1, 2, 3, 4, 5])
    holes = np.full((len(mixed_rows), 4), np.nan)
    holes[:, [0, 1]] = mixed_rows[:, [0, 1]]
    assert_allclose(marginal.impute(holes[:, columns]), mixed.impute(holes)[:, columns])


def test_marginal__of_a_conditional_has_the_order_of_its_names(
    mixed: TensorTrainDensity, mixed_rows: NDArray[np.float64]
) -> None:
    chained = mixed.conditional({"x2": 7}).marginal(["x3", "x1", "x0"]).conditional({"x1": 2})

    rows = mixed_rows[mixed_rows[:, 1] == 2]
    expected = mixed.score_samples(rows, of=["x0", "x3"], given=["x1", "x2"])
    assert_allclose(chained.score_samples(rows[:, [3, 0]]), expected)


def test_marginal__of_a_named_table_finds_columns_by_name(
    mixed_rows: NDArray[np.float64],
) -> None:
    table = xr.DataArray(mixed_rows[:, [0, 3]], {"feature": ["low", "high"]}, ("sample", "feature"))
    density = TensorTrainDensity(2, random_state=0).fit(table)
    marginal = density.marginal(["high", "low"])

    assert_allclose(marginal.score_samples(table), density.score_samples(table))
    assert_array_equal(marginal.impute(table)["feature"], ["high", "low"])
    assert_array_equal(marginal.feature_names_in_, ["high", "low"])


def test_marginal__of_a_set_keeps_the_order_of_the_model(model: TensorTrainDensity) -> None:
    assert model.marginal({"x2", "x0"}).views_.feature_names == ("x0", "x2")


def test_one_name__is_one_variable(model: TensorTrainDensity, rows: NDArray[np.float64]) -> None:
    assert_allclose(
        model.marginal("x1").score_samples(rows[:, [1]]), model.score_samples(rows, of="x1")
    )
    assert_array_equal(
        model.score_samples(rows, given="x1"), model.score_samples(rows, given=["x1"])
    )
    assert model.mutual_information("x0", "x1", 500) == model.mutual_information(
        ["x0"], ["x1"], 500
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.slow  # conditionals near the data are quick
def test_conditional__far_outside_the_data_is_finite() -> None:
    x = np.random.default_rng(0).normal(size=300)
    curved = np.column_stack([x, x**2 + 0.1 * np.random.default_rng(1).normal(size=300)])
    density = TensorTrainDensity(2, random_state=0).fit(curved)
    assert density.solution_.gaussian is not None
    for value in (30.0, 1e6, 1e12):
        with pytest.warns(ConditioningWarning, match="x0"):
            far = density.conditional({"x0": value})
        assert np.isfinite(far.score_samples([[0.0], [1.0]])).all()
        assert np.isfinite(far.impute([[np.nan]])).all()
        assert np.isfinite(far.surprise([[0.0]])).all()
        assert np.isfinite(far.marginal(["x1"]).sample(3)).all()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.quick_cases("True")
def test_answers_for_entries__have_the_dimension_of_the_features(
    rows: NDArray[np.float64], lazy: bool
) -> None:
    table = xr.DataArray(rows.T, {"marker": ["a", "b", "c"]}, ("marker", "person"))
    density = TensorTrainDensity(2, sample_dim="person", random_state=0).fit(table)
    shown = table.chunk({"person": 200}) if lazy else table
    for answer in (
        density.impute(shown),
        density.surprise(shown),
        density.score_contributions(shown),
    ):
        assert answer.dims == ("person", "marker")
        assert answer["marker"].to_numpy().tolist() == ["a", "b", "c"]
    marginal = density.marginal(["c", "a"])
    assert marginal.feature_dim_ == "marker"
    assert_array_equal(marginal.impute(shown)["marker"], ["c", "a"])


def test_drawn_entries__follow_the_random_state(model: TensorTrainDensity) -> None:
    holes = np.repeat(ROW, 500, axis=0)
    first, again, other = (model.impute(holes, "sample", random_state=s) for s in (1, 1, 2))

    assert_array_equal(first, again)
    assert (first[:, 1] != other[:, 1]).all()
    assert_array_equal(model.impute(holes, "sample"), model.impute(holes, "sample", 0))
    generator = np.random.default_rng(0)
    draws = [model.impute(holes, "sample", generator)[:, 1] for _ in range(4)]
    # rows are equal: draws of one call and of several have one distribution
    assert np.std([draw[0] for draw in draws]) > 0
    assert_allclose(np.concatenate(draws).mean(), model.impute(ROW)[0, 1], atol=0.15)


def test_names__are_no_measured_values_of_a_fit(model: TensorTrainDensity) -> None:
    with pytest.raises(DataError, match="was fitted to measured values"):
        model.score_samples(np.array([["4", "5", "0"]]))


def test_condition_far_outside_the_sample__warns_with_the_value_and_the_range() -> None:
    rng = np.random.default_rng(1)
    load = np.where(rng.random(300) < 0.3, 0.0, rng.gamma(3.0, 2.0, 300))
    table = pd.DataFrame({"load": load, "temperature": rng.normal(20, 3, 300)})
    model = TensorTrainDensity(1, coordinates="z", widths=[0.5], random_state=0).fit(table)
    largest = f"{load.max():.6g}"
    with pytest.warns(ConditioningWarning, match=rf"load.*-3.*0 to {largest}"):
        model.conditional({"load": -3.0})
    with pytest.warns(ConditioningWarning, match="temperature.*500"):
        model.marginal(["temperature", "load"]).conditional({"temperature": 500.0})


@pytest.mark.parametrize(
    ("end", "sign", "beside", "far"),
    [(0.0, 1, -1e-9, -3.0), (0.1, 1, 0.1, -3.0), (100.0, -1, 100.2, 110.0)],
    ids=["zeros", "detection limit in float32", "cap"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_condition_beside_the_end_that_many_rows_have__does_not_warn(
    end: float, sign: int, beside: float, far: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dose = end + sign * np.where(rng.random(300) < 0.3, 0.0, rng.gamma(3.0, 4.0, 300))
    table = np.column_stack([dose, rng.normal(size=300)])
    table = table.astype(np.float32 if end == 0.1 else np.float64)
    model = TensorTrainDensity(1, coordinates="z", widths=[0.5], random_state=0).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditioningWarning)
        model.conditional({"x0": beside})
    with pytest.warns(ConditioningWarning, match="x0"):
        model.conditional({"x0": far})


def test_condition_at_an_outlying_row__says_that_the_sample_is_without_it() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    unfitted = TensorTrainDensity(1, coordinates="z", widths=[0.5], random_state=0)
    with pytest.warns(ConditioningWarning) as ordinary:
        unfitted.fit(rows).conditional({"x0": 50.0})
    rows[7, 0] = 1e6
    with pytest.warns(ConditioningWarning) as outlying:
        unfitted.fit(rows).conditional({"x0": 1e6})
    assert "outlying rows" in str(outlying[-1].message)
    assert "outlying rows" not in str(ordinary[-1].message)


def test_conditions_within_the_sample_and_at_new_rows__do_not_warn(
    model: TensorTrainDensity, rows: NDArray[np.float64]
) -> None:
    rng = np.random.default_rng(2)
    for value in [*rows[:, 2][[rows[:, 2].argmin(), rows[:, 2].argmax()]], *rng.normal(size=200)]:
        model.conditional({"x2": value})
    # rows are answered whatever they hold
    model.score_samples(np.array([[0.0, 0.0, 500.0]]))
