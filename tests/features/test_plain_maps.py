import numpy as np

from bigtensor.features.group_map import GroupMap
from bigtensor.features.plain_maps import Identity, OneHot
from bigtensor.statistics.base import Workspace


def features(group, values):
    out = np.full((len(values[0]), group.n_features), np.nan, group.dtype)
    group.evaluate(values, out, Workspace())
    return out


def test_plain_maps__are_indicators_of_categories_and_values():
    codes, values = np.array([[0.0], [2], [1], [7]]), np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(
        features(GroupMap(("c",), (OneHot(3),)), [codes]),
        [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
    )
    np.testing.assert_array_equal(features(GroupMap(("v",), (Identity(2),)), [values]), values)
    table, matrix = np.arange(6.0).reshape(3, 2), np.array([[1.0, 2], [3, 4]])
    both = GroupMap(("c", "v"), (OneHot(3, table), Identity(2, matrix)))
    expected = np.vstack([table[[0, 2, 1]], np.zeros((1, 2))]) + values @ matrix
    np.testing.assert_array_equal(features(both, [codes, values]), expected)
    np.testing.assert_array_equal(both.masses, [table.sum(0), [0, 0]])
