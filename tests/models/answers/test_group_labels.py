"""Groups of `weights_by`: numbers stay numbers, and columns of a table are groups."""

from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import GaussianMixture, HiddenMarkovModel
from bigtensor.errors import SequenceWarning

ROWS = 600


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rate = np.repeat([0.0, 4.0, 0.0, 4.0, 4.0, 0.0], ROWS // 6) + rng.normal(size=ROWS)
    night = np.repeat([10, 9, 2], ROWS // 3)
    return pd.DataFrame({"rate": rate, "depth": rate + rng.normal(size=ROWS), "night": night})


@pytest.fixture(scope="module")
def mixture() -> GaussianMixture:
    return GaussianMixture(2, random_state=0).fit(table()[["rate", "depth"]])


@pytest.fixture(scope="module")
def chain() -> HiddenMarkovModel:
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0)
    return model.fit(table(), sequence="night")


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        (np.repeat([10, 9, 2], ROWS // 3), [2, 9, 10]),
        (np.repeat(np.array([10, 9, 2], np.uint16), ROWS // 3), [2, 9, 10]),
        (np.repeat([10.0, np.nan, 2.0], ROWS // 3), [2, 10]),
        (np.repeat([0.5, 9.0, 2.0], ROWS // 3), [0.5, 2.0, 9.0]),
        (np.repeat(np.array([10, 9, 2], object), ROWS // 3), [2, 9, 10]),
        (np.repeat([True, False], ROWS // 2), [False, True]),
        (np.repeat(["b", "a"], ROWS // 2), ["a", "b"]),
        (np.repeat(np.array([10, "9", 2], object), ROWS // 3), ["10", "2", "9"]),
    ],
)
def test_groups__keep_their_numbers(
    mixture: GaussianMixture, chain: HiddenMarkovModel, groups: Any, labels: list[Any]
) -> None:
    rows = table()[["rate", "depth"]]
    for model in (mixture, chain):
        found = model.weights_by(rows, groups)["group"].to_numpy()
        assert found.dtype.kind == np.array(labels).dtype.kind
        assert found.tolist() == labels


def test_codes__have_the_names_of_their_categories(mixture: GaussianMixture) -> None:
    codes = xr.DataArray(
        np.repeat([1, 0], ROWS // 2), dims="sample", attrs={"categories": ["0", "1"]}, name="arm"
    )
    found = mixture.weights_by(table()[["rate", "depth"]], codes)
    assert found["arm"].to_numpy().tolist() == ["0", "1"]


@pytest.mark.parametrize("kind", ["pandas", "dask", "list"])
def test_a_column_of_a_table__is_a_group_and_no_feature(
    mixture: GaussianMixture, chain: HiddenMarkovModel, kind: str
) -> None:
    frame: Any = table()
    expected = mixture.weights_by(frame[["rate", "depth"]], frame["night"])
    of_states = chain.weights_by(frame[["rate", "depth"]], frame["night"], sequence=frame["night"])
    if kind == "dask":
        frame = dd.from_pandas(frame, npartitions=2)
    elif kind == "list":
        frame = [frame[:400], frame[400:]]
    xr.testing.assert_allclose(mixture.weights_by(frame, "night").sortby("night"), expected)
    found = chain.weights_by(frame, "night", sequence="night").sortby("night")
    np.testing.assert_allclose(found["weight"], of_states["weight"])
    assert found["night"].to_numpy().tolist() == [2, 9, 10]


def test_a_column_that_is_a_feature__groups_the_rows_as_well() -> None:
    frame = table()
    found = GaussianMixture(1, random_state=0).fit(frame).weights_by(frame, "night")
    assert found["night"].to_numpy().tolist() == [2, 9, 10]
    assert found["rows"].to_numpy().tolist() == [ROWS // 3] * 3


def test_states_by_group__warn_of_rows_that_are_not_sorted_by_sequence(
    chain: HiddenMarkovModel,
) -> None:
    mixed = table().sample(frac=1, random_state=0)
    with pytest.warns(SequenceWarning, match="come back"):
        chain.weights_by(mixed, "night", sequence="night")
    dated = mixed.set_index(pd.date_range("2024-01-01", periods=ROWS)[::-1])
    with pytest.warns(SequenceWarning):
        chain.weights_by(dated, "night")


def test_sequence__of_a_model_without_an_order_is_refused_with_a_remedy(
    mixture: GaussianMixture,
) -> None:
    frame = table()
    with pytest.raises(TypeError, match="open_samples"):
        mixture.weights_by(frame, "night", sequence="night")
