"""Rows in another order: the same fit, on real data whose components are hard to tell apart."""

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from bigtensor import (
    ICA,
    GaussianMixture,
    KernelICA,
    KernelMixture,
    LinearMixture,
    SparseICA,
    TensorTrainDensity,
)
from bigtensor.errors import BigtensorWarning
from bigtensor.features.row_order import content_order_of_rows
from tests.parameters import first_quick

SETS = {
    "wine": load_wine,
    "iris": load_iris,
    "diabetes": load_diabetes,
    "cancer": load_breast_cancer,
}


def fitted(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        return model.fit(rows)


@pytest.mark.parametrize("seed", first_quick((0, 1)))
@pytest.mark.parametrize("name", first_quick(SETS))
@pytest.mark.parametrize(
    "make",
    [
        lambda: GaussianMixture("auto"),
        lambda: GaussianMixture(3, covariance_type="diag"),
        lambda: KernelMixture(),
        lambda: KernelMixture(3),
    ],
    ids=["Gaussian auto", "Gaussian diag", "kernel auto", "kernel"],
)
@pytest.mark.quick_cases("Gaussian diag-wine-0", "kernel-wine-0")
def test_mixtures(name, make, seed):
    rows = SETS[name]().data
    labels = fitted(make(), rows).predict(rows)
    moved = rows[np.random.default_rng(seed).permutation(len(rows))]
    # sums in another order may end at another row that lies between two components
    assert adjusted_rand_score(labels, fitted(make(), moved).predict(rows)) > 0.98


@pytest.mark.parametrize("name", first_quick(SETS))
@pytest.mark.parametrize("type_of_covariance", ["tied", "diag", None])
@pytest.mark.quick_cases("tied-wine", "diag-wine")
def test_mixtures__of_float32(name, type_of_covariance):
    rows = SETS[name]().data
    # of 442 and 569 rows, a few lie between components
    least = 0.99 if len(rows) < 400 else 0.97
    labels, rounded = (
        fitted(
            GaussianMixture(3, covariance_type=type_of_covariance)
            if type_of_covariance
            else KernelMixture(),
            values,
        ).predict(rows)
        for values in (rows, rows.astype(np.float32))
    )
    assert adjusted_rand_score(labels, rounded) > least


def test_float32__of_positions_on_a_grid():
    # their third moments are zero, and rounding gives them a sign
    rng = np.random.default_rng(0)
    row, column = np.divmod(np.arange(736), 32)
    measured = rng.normal(size=(736, 2)) + (row > 11)[:, None]
    rows = np.column_stack([0.1 * row, 0.7 * column, measured])
    rounded = rows.astype(np.float32)
    np.testing.assert_array_equal(content_order_of_rows(rows), content_order_of_rows(rounded))


SMALLEST_FIRST = sorted(SETS, key=lambda name: SETS[name]().data.shape[1])
"""The time of a density grows with the features."""


@cache
def densities(name):
    """Return the log-densities of the rows of a set, and its rows."""
    rows = SETS[name]().data
    return fitted(TensorTrainDensity(), rows).score_samples(rows), rows


@pytest.mark.parametrize("name", first_quick(SMALLEST_FIRST))
@pytest.mark.slow  # float64 is quick
def test_density__of_float32(name):
    expected, rows = densities(name)
    rounded = fitted(TensorTrainDensity(), rows.astype(np.float32)).score_samples(rows)
    assert_allclose(rounded, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", first_quick(SMALLEST_FIRST))
@pytest.mark.slow  # a law on every model
def test_density(name):
    expected, rows = densities(name)
    moved = rows[np.random.default_rng(0).permutation(len(rows))]
    assert_allclose(fitted(TensorTrainDensity(), moved).score_samples(rows), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ICA(3, method="cumulant"),
        lambda: SparseICA(3),
        lambda: KernelICA(3),
    ],
    ids=["ICA", "sparse", "kernel"],
)
def test_sources(make):
    rows = load_breast_cancer().data
    expected = fitted(make(), rows).transform(rows)
    moved = rows[np.random.default_rng(0).permutation(len(rows))]
    found = fitted(make(), moved).transform(rows)
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow  # a law on every model
def test_linear_mixture():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(6, 12))
    rows = means[rng.integers(6, size=1_500)] + 0.5 * rng.normal(size=(1_500, 12))
    views = {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7], "c": [8, 9, 10, 11]}
    labels = fitted(LinearMixture(6, views=views), rows).predict(rows)
    moved = fitted(LinearMixture(6, views=views), rng.permutation(rows))
    assert adjusted_rand_score(labels, moved.predict(rows)) > 0.99


@pytest.mark.slow  # permuted rows are quick
def test_density__of_rows_that_are_sorted():
    # the first rows of a sample decide the order of the variables
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8_000, 4)) @ rng.normal(size=(4, 4))
    rows = rows[np.argsort(rows[:, 0])]
    shuffled = rng.permutation(rows)
    one, other = (
        fitted(TensorTrainDensity(2, coordinates="z"), some).score_samples(rows)
        for some in (rows, shuffled)
    )
    assert_allclose(one, other, rtol=1e-9)


def ordered(rows, weight=None, categorical=()):
    return rows[content_order_of_rows(rows, weight, categorical)]


def test_order__is_that_of_the_content():
    rng = np.random.default_rng(0)
    rows = np.round(rng.exponential(size=(300, 5)), 1)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, 300).astype(float)
    repeated = np.repeat(rows, weight.astype(int), axis=0).astype(np.float32)
    weighted = content_order_of_rows(rows.astype(np.float32), weight)
    np.testing.assert_array_equal(
        ordered(rng.permutation(repeated)),
        np.repeat(rows[weighted], weight[weighted].astype(int), axis=0).astype(np.float32),
    )
    expected = ordered(rows)
    np.testing.assert_array_equal(ordered(rng.permutation(rows)), expected)
    for columns in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        np.testing.assert_array_equal(ordered(rows[:, columns]), expected[:, columns])
    # a power of two and a sign keep the digits
    np.testing.assert_array_equal(ordered(-4 * rows), -4 * expected)
    assert abs(np.corrcoef(np.arange(300), np.nan_to_num(expected[:, 0]))[0, 1]) < 0.2


def test_order__of_categories_does_not_follow_their_codes():
    rng = np.random.default_rng(0)
    codes = (rng.random((400, 3)) ** 2 * 4).astype(int)
    rows = np.column_stack([np.round(rng.normal(size=400), 1), codes])
    expected = ordered(rows, categorical=(1, 2, 3))
    other = np.array([2**30, 7, 3, 5])
    recoded = np.column_stack([rows[:, 0], other[codes]])
    found = ordered(rng.permutation(recoded), categorical=(1, 2, 3))
    np.testing.assert_array_equal(
        found, np.column_stack([expected[:, 0], other[expected[:, 1:].astype(int)]])
    )


def test_order__of_weights_that_are_counts_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(200, 3)), rng.integers(1, 4, 200)
    weighted = content_order_of_rows(rows, counts.astype(float))
    repeated = ordered(rng.permutation(np.repeat(rows, counts, axis=0)))
    np.testing.assert_array_equal(np.repeat(rows[weighted], counts[weighted], axis=0), repeated)
