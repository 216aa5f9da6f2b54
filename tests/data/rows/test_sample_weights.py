"""Meanings of sample weights, and sums over weights that are read without their rows."""

import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.sample_weight_totals import weight_totals
from bigtensor.data.rows.sample_weights import with_weight_meaning
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import DataError, WeightWarning
from bigtensor.statistics.base import Pass
from bigtensor.statistics.row_sample import RowSample

ROWS = np.random.default_rng(0).normal(size=(40, 2))
WEIGHT = np.random.default_rng(1).uniform(0.5, 4, 40)


def read_weights(samples) -> np.ndarray:
    """Return the weights of all rows as a pass shows them."""
    sample = RowSample(samples.rows, 2, "float64", has_weight=True)
    with open_runtime(scheduler="threads") as runtime:
        return run_pass(samples, Pass("rows", sample), runtime).weight


def stores(tmp_path) -> dict[str, object]:
    """Return the same weighted rows in memory, in a graph and in a store."""
    dataset = xr.Dataset({"X": (("sample", "feature"), ROWS), "weight": ("sample", WEIGHT)})
    dataset.to_zarr(tmp_path / "rows.zarr", consolidated=False)
    return {"memory": dataset, "lazy": dataset.chunk(sample=7), "store": tmp_path / "rows.zarr"}


def test_totals__are_the_direct_formulas_for_every_source(tmp_path):
    for where, data in stores(tmp_path).items():
        totals = weight_totals(open_samples(data).sources)
        assert totals.rows == 40, where
        assert_allclose(totals.total, WEIGHT.sum(), rtol=1e-14)
        assert_allclose(totals.effective_rows, WEIGHT.sum() ** 2 / (WEIGHT**2).sum(), rtol=1e-14)


@pytest.mark.parametrize("dtype", [str, object])
def test_weights__of_texts_are_refused_with_a_remedy(dtype):
    with pytest.raises(DataError, match=r"one real.*astype\(float\)"):
        open_samples(ROWS, weight=np.array(["1"] * 40, dtype))


def test_weights__of_a_table_are_refused_with_a_remedy():
    with pytest.raises(DataError, match=r"shape \(40, 1\); expected \(40,\).*\['weight'\]"):
        open_samples(ROWS, weight=WEIGHT[:, None])


@pytest.mark.parametrize("unit", [1e-300, 2.0**-60, 1.0, 2.0**60, 1e250])
def test_effective_rows__do_not_depend_on_the_unit(unit):
    totals = weight_totals(open_samples(ROWS, weight=unit * WEIGHT).sources)
    assert_allclose(totals.effective_rows, WEIGHT.sum() ** 2 / (WEIGHT**2).sum(), rtol=1e-13)


def test_totals__leave_out_weights_that_a_pass_refuses():
    weight = WEIGHT.copy()
    weight[:4] = [np.nan, np.inf, -1, 0]
    totals = weight_totals(open_samples(ROWS, weight=weight).sources)
    assert totals.rows == 36
    assert_allclose(totals.total, WEIGHT[4:].sum())


def test_relative_weights__add_up_to_the_effective_rows(tmp_path):
    wanted = WEIGHT * WEIGHT.sum() / (WEIGHT**2).sum()
    for where, data in stores(tmp_path).items():
        samples = with_weight_meaning(open_samples(data), "relative")
        assert_allclose(read_weights(samples), wanted, rtol=1e-13, err_msg=where)
        assert_allclose(samples.effective_rows, wanted.sum(), rtol=1e-13)


def test_relative_weights__have_the_same_bits_in_units_of_a_power_of_two():
    one, other = (
        with_weight_meaning(open_samples(ROWS, weight=unit * WEIGHT), "relative")
        for unit in (1.0, 2.0**-60)
    )
    assert read_weights(one).tobytes() == read_weights(other).tobytes()


def test_equal_relative_weights__are_ones():
    samples = with_weight_meaning(open_samples(ROWS, weight=np.full(40, 1 / 40)), "relative")
    assert_allclose(read_weights(samples), 1, rtol=1e-14)


def test_relative_weights__rows_of_other_data_sets_weigh_one_before_they_are_scaled():
    weighted = xr.Dataset({"X": (("sample", "feature"), ROWS), "weight": ("sample", WEIGHT)})
    samples = with_weight_meaning(open_samples([weighted, weighted[["X"]]]), "relative")
    both = np.concatenate([WEIGHT, np.ones(40)])
    assert_allclose(samples.effective_rows, both.sum() ** 2 / (both**2).sum(), rtol=1e-13)
    shown = np.concatenate(
        [block.weight for block in samples.blocks([(0, 40), (40, 80)], block_rows=16)]
    )
    assert_allclose(shown, both * both.sum() / (both**2).sum(), rtol=1e-13)


def test_counts__stay_as_they_are():
    samples = with_weight_meaning(open_samples(ROWS, weight=WEIGHT), "counts")
    assert (read_weights(samples) == WEIGHT).all()
    assert_allclose(samples.effective_rows, WEIGHT.sum())


def test_counts__that_are_few_are_warned_of():
    with pytest.warns(WeightWarning, match="weights='relative'"):
        with_weight_meaning(open_samples(ROWS, weight=WEIGHT / WEIGHT.sum()), "counts")


@pytest.mark.parametrize("people", [200 * WEIGHT, np.append(np.full(39, 200.0), 215.8)])
def test_counts__of_people_of_a_population_are_warned_of(people):
    with pytest.warns(WeightWarning, match="weights='relative'"):
        with_weight_meaning(open_samples(ROWS, weight=people), "counts")


@pytest.mark.parametrize(
    ("weight", "meaning"),
    [(np.ceil(200 * WEIGHT), "counts"), (WEIGHT, "counts"), (200 * WEIGHT, "relative")],
)
def test_frequencies_and_relative_weights__are_not_warned_of(weight, meaning):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_weight_meaning(open_samples(ROWS, weight=weight), meaning)


@pytest.mark.parametrize(
    ("uneven", "meaning", "is_warned_of"),
    [
        ([400.0, 400.0], "relative", True),
        ([400.5, 400.5], "counts", True),
        # frequencies of patterns are whole, and as uneven as they like
        ([400.0, 400.0], "counts", False),
        ([6.0, 6.0], "relative", False),
    ],
)
def test_uneven_weights__are_warned_of_with_the_effective_rows(uneven, meaning, is_warned_of):
    weight = np.r_[uneven, np.ones(38), np.zeros(4000)]
    samples = open_samples(np.zeros((4040, 2)), weight=weight)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with_weight_meaning(samples, meaning)
    about = [str(one.message) for one in caught if "Kish" in str(one.message)]
    assert bool(about) == is_warned_of
    assert all("40 rows" in text and "2 equal rows" in text for text in about)


def test_uneven_weights__of_a_soft_gate_on_many_rows_are_no_matter():
    weight = np.where(np.arange(20_000) < 1_600, 0.95, 0.001)
    rows = open_samples(np.zeros((20_000, 2)), weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samples = with_weight_meaning(rows, "relative")
    assert 1_000 < samples.effective_rows < 2_000


def test_counts__of_zero_and_one_are_a_mask_and_not_warned_of():
    mask = (np.arange(40) % 4 == 0).astype(float)
    assert with_weight_meaning(open_samples(ROWS, weight=mask), "counts").effective_rows == 10


@pytest.mark.parametrize("meaning", ["counts", "relative"])
def test_weights_of_zero__are_refused_where_there_are_no_others(meaning):
    with pytest.raises(DataError, match="sample weight is zero"):
        with_weight_meaning(open_samples(ROWS, weight=np.zeros(40)), meaning)
