import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import softmax

from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.conditional_means import ConditionalMeans
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    K,
    expected_log_joint,
    rows,
)

MEANS = default_rng(6).normal(size=(K, 4))


def evaluate(function, block, work):
    (output,) = function.outputs
    found = np.full((block.rows, *output.dims.values()), output.fill, output.dtype)
    function.evaluate(block, {output.name: found}, work)
    assert work.nbytes <= function.work_nbytes(block.rows)
    return found


@pytest.mark.parametrize("name", ["tables", "embedded", "both"])
@pytest.mark.parametrize("n", [0, 1, 9001])
@pytest.mark.parametrize("m", [1, 4])
def test_conditional_means__are_the_plain_formula(name, n, m):
    mixture, block = MIXTURES[name], rows(n)
    found = evaluate(ConditionalMeans(mixture, MEANS[:, :m]), block, Workspace())
    posterior = softmax(expected_log_joint(mixture, block.values), axis=0)
    assert found.shape == (n, m)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, posterior.T @ MEANS[:, :m], atol=1e-9)


def test_conditional_means__in_float32_keep_the_digits_of_the_means():
    found = evaluate(ConditionalMeans(FLOAT32["tables"], 1e6 + MEANS), rows(3000), Workspace())
    posterior = softmax(expected_log_joint(FLOAT32["tables"], rows(3000).values), axis=0)
    # posterior probabilities are rounded, and no longer sum to one in every digit
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, posterior.T @ (1e6 + MEANS), rtol=1e-6)


def test_conditional_means__of_equal_components_are_theirs_everywhere():
    means = np.tile([3.0, -7.0], (K, 1))
    found = evaluate(ConditionalMeans(MIXTURES["both"], means), rows(500), Workspace())
    np.testing.assert_allclose(found, np.tile([3.0, -7.0], (500, 1)), rtol=1e-12)


def test_conditional_means__a_block_after_a_longer_one_is_not_disturbed_by_it():
    function, work = ConditionalMeans(MIXTURES["both"], MEANS), Workspace()
    function.evaluate(rows(9000, seed=1), {"expectation": np.empty((9000, 4))}, work)
    short, found = rows(40, seed=2), np.empty((40, 4))
    function.evaluate(short, {"expectation": found}, work)
    np.testing.assert_array_equal(found, evaluate(function, short, Workspace()))


def test_conditional_means__say_what_they_return_and_what_dropped_rows_receive():
    (output,) = ConditionalMeans(MIXTURES["both"], MEANS).outputs
    assert (output.name, output.dtype, output.dims) == ("expectation", "float64", {"value": 4})
    assert np.isnan(output.fill)
