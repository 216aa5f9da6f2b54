"""Ids of several data sets, and what messages say of sequences and of states without spread."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import HiddenMarkovModel
from bigtensor.errors import ConditioningWarning, LayoutError, ParameterError

ROWS = 900


def states() -> np.ndarray:
    return np.repeat(np.random.default_rng(0).integers(0, 3, ROWS // 15), 15)


def values() -> np.ndarray:
    return 5.0 * states()[:, None] + np.random.default_rng(1).normal(size=(ROWS, 1))


def model(n_components: int = 3) -> HiddenMarkovModel:
    return HiddenMarkovModel(n_components, emissions="gaussian", random_state=0)


def test_ids_of_several_data_sets__may_be_a_list_of_unlike_lengths() -> None:
    rows, ids = values(), np.repeat(["c", "a", "b"], ROWS // 3)
    parts, of_parts = [rows[:500], rows[500:]], [ids[:500].tolist(), ids[500:]]
    fitted = model().fit(parts, sequence=of_parts)
    np.testing.assert_array_equal(
        fitted.score_samples(parts, sequence=of_parts), fitted.score_samples(parts, sequence=ids)
    )
    for wrong in (of_parts[::-1], of_parts[:1]):
        with pytest.raises(ParameterError, match=r"500, 400"):
            model().fit(parts, sequence=wrong)


def test_a_column_of_ids_that_was_not_named__is_named_by_the_error() -> None:
    frame = pd.DataFrame({"rate": values()[:, 0], "night": np.repeat([1, 2, 3], ROWS // 3)})
    fitted = model().fit(frame, sequence="night")
    with pytest.raises(ValueError, match="sequence='night'") as error:
        fitted.predict(frame)
    assert "night" in str(error.value)
    assert fitted.predict(frame, sequence="night").shape == (ROWS,)


@pytest.mark.parametrize("sample_dim", ["time", "station"])
@pytest.mark.parametrize("dates", [True, False])
def test_advice_to_stack__has_the_dimension_of_sequences_last(sample_dim: str, dates: bool) -> None:
    time = pd.date_range("2024-01-01", periods=20) if dates else np.arange(20)
    cube = (("time", "station"), np.zeros((20, 3)))
    data = xr.Dataset({"a": cube, "b": cube}, {"time": time, "station": list("xyz")})
    last = "time" if dates else sample_dim
    with pytest.raises(LayoutError, match=rf"'{last}'\]\)"):
        HiddenMarkovModel(2, emissions="gaussian", sample_dim=sample_dim).fit(data)


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
@pytest.mark.quick_cases("full")
def test_a_state_of_equal_values__is_named_by_the_verdict(covariance_type: str) -> None:
    rows = np.column_stack([values()[:, 0], values()[::-1, 0], np.full(ROWS, 7.0)])
    fits = HiddenMarkovModel(
        3, emissions="gaussian", covariance_type=covariance_type, random_state=0
    )
    # a constant feature tells no states apart
    assert fits.fit(rows[:, :2]).diagnostics_["verdict"]["good"]
    rows[states() == 0, 0] = 0.0
    with pytest.warns(ConditioningWarning, match="'x0'"):
        fits.fit(rows[:, :2])
    assert not fits.diagnostics_["verdict"]["good"]


def test_one_triple__is_named_in_the_singular() -> None:
    few_rows = pytest.warns(ConditioningWarning, match="have 3 rows")
    with few_rows, pytest.warns(ConditioningWarning, match="have 1 triple of"):
        HiddenMarkovModel(1, emissions="gaussian", random_state=0).fit(values()[:3])
