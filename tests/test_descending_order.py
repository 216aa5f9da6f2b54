"""Components by descending weight."""

import numpy as np

from bigtensor.descending_order import descending_order, largest_in_place


def test_descending_order__keeps_the_order_of_ties():
    weights = np.array([0.2, 0.3, 0.2, 0.3])
    assert descending_order(weights).tolist() == [1, 3, 0, 2]


def test_largest_in_place__ascends_and_takes_the_first_of_ties():
    assert largest_in_place([3, 1, 4, 3], 2).tolist() == [0, 2]
    assert largest_in_place([3, 1], 5).tolist() == [0, 1]
