"""The order of categories by content follows the rows, and neither names nor codes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.features.category_order import category_places, recoded, sequence_places


@given(st.integers(0, 1000))
def test_recoded_rows__are_the_same_for_any_codes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 5, (80, 3))
    weight = rng.uniform(0.1, 3.0, 80)
    turned = np.stack([np.append(rng.permutation(5), -1)[column] for column in codes.T], axis=1)
    expected = recoded(codes, category_places(codes, (5, 5, 5), weight))
    actual = recoded(turned, category_places(turned, (5, 5, 5), weight))
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(actual == -1, codes == -1)


def test_most_frequent_category__comes_first() -> None:
    codes = np.array([[2, 0], [2, 1], [0, 1], [-1, 1]])
    first, second = category_places(codes, (3, 2), np.ones(4))
    assert first.tolist() == [1, 2, 0]
    assert second.tolist() == [1, 0]


def test_equally_frequent_categories__differ_in_the_other_columns() -> None:
    codes = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    weight = np.ones(4)
    turned = np.stack([1 - codes[:, 0], codes[:, 1]], axis=1)
    expected = recoded(codes, category_places(codes, (2, 2), weight))
    np.testing.assert_array_equal(
        recoded(turned, category_places(turned, (2, 2), weight)), expected
    )


def test_windows_of_equally_frequent_codes__are_told_apart_by_their_neighbours() -> None:
    windows = np.array([[2, 0, 0], [0, 0, 2], [2, 1, 2], [0, 1, 2], [1, 2, 2]])
    weight = np.ones(5)
    swapped = np.array([1, 0, 2])
    places = sequence_places(windows, 3, weight)
    np.testing.assert_array_equal(sequence_places(swapped[windows], 3, weight)[swapped], places)
