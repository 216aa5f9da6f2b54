"""Categories that the data of a fit name, and that no row of the fit has."""

import warnings

import numpy as np
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, HiddenMarkovModel, TensorTrainDensity
from bigtensor.errors import MissingValueWarning

# chains of independent steps tell no states apart
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")

MODELS = {
    "DiscreteMixture": lambda: DiscreteMixture(2, random_state=0),
    "TensorTrainDensity": lambda: TensorTrainDensity(rank=2, random_state=0),
    "HiddenMarkovModel": lambda: HiddenMarkovModel(2, random_state=0),
}


def answers(values: np.ndarray, categories: list[str]) -> xr.DataArray:
    """Return codes with names."""
    names = [f"f{column}" for column in range(values.shape[1])]
    attrs = {"categories": dict.fromkeys(names, categories)}
    return xr.DataArray(values, {"feature": names}, ("sample", "feature"), attrs=attrs)


def rows_of(model: str) -> np.ndarray:
    """Return codes 0 and 1 of two classes: one column for a chain, and four for other models."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, (600, 1))
    return np.where(rng.random((600, 1 if model == "HiddenMarkovModel" else 4)) < 0.8, label, 0)


def score(model: object, data: xr.DataArray) -> float:
    """Return the mean log-density of some rows."""
    return float(model.score(data))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.quick_cases("DiscreteMixture", "TensorTrainDensity")
def test_category_that_the_fit_does_not_name__is_ignored_with_a_warning(name: str) -> None:
    rows = rows_of(name)
    model = MODELS[name]().fit(answers(rows, ["a", "b"]))
    other = answers(np.full_like(rows[:5], 2), ["a", "b", "never"])
    with pytest.warns(MissingValueWarning, match="'never' of 'f0'"):
        assert score(model, other) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.quick_cases("DiscreteMixture", "TensorTrainDensity")
def test_named_category_without_a_row__is_ignored_or_has_a_small_probability(name: str) -> None:
    rows = rows_of(name)
    model = MODELS[name]().fit(answers(rows, ["a", "b", "never"]))
    other = answers(np.full_like(rows[:5], 2), ["a", "b", "never"])
    if name == "DiscreteMixture":
        with pytest.warns(MissingValueWarning, match="'never' of 'f0'"):
            assert score(model, other) == pytest.approx(0, abs=1e-9)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingValueWarning)
        # per sequence of five steps, or per row of four features
        assert score(model, other) < -5
