"""Queries of a density: missing entries, chosen variables, names of categories, lazy rows."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from bigtensor import TensorTrainDensity
from bigtensor.errors import DataError, MissingValueError, ParameterError

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


@pytest.mark.parametrize("missing", ["omit", "raise"])
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


def test_log_density__of_a_whole_row_keeps_the_rule(rows: NDArray[np.float64]) -> None:
    strict = TensorTrainDensity(2, missing="raise", random_state=0).fit(rows)

    with pytest.raises(MissingValueError):
        strict.score_samples(ROW)


def test_latent_posterior__is_the_same_for_lazy_rows_in_chunks(
    rows: NDArray[np.float64], model: TensorTrainDensity
) -> None:
    lazy = model.latent_posterior(da.from_array(rows, chunks=(200, -1)))

    assert_array_equal(lazy.compute(), model.latent_posterior(rows))


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
    ("value", "words"), [("q", "expected one of 'a', 'b'"), (np.nan, "finite")]
)
def test_conditional__refuses_an_unknown_value(
    named: TensorTrainDensity, value: str | float, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        named.conditional({"x0": value})


def test_names__are_no_measured_values_of_a_fit(model: TensorTrainDensity) -> None:
    with pytest.raises(DataError, match="was fitted to measured values"):
        model.score_samples(np.array([["4", "5", "0"]]))
