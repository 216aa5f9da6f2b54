"""Weights, groups and ids of pandas beside tables: their index labels are those of the rows."""

import numpy as np
import pandas as pd
import pytest

from bigtensor import GaussianMixture, open_samples
from bigtensor.errors import DataError

ROWS = 40
NAMES = [f"row {number}" for number in range(ROWS)]
SETTINGS = ["weight", "groups", "sequence"]


def table(index: object = None) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(ROWS, 2))
    return pd.DataFrame(values, index=index, columns=["rate", "depth"])


def series(index: object = None) -> pd.Series:
    return pd.Series(np.arange(1, ROWS + 1), index=index)


@pytest.mark.parametrize("setting", SETTINGS)
def test_labels_in_another_order__are_refused(setting: str) -> None:
    values = series(NAMES)
    assert open_samples(table(NAMES), **{setting: values}).rows == ROWS
    for other in (values[::-1], values.rename({"row 3": "row 300"})):
        with pytest.raises(DataError, match=r"\.reindex"):
            open_samples(table(NAMES), **{setting: other})
        assert open_samples(table(NAMES), **{setting: other.to_numpy()}).rows == ROWS


@pytest.mark.parametrize("setting", SETTINGS)
def test_positions_in_another_order__are_refused(setting: str) -> None:
    with pytest.raises(DataError, match=r"\.reindex"):
        open_samples(table(), **{setting: series().sample(frac=1, random_state=0)})


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("rows", "labels"),
    [(NAMES, None), (None, NAMES), (None, np.arange(10, 10 + ROWS)), (np.arange(ROWS)[::-1], None)],
)
def test_an_index_without_labels__goes_by_position(
    setting: str, rows: object, labels: object
) -> None:
    samples = open_samples(table(rows), **{setting: series(labels)})
    block = next(iter(samples.blocks([(0, ROWS)], ROWS)))
    found = {"weight": block.weight, "groups": block.group, "sequence": block.sequence}[setting]
    assert found is not None
    np.testing.assert_array_equal(found, np.arange(ROWS) + (setting != "groups"))


def test_fits_and_answers__refuse_labels_in_another_order() -> None:
    rows, weight = table(NAMES), series(NAMES)
    model = GaussianMixture(1, random_state=0).fit(rows, sample_weight=weight)
    for refused in (
        lambda: model.fit(rows, sample_weight=weight[::-1]),
        lambda: model.score(rows, sample_weight=weight[::-1]),
        lambda: model.weights_by(rows, weight[::-1]),
    ):
        with pytest.raises(DataError, match=r"\.reindex"):
            refused()


def test_ids_of_every_table__have_its_labels() -> None:
    tables, ids = [table(NAMES), table(NAMES)], [series(NAMES), series(NAMES)]
    assert open_samples(tables, sequence=ids).rows == 2 * ROWS
    with pytest.raises(DataError, match=r"\.reindex"):
        open_samples(tables, sequence=[ids[0], ids[1][::-1]])


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_index_of_several_levels__says_nothing_of_positions(setting: str) -> None:
    levels = pd.MultiIndex.from_product([range(4), range(ROWS // 4)])
    assert open_samples(table(), **{setting: series(levels)}).rows == ROWS
