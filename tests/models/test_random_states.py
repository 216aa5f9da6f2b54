"""`random_state` is an integer, a RandomState, a Generator or None, as scikit-learn takes it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import bigtensor
from bigtensor import GaussianMixture, TensorTrainDensity, TopicModel, simulate
from bigtensor.data.values.random_states import integer_seed
from bigtensor.errors import ParameterError
from bigtensor.testing import small_data
from tests.parameters import first_quick

DRAWN: list[Callable[[], Any]] = [
    lambda: np.random.RandomState(4),
    lambda: np.random.default_rng(4),
]
ROWS = np.asarray(small_data("measured"))


def mixture(random_state: Any) -> GaussianMixture:
    return GaussianMixture(2, max_iter=3, random_state=random_state)


@pytest.mark.parametrize("make", DRAWN)
@pytest.mark.quick_cases("<lambda>1")
def test_fit__draws_one_seed_from_a_generator(make: Callable[[], Any]) -> None:
    seeds = [integer_seed(state) for state in [make()] * 3]
    assert len(set(seeds)) == 3
    assert integer_seed(make()) == seeds[0]
    model = mixture(make())
    model.plan(ROWS)
    for seed in seeds:
        expected = mixture(seed).fit(ROWS)
        assert_array_equal(model.fit(ROWS).means_, expected.means_)
        assert_array_equal(model.sample(5)[0], expected.sample(5)[0])


@pytest.mark.parametrize("make", DRAWN)
def test_saved_model__holds_the_seed_of_its_fit(make: Callable[[], Any], tmp_path: Path) -> None:
    model = mixture(make()).fit(ROWS)
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert loaded.random_state == integer_seed(make())
    assert_array_equal(loaded.sample(5)[0], model.sample(5)[0])
    written = model.write(ROWS, tmp_path / "labels.zarr")
    attrs = json.loads((written / "zarr.json").read_text())["attributes"]
    assert attrs["parameters"]["random_state"] == integer_seed(make())


@pytest.mark.parametrize("make", DRAWN)
@pytest.mark.quick_cases("<lambda>0")
def test_prepared_model__keeps_its_seed_through_rounds(make: Callable[[], Any]) -> None:
    found, expected = mixture(make()), mixture(integer_seed(make()))
    for model in (found, expected):
        for batch in (ROWS[:300], ROWS[300:]):
            model.partial_fit(batch)
    assert_array_equal(found.means_, expected.means_)


@pytest.mark.parametrize("make", first_quick(DRAWN))
@pytest.mark.slow  # fits from generators are quick
def test_draws__are_made_from_generators(make: Callable[[], Any]) -> None:
    seed = integer_seed(make())
    density = TensorTrainDensity(random_state=make()).fit(ROWS)
    assert_array_equal(density.sample(4, make()), density.sample(4, seed))
    marginal = density.marginal(["x0", "x1"])
    assert marginal.random_state == seed
    topics = TopicModel(2, random_state=0).fit(small_data("counts"))
    assert (topics.sample(4, make()) != topics.sample(4, seed)).nnz == 0
    assert_array_equal(
        simulate.ica(50, 2, random_state=make())["X"], simulate.ica(50, 2, random_state=seed)["X"]
    )
    assert simulate.cytometry(50, 3, random_state=make()).attrs["random_state"] == seed


def test_clone__has_a_generator_in_the_same_state() -> None:
    model = mixture(np.random.RandomState(4))
    copied = clone(model)
    assert_array_equal(copied.fit(ROWS).means_, model.fit(ROWS).means_)


def test_none__is_seed_zero() -> None:
    assert integer_seed(None) == 0
    assert_array_equal(mixture(None).fit(ROWS).means_, mixture(0).fit(ROWS).means_)


@pytest.mark.parametrize("state", [-1, 1.5, "one", True, np.random])
@pytest.mark.quick_cases("-1", "one", "True")
def test_other_random_states__are_refused(state: Any) -> None:
    with pytest.raises(ParameterError, match="random_state"):
        mixture(state).fit(ROWS)
    with pytest.raises(ParameterError, match="random_state"):
        simulate.ica(50, 2, random_state=state)
    fitted = mixture(0).fit(ROWS)
    with pytest.raises(ParameterError, match="random_state"):
        fitted.sample(3, state)
