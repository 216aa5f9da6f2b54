"""Coordinates of a DataArray called weight and sequence: not used, and warned of by a fit."""

import warnings

import numpy as np
import pytest
import xarray as xr

from bigtensor import GaussianMixture, HiddenMarkovModel
from bigtensor.errors import BigtensorWarning, SequenceWarning, WeightWarning

ROWS = 80
VALUES = np.random.default_rng(0).normal(size=(ROWS, 2)) + 4 * (np.arange(ROWS) % 2)[:, None]
ARRAY = xr.DataArray(VALUES, dims=("sample", "feature"))
KILOGRAMS = ("sample", 50.0 + np.arange(ROWS) % 40)
IDS = ("sample", np.arange(ROWS) // 20)
MIXTURE = GaussianMixture(2, random_state=0)
CHAIN = HiddenMarkovModel(2, emissions="gaussian", max_iter=1, random_state=0)


def fitted(model: GaussianMixture | HiddenMarkovModel, data: xr.DataArray, **beside: object):
    """Return a fitted model, and its warnings of coordinates."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data, **beside)
    categories = (WeightWarning, SequenceWarning)
    return model, [one for one in caught if issubclass(one.category, categories)]


@pytest.mark.parametrize("chunks", [None, {"sample": 20}])
@pytest.mark.quick_cases("None")
def test_coordinate_weight__is_warned_of_by_a_fit_alone(chunks: dict[str, int] | None) -> None:
    data = ARRAY.assign_coords(weight=KILOGRAMS)
    data = data if chunks is None else data.chunk(chunks)
    expected = fitted(MIXTURE, ARRAY)[0].score_samples(ARRAY)
    model, caught = fitted(MIXTURE, data)
    np.testing.assert_array_equal(model.score_samples(ARRAY), expected)
    (warning,) = caught
    assert warning.category is WeightWarning
    assert "sample_weight=data['weight']" in str(warning.message)
    for other, beside in (
        (data, {"sample_weight": data["weight"]}),
        (data.drop_vars("weight"), {}),
    ):
        assert not fitted(MIXTURE, other, **beside)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", BigtensorWarning)
        fitted_model = fitted(MIXTURE, ARRAY)[0]
        fitted_model.predict(data)
        fitted_model.score(data)


@pytest.mark.parametrize("ids", [IDS, ("sample", np.repeat([*"abcd"], 20))])
@pytest.mark.quick_cases("ids0")
def test_coordinate_sequence__is_warned_of_for_models_of_sequences(
    ids: tuple[str, np.ndarray],
) -> None:
    data = ARRAY.assign_coords(sequence=ids)
    (warning,) = fitted(CHAIN, data)[1]
    assert warning.category is SequenceWarning
    assert "sequence=data['sequence']" in str(warning.message)
    for beside in ({"sequence": data["sequence"]}, {"sequence": "sequence"}, {"lengths": [20] * 4}):
        assert not fitted(CHAIN, data, **beside)[1]
    assert not fitted(CHAIN, data.drop_vars("sequence"))[1]
    assert not fitted(MIXTURE, data)[1]


@pytest.mark.parametrize(
    "data",
    [
        ARRAY.assign_coords(weight=("sample", ["heavy"] * ROWS)),
        ARRAY.assign_coords(weight=2.0),
        ARRAY.assign_coords(weight=("feature", [1.0, 2.0])),
        ARRAY.assign_coords(weight=KILOGRAMS).set_xindex("weight"),
        ARRAY.assign_coords(weight=KILOGRAMS, sequence=IDS).set_index(
            sample=["weight", "sequence"]
        ),
        ARRAY.assign_coords(sequence=("sample", np.linspace(0, 1, ROWS))),
        ARRAY.assign_coords(sequence=("sample", np.arange(ROWS).astype("datetime64[D]"))),
    ],
    ids=["text", "scalar", "of features", "index", "levels", "floats", "dates"],
)
def test_other_coordinates__are_passed_over(data: xr.DataArray) -> None:
    model, caught = fitted(CHAIN, data)
    assert not caught
    assert model.predict(data).shape == (ROWS,)
