import numpy as np
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.within_reach import Reach, WithinReach

REACH = Reach(
    ((0, 2), (2, 3)), (np.zeros(2), np.ones(1)), (np.array([1.0, 2.0]), np.ones(1)), (3, 4)
)


def test_within_reach__leaves_out_rows_that_are_far_in_a_group():
    values = default_rng(0).normal(size=(500, 3)) * 2
    scaled = np.hypot(values[:, 0], values[:, 1] / 2)
    kept = (scaled <= 3) & (np.abs(values[:, 2] - 1) <= 4)
    assert 0 < kept.sum() < 500
    weight = default_rng(1).random(500)
    inner = Covariances(((0, 3),), np.zeros(3))
    found = sum_in_memory(WithinReach(inner, REACH), Block(values, {}, 0, 500, weight))
    expected = sum_in_memory(inner, Block(values[kept], {}, 0, kept.sum(), weight[kept]))
    assert found.left_out == 500 - kept.sum()
    np.testing.assert_allclose(found.result.covariance, expected.covariance, rtol=1e-12)
    assert found.result.weight == expected.weight


def test_within_reach__rows_of_weight_zero_are_no_outliers():
    values = np.r_[np.zeros((4, 3)), np.full((3, 3), 1e9)]
    weight = np.array([1.0, 2, 0, 1, 0, 0.5, 0])
    inner = Covariances(((0, 3),), np.zeros(3))
    result = sum_in_memory(WithinReach(inner, REACH), Block(values, {}, 0, 7, weight))
    assert result.left_out == 1
    assert not result.result.covariance.any()


def test_within_reach__blocks_without_outliers_are_not_copied():
    values = np.zeros((400, 3))
    statistic = WithinReach(Covariances(((0, 3),), np.zeros(3)), REACH)
    state, work = statistic.init(), Workspace()
    statistic.update(state, Block(values, {}, 0, 400), work)
    assert statistic.finalize(state).left_out == 0
    assert work.nbytes <= statistic.work_nbytes(400)
