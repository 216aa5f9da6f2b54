import numpy as np
import pytest

from bigtensor.report.label_placement import spread_in_box, spread_on_line


def test_spread_on_line__keeps_what_is_apart():
    wanted = np.array([5.0, 0.0, 2.0])
    assert spread_on_line(wanted, 1.0) == pytest.approx(wanted)


def test_spread_on_line__moves_neighbours_to_both_sides_in_their_order():
    placed = spread_on_line(np.array([1.1, 1.0, 8.0, 1.2]), 1.0)
    # three labels around 1.1, at distances of one
    assert placed == pytest.approx([1.1, 0.1, 8.0, 2.1])


def test_spread_in_box__keeps_what_is_apart():
    wanted = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.5]])
    placed = spread_in_box(wanted, np.full((3, 2), 0.3), np.array([3.0, 3.0]))
    np.testing.assert_array_equal(placed, wanted)


def test_spread_in_box__parts_two_labels_along_the_smaller_overlap():
    wanted = np.array([[1.0, 1.0], [1.02, 1.1]])
    placed = spread_in_box(wanted, np.array([[0.4, 0.2]] * 2), np.array([3.0, 3.0]))
    assert placed == pytest.approx(np.array([[1.0, 0.95], [1.02, 1.15]]))


def test_spread_in_box__parts_a_crowd_inside_the_box():
    rng = np.random.default_rng(5)
    wanted = np.vstack([np.full((4, 2), 2.99), rng.normal(1.5, 0.3, (26, 2))])
    sizes = np.array([[0.19, 0.12]] * 30)
    placed = spread_in_box(wanted, sizes, np.array([3.0, 3.0]))
    assert (placed >= sizes / 2 - 1e-12).all()
    assert (placed <= 3.0 - sizes / 2 + 1e-12).all()
    distance = np.abs(placed[:, None] - placed)
    covered = (distance < 0.99 * sizes[0]).all(axis=2)
    assert not covered[~np.eye(30, dtype=bool)].any()


def test_spread_in_box__parts_a_stack_that_is_higher_than_the_box():
    wanted = np.random.default_rng(0).normal([1.0, 1.2], 0.05, (24, 2))
    sizes = np.array([[0.45, 0.12]] * 24)  # 2.9 in one stack, and the box is 2.4 high
    placed = spread_in_box(wanted, sizes, np.array([4.4, 2.4]))
    distance = np.abs(placed[:, None] - placed)
    covered = (distance < 0.98 * sizes[0]).all(axis=2)
    assert not covered[~np.eye(24, dtype=bool)].any()


def test_spread_in_box__covers_no_obstacle():
    points = np.random.default_rng(1).uniform(1, 2, (12, 2))
    sizes = np.array([[0.4, 0.12]] * 12)
    placed = spread_in_box(points, sizes, np.array([3.0, 3.0]), points, 0.09)
    distance = np.abs(placed[:, None] - points)
    assert not (distance < 0.98 * (sizes[0] + 0.09) / 2).all(axis=2).any()
