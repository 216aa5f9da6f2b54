"""Columns of a hidden Markov model: their order in draws, and the densities of rows in states."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import stats

from bigtensor import HiddenMarkovModel
from bigtensor.errors import DataError, ParameterError

TURNED = {"b": [1], "a": [0]}


def measured(seed: int = 0) -> NDArray[np.float64]:
    """Draw whole numbers of two states, of which the second feature is far larger."""
    rng = np.random.default_rng(seed)
    state = (np.arange(600) // 20) % 2
    return rng.poisson(np.column_stack([3.0 + 6.0 * state, np.full(600, 50.0)])).astype(float)


@pytest.mark.parametrize("emissions", ["gaussian", "kernel", "poisson"])
@pytest.mark.quick_cases("kernel")
def test_columns__are_in_the_order_of_the_data(emissions: str) -> None:
    rows = measured()
    model = HiddenMarkovModel(2, emissions=emissions, views=TURNED, random_state=0).fit(rows)

    drawn, _ = model.sample(600, random_state=0)

    assert_allclose(drawn.mean(axis=0), rows.mean(axis=0), rtol=0.3)
    assert model.predict_next(rows)[0, 1] > 40
    assert model.score(drawn) == pytest.approx(model.score(rows), abs=0.3)


def test_emission_density__finds_the_features_of_views() -> None:
    rows = measured()
    turned = HiddenMarkovModel(2, emissions="poisson", views=TURNED, random_state=0).fit(rows)
    rates = turned.means_.to_numpy()[:, ::-1]

    density = turned.emission_density(rows)

    assert_allclose(density, stats.poisson.pmf(rows[:, None], rates).prod(axis=2), rtol=1e-6)
    lazy = turned.emission_density(da.from_array(rows, chunks=(100, -1)))
    assert_array_equal(lazy.compute(), density)


def test_emission_density__is_that_of_the_category_of_a_view() -> None:
    rng = np.random.default_rng(0)
    state = (np.arange(600) // 20) % 2
    noisy = np.where(rng.random(600) < 0.85, state, rng.integers(0, 3, 600))
    codes = np.column_stack([rng.integers(0, 3, 600), noisy])
    model = HiddenMarkovModel(2, views={"second": [1]}, random_state=0).fit(codes)

    assert_allclose(
        model.emission_density(codes), model.emission_.to_numpy()[:, codes[:, 1]].T, rtol=1e-6
    )


def test_emission_density__wants_the_features_of_the_fit() -> None:
    table = pd.DataFrame(measured(), columns=["few", "many"])
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0).fit(table)

    with pytest.raises(ValueError, match="feature names should match"):
        model.emission_density(table[["many", "few"]])
    with pytest.raises(ValueError, match="expecting 2 features"):
        HiddenMarkovModel(2, emissions="gaussian").fit(measured()).emission_density(
            np.zeros((4, 1))
        )


@pytest.mark.parametrize("value", [-1.0, 2.5])
def test_poisson__refuses_what_is_no_count_in_answers(value: float) -> None:
    rows = measured()
    model = HiddenMarkovModel(2, emissions="poisson", random_state=0).fit(rows)

    with pytest.raises(DataError, match="no Poisson probability"):
        model.score(np.array([[3.0, 50.0], [value, 50.0]]))


def test_emissions__set_after_the_fit_change_no_answer() -> None:
    rows, half = measured().astype(int), np.arange(600) < 300
    model = HiddenMarkovModel(2, emissions="poisson", random_state=0).fit(rows)
    following, shares = model.predict_next(rows), model.weights_by(rows, half)

    model.set_params(emissions="categorical")

    assert_allclose(model.predict_next(rows), following, rtol=0)
    assert model.weights_by(rows, half).equals(shares)
    with pytest.raises(ParameterError, match="CategoricalHMM"):
        model.to_hmmlearn()
