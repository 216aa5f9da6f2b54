import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.moments.covariances import Covariances

COLUMNS = ((0, 3), (3, 7), (7, 9))


def summed(statistic, values, weight=None, step=17):
    state, work = statistic.init(), Workspace()
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        shown = None if weight is None else weight[part]
        statistic.update(state, Block(values[part], {}, start, len(values[part]), shown), work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_covariances__are_those_of_numpy_within_groups(weighted, offset):
    rng = default_rng(0)
    values = rng.normal(size=(60, 9)) @ rng.normal(size=(9, 9)) + offset
    weight = rng.integers(1, 5, 60) if weighted else None
    shown = None if weight is None else weight.astype(float)
    result = summed(Covariances(COLUMNS, np.full(9, offset + 0.5)), values, shown)
    expected = np.zeros((9, 9))
    for start, stop in COLUMNS:
        part = np.cov(values[:, start:stop].T, bias=True, fweights=weight)
        expected[start:stop, start:stop] = part
    np.testing.assert_allclose(
        result.mean, np.average(values, axis=0, weights=weight), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-9, atol=1e-9)
    assert result.weight == (60 if weight is None else weight.sum())


def test_covariances__float32_is_near_float64_far_from_zero():
    values = (default_rng(1).normal(size=(5000, 9)) + 1e3).astype("f4")
    point = values.mean(axis=0, dtype="f8")
    near, exact = (
        summed(Covariances(COLUMNS, point, dtype), values, step=1024).covariance
        for dtype in ("float32", "float64")
    )
    assert np.linalg.norm(near - exact) < 1e-5 * np.linalg.norm(exact)


def test_covariances__weights_of_zero_are_an_error():
    with pytest.raises(DataError, match="covariances need"):
        summed(Covariances(((0, 2),), np.zeros(2)), np.ones((3, 2)), np.zeros(3))


@pytest.mark.parametrize("exponent", [-100, 100])
def test_covariances__in_units_of_powers_of_two_have_the_same_digits_in_float32(exponent):
    rng = default_rng(1)
    values = (rng.normal(size=(60, 9)) + 5).astype(np.float32)
    scale = 2.0**exponent
    plain = summed(Covariances(COLUMNS, np.full(9, 4.5), "float32"), values)
    scales = np.full(9, scale)
    statistic = Covariances(COLUMNS, np.full(9, 4.5 * scale), "float32", scales)
    result = summed(statistic, values * np.float32(scale))
    np.testing.assert_array_equal(result.mean, plain.mean * scale)
    np.testing.assert_array_equal(result.covariance, plain.covariance * scale**2)
