"""Points of modes, bumps on them, and their exact integrals."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from bigtensor.features.bumps import MOST_NODES, bumps_on, nodes_of
from bigtensor.features.modes import Modes, Nodes, Symbols

NODES = Nodes(-1.5, 0.25, 9, 0.7)


def located(modes, values):
    values = np.asarray(values, float)
    point = np.empty(values.shape, np.int32)
    left, right = np.empty(values.shape), np.empty(values.shape)
    modes.locator().locate(values, values, point, left, right)
    return point, left, right


def function_of_node(node):
    """Return the function that is one at a node and zero at the others."""
    table = np.append(np.eye(NODES.count)[node], [1.0, 0.0])

    def value(x):
        point, left, right = located(Modes((NODES,)), [[x]])
        return left[0, 0] * table[point[0, 0]] + right[0, 0] * table[point[0, 0] + 1]

    return value


@pytest.mark.parametrize("node", [0, 1, 5, 8])
def test_masses_and_moments__are_integrals(node):
    value = function_of_node(node)
    ends = [-np.inf, *NODES.points, np.inf]
    pieces = list(pairwise(ends))
    mass = sum(quad(value, *piece, epsabs=1e-12)[0] for piece in pieces)
    moment = sum(quad(lambda x: x * value(x), *piece, epsabs=1e-12)[0] for piece in pieces)
    assert NODES.masses[node] == pytest.approx(mass, rel=1e-9)
    assert NODES.first_moments[node] == pytest.approx(moment, rel=1e-8, abs=1e-12)


def test_points__are_those_of_every_variable():
    modes = Modes((NODES, Symbols(np.array([1.0, 2, 5]))))
    assert modes.first.tolist() == [0, 10, 15]
    values = [[-1.3, 2], [np.nan, np.nan], [9, 3], [-9, 5], [0.5, 1]]
    point, left, right = located(modes, values)
    assert point.tolist() == [[0, 11], [9, 14], [8, 13], [0, 12], [8, 10]]
    assert left[0, 0] == pytest.approx(0.2)
    assert right[0, 0] == pytest.approx(0.8)
    assert left[2, 0] == pytest.approx((1 + 8.5 / 0.7) ** -4)
    assert left[3, 0] == pytest.approx((1 + 7.5 / 0.7) ** -4)
    assert (left[:, 1] == 1).all()
    assert (right[:, 1] == 0).all()


def test_bumps__integrate_to_one_and_cover_the_sample():
    values = np.random.default_rng(0).normal(size=500)
    nodes = nodes_of(values, (0.2, 0.6), 8)
    tables = bumps_on(nodes, (0.2, 0.6))
    assert tables[:, :-1] @ nodes.masses == pytest.approx(np.ones(len(tables)), rel=1e-12)
    assert (tables[:, -1] == 1).all()
    assert nodes.points[0] < values.min() < values.max() < nodes.points[-1]
    assert nodes.step <= 0.05 + 1e-12


def test_an_outlier__lies_in_a_tail():
    values = np.append(np.random.default_rng(0).normal(size=500), 1e6)
    nodes = nodes_of(values, (0.01,), 8)
    assert nodes.count == MOST_NODES
    assert nodes.points[-1] < 9


def test_symbols__have_one_density_each():
    tables = bumps_on(Symbols(np.array([0.0, 1, 2])), ())
    assert np.array_equal(tables, np.column_stack([np.eye(4), np.ones(4)]))
