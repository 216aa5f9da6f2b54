import numpy as np
import pytest

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.group_map import GroupMap
from bigtensor.features.plain_maps import OneHot, Standardised, find_categories
from bigtensor.statistics.base import Workspace


def features(group, values):
    out = np.full((len(values[0]), group.n_features), np.nan, group.dtype)
    work = Workspace()
    group.evaluate(values, out, work)
    assert work.nbytes <= group.work_nbytes(len(out))
    return out


def one_hot(categories, values, **options):
    return features(GroupMap(("c",), (OneHot(np.array(categories), **options),)), [values])


def test_plain_maps__are_indicators_of_categories_and_values():
    codes, values = np.array([[0.0], [2], [1], [7]]), np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(
        one_hot([0, 1, 2], codes), [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]]
    )
    plain = Standardised(np.zeros(2), np.ones(2))
    np.testing.assert_array_equal(features(GroupMap(("v",), (plain,)), [values]), values)
    table, matrix = np.arange(6.0).reshape(3, 2), np.array([[1.0, 2], [3, 4]])
    both = GroupMap(("c", "v"), (OneHot(np.arange(3.0), table), plain.projected(matrix)))
    expected = np.vstack([table[[0, 2, 1]], np.zeros((1, 2))]) + values @ matrix
    np.testing.assert_array_equal(features(both, [codes, values]), expected)
    np.testing.assert_array_equal(both.masses, [table.sum(0), [0, 0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_one_hot__knows_codes_of_any_dtype(dtype):
    codes = np.array([[3], [200], [5], [3]], dtype)
    expected = [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    found = one_hot([3, 5, 200], codes, dtype="float64")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_one_hot__gives_nothing_to_values_outside_the_categories():
    values = np.array([[4.0], [3.5], [np.nan], [np.inf], [-3]])
    assert not one_hot([3, 5, 200], values).any()


def test_one_hot__mean_products_are_the_joint_table():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 4, 3000), rng.choice([-2, 7, 9], 3000)])
    first, second = (
        one_hot(find_categories(column), column, dtype="float64")
        for column in (rows[:, :1].astype("f8"), rows[:, 1:].astype("f8"))
    )
    table = [[((rows[:, 0] == a) & (rows[:, 1] == b)).mean() for b in (-2, 7, 9)] for a in range(4)]
    np.testing.assert_allclose(first.T @ second / 3000, table, atol=1e-15)
    # the kernel between rows is whether they agree
    agree = (rows[:50, :1] == rows[:50, 0]).astype(float)
    np.testing.assert_array_equal(first[:50] @ first[:50].T, agree)


def test_one_hot__has_all_mass_on_the_categories():
    frequencies = np.array([0.5, 0.3, 0.2])
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    projected = OneHot(np.arange(3.0), basis)
    assert projected.mass @ (basis.T @ frequencies) == pytest.approx(1)


def test_find_categories__are_the_codes_of_the_sample():
    values = np.array([[5], [-2], [5], [11]])
    for dtype in ("f4", "f8", "i2"):
        found = find_categories(values.astype(dtype))
        np.testing.assert_array_equal(found, [-2, 5, 11])
        assert found.dtype == np.float64


def test_find_categories__refuses_what_is_no_category():
    for values, words in [
        (np.zeros((3, 2)), r"one feature of codes.*\(3, 2\).*a view of its own"),
        (np.zeros((0, 1)), r"got a sample of shape \(0, 1\)"),
        (np.array([[0.5], [1]]), r"whole numbers.*between 0.5 and 1; number the categories"),
        (np.array([[0], [np.nan]]), "whole numbers"),
        (np.array([[0], [2**25]]), "whole numbers up to 16777216"),
        (np.arange(1001.0)[:, None], "1001 distinct values in a sample of 1001 rows"),
    ]:
        with pytest.raises(DataError, match=words):
            find_categories(values)


def test_one_hot__refuses_categories_that_do_not_belong_to_its_projection():
    with pytest.raises(ParameterError, match="distinct codes"):
        OneHot(np.array([1.0, 1.0]))
    with pytest.raises(ParameterError, match=r"3 categories .*, got \(2, 2\)"):
        OneHot(np.arange(3.0), np.eye(2))
