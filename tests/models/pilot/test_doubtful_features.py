"""Codes of missing values, row numbers and very few rows are warned of by every measured model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from bigtensor import ICA, GaussianMixture, KernelMixture, LinearMixture, TensorTrainDensity
from bigtensor.errors import ConditioningWarning
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.pilot.doubtful_features import FEW_ROWS, doubts, running_numbers
from bigtensor.statistics.row_sample import Sample


def table(rows: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(0)
    groups = 4 * random.integers(2, size=(rows, 1))
    return pd.DataFrame(random.normal(groups, 1, (rows, 4)), columns=["a", "b", "c", "d"])


def with_codes(values: pd.DataFrame, code: float = -999, share: float = 0.05) -> pd.DataFrame:
    missing = np.random.default_rng(1).random(values.shape) < share
    missing[:, 1:] &= np.arange(1, values.shape[1]) < 2
    return values.mask(missing, code)


def sentences(
    values: pd.DataFrame, weight: NDArray[np.float64] | None = None, **shape: float
) -> list[str]:
    views = tuple((name, (name,)) for name in values.columns)
    sizes = {"rows": len(values), "effective_rows": float(len(values))} | shape
    data = DataShape(views=views, dtype="float64", has_weight=False, **sizes)
    rows = values.to_numpy()
    sample = Sample(rows, np.arange(len(rows)), weight)
    columns = tuple((j, j + 1) for j in range(rows.shape[1]))
    return [*doubts(sample, data, columns), *running_numbers(sample, data)]


@pytest.mark.parametrize(
    "model",
    [
        KernelMixture(2, max_iter=1, random_state=0),
        GaussianMixture(2, max_iter=1, random_state=0),
        LinearMixture(2, views={"v": ["a", "b"], "c": ["c"], "d": ["d"]}, random_state=0),
        TensorTrainDensity(rank=1, random_state=0),
        ICA(2, random_state=0),
    ],
)
def test_fit__warns_of_codes_of_missing_values(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "(?s).*-999", ConditioningWarning)
        with pytest.raises(ConditioningWarning, match=r"'a', 'b' hold -999"):
            model.fit(with_codes(table()))


def test_verdict__is_not_good_with_codes_of_missing_values():
    with pytest.warns(ConditioningWarning, match="-999"):
        model = KernelMixture(2, max_iter=1, random_state=0).fit(with_codes(table()))
    verdict = model.diagnostics_["verdict"]
    assert not verdict["good"]
    assert "'a', 'b'" in verdict["sentences"][0]


@pytest.mark.parametrize("code", [-99, 999, 9999])
def test_doubts__names_codes_in_a_hundredth_of_the_rows(code):
    values = with_codes(table(2000), code, 0.02)
    (sentence,) = sentences(values)
    assert f" {code} in up to 1.7" in sentence
    values.iloc[300:] = table(2000).iloc[300:]
    assert not sentences(values)


def test_doubts__of_a_weight_are_doubts_of_repeated_rows():
    values = table(400)
    values.iloc[:30, 0] = -999
    once = values.iloc[[0, *range(30, 400)]]
    weight = np.where(np.arange(371) == 0, 30.0, 1.0)
    assert sentences(values) == sentences(once, weight) == sentences(once, weight / 100) != []
    assert not sentences(once)


def test_doubts__count_rows_by_weight():
    values = table(200)
    values.iloc[:3, 0] = -999
    repeated = values.iloc[np.repeat(np.arange(200), 2)]
    counted = sentences(values, np.full(200, 2.0), effective_rows=400.0)
    assert counted == sentences(repeated) != []
    few = table(15)
    masked = sentences(few, np.ones(15), rows=40, effective_rows=15.0)
    assert masked == sentences(few) != []
    assert not sentences(few, np.full(15, 2.0), effective_rows=30.0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_doubts__names_copies_in_different_views(dtype):
    values = table().assign(e=lambda x: 3 - 2 * x["b"]).astype(dtype)
    (sentence,) = sentences(values)
    assert "'b' and 'e'" in sentence
    rare = (np.arange(200) == 7).astype(float)
    assert not sentences(table().assign(e=rare, f=rare))
    noise = np.random.default_rng(4).normal(0, 1e-3, 200)
    assert not sentences(table().assign(e=lambda x: x["b"] + noise))


def test_doubts__names_a_copy_in_weights_that_add_up_to_one():
    values = table().assign(e=lambda x: x["b"])
    assert sentences(values) == sentences(values, np.full(200, 1 / 200), effective_rows=1.0) != []


def test_doubts__counts_no_missing_entry_as_a_value_of_copies():
    rare = np.full(200, np.nan)
    rare[:10] = np.arange(10) == 3
    assert not sentences(table().assign(e=rare, f=rare))


@pytest.mark.parametrize("seed", range(20))
def test_doubts__takes_no_features_for_copies_that_are_equal_by_chance(seed):
    random = np.random.default_rng(seed).random((20, 300))
    assert not sentences(pd.DataFrame(random < (0.5 if seed % 2 else 0.3), dtype=float))


@pytest.mark.parametrize(
    "model",
    [KernelMixture(2, max_iter=1, random_state=0), LinearMixture(2, random_state=0)],
)
@pytest.mark.filterwarnings("ignore")
def test_verdict__is_not_good_with_copies_in_different_views(model):
    values = table().drop(columns="d")
    assert not any("copies" in s for s in model.fit(values).diagnostics_["verdict"]["sentences"])
    copied = values[["a", "b"]].assign(e=3 * values["b"] + 1)
    verdict = model.fit(copied).diagnostics_["verdict"]
    assert not verdict["good"]
    assert any("'b' and 'e'" in sentence for sentence in verdict["sentences"])


def test_running_numbers__are_those_of_distinct_rows():
    values = table(200).assign(id=np.arange(200))
    repeated = values.iloc[np.repeat(np.arange(200), np.arange(200) % 3 + 1)]
    assert sentences(repeated) == sentences(values) != []
    visits = table(400).assign(id=np.arange(400) // 2)
    assert not sentences(visits)
    # rows of weight zero, between which the numbers are, are no rows
    every_second = table(200).assign(id=np.arange(0, 400, 2))
    assert not sentences(every_second, np.ones(200), rows=400, effective_rows=200.0)


@pytest.mark.parametrize("scale", ["counts of a half", "relative"])
def test_running_numbers__are_those_of_rows_with_small_weights(scale):
    random = np.random.default_rng(3)
    weight = np.full(2000, 0.5)
    if scale == "relative":
        weight = random.lognormal(size=2000)
        weight *= weight.sum() / (weight @ weight)
    sizes = {"rows": 2000, "effective_rows": weight.sum()}
    # a sample of the rows has numbers in the range of all rows
    values = table(200).assign(id=random.permutation(2000)[:200])
    (sentence,) = sentences(values, weight[:200], **sizes)
    assert "'id'" in sentence
    assert not sentences(values.assign(id=2 * values["id"]), weight[:200], **sizes)


@pytest.mark.parametrize("rows", [200, 2000])
def test_doubts__names_a_running_number(rows):
    order = np.random.default_rng(2).permutation(2000)[:rows]
    values = table(rows).assign(id=100_001 + (order if rows == 200 else np.arange(rows)))
    (sentence,) = sentences(values, rows=2000, effective_rows=2000.0)
    assert "'id'" in sentence


def test_running_numbers__need_a_sample_that_could_show_repeats():
    """As seconds, of which a sample of a longer recording holds each at most once."""
    seconds = np.random.default_rng(2).choice(100_000, 200, replace=False)
    assert not sentences(table().assign(time=seconds), rows=10**6, effective_rows=1e6)


@pytest.mark.parametrize(
    "model",
    [
        KernelMixture(2, max_iter=1, random_state=0),
        GaussianMixture(2, max_iter=1, random_state=0),
        LinearMixture(2, views={"v": ["a", "id"], "c": ["c"], "d": ["d"]}),
        TensorTrainDensity(rank=1, random_state=0),
        ICA(2, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_verdict__notes_a_running_number(model):
    bare = model.fit(table().assign(id=table()["a"] + 1)).diagnostics_["verdict"]
    verdict = model.fit(table().assign(id=np.arange(1970, 2170))).diagnostics_["verdict"]
    assert "'id' may be" in verdict["sentences"][-1]
    assert "'id' may be" not in bare["sentences"][-1]
    assert len(verdict["sentences"]) > 1


def test_verdict__is_good_with_years():
    values = table(400).assign(year=np.random.default_rng(3).permutation(400))
    verdict = GaussianMixture(2, random_state=0).fit(values).diagnostics_["verdict"]
    assert verdict["good"]
    assert "'year'" in verdict["sentences"][-1]


@pytest.mark.filterwarnings("ignore")
def test_partial_fit__forgets_that_the_first_batch_had_few_rows():
    model = GaussianMixture(2, random_state=0)
    for rows in (15, 400, 400):
        model.partial_fit(table(rows))
    verdict = model.diagnostics_["verdict"]
    assert not any("have 15 rows" in sentence for sentence in verdict["sentences"])


def test_doubts__takes_whole_numbers_and_ranks_as_measured():
    values = table()
    assert not sentences(values.assign(count=np.arange(200) // 2))
    assert not sentences(values.assign(income=np.arange(200) ** 2))
    assert not sentences(values.rank())


@pytest.mark.parametrize("model", [KernelMixture(random_state=0), GaussianMixture(random_state=0)])
def test_verdict__is_not_good_with_very_few_rows(model):
    with pytest.warns(ConditioningWarning, match="5 rows"):
        model.fit(table(5))
    assert not model.diagnostics_["verdict"]["good"]
    assert not sentences(table(FEW_ROWS))


@pytest.mark.parametrize(
    ("codes", "shares", "told"),
    [
        ((-9.0, -8.0), (0.005, 0.55), True),
        ((98.0, 99.0), (0.05, 0.1), True),
        ((98.0, 99.0), (0.4, 0.2), False),
    ],
)
def test_doubts__name_codes_that_follow_each_other(codes, shares, told):
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(1, 6, 2000), rng.normal(size=2000)])
    values[:, 0] = np.where(rng.random(2000) < shares[0], codes[0], values[:, 0])
    values[: int(2000 * shares[1]), 0] = codes[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GaussianMixture(2, covariance_type="diag", random_state=0).fit(values)
    named = [str(one.message) for one in caught if "far from all other" in str(one.message)]
    assert [f"{codes[0]:.0f} and {codes[1]:.0f}" in text for text in named] == [True] * told
