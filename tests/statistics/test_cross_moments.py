import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.cross_moments import CrossMoments

SLICES = {"a": slice(0, 3), "b": slice(3, 7), "c": slice(7, 9)}


def summed(statistic, values, weight=None, step=17):
    state, work = statistic.init(), Workspace()
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        shown = None if weight is None else weight[part]
        block = Block(values[part], SLICES, start, len(values[part]), shown)
        statistic.update(state, block, work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


def about(references):
    return tuple(references[part] for part in SLICES.values())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_moments__are_those_of_numpy(weighted, offset):
    rng = default_rng(0)
    values = rng.normal(size=(60, 9)) @ rng.normal(size=(9, 9)) + offset
    weight = rng.integers(1, 5, 60) if weighted else None
    statistic = CrossMoments(tuple(SLICES), about(np.full(9, offset + 0.5)), within=True)
    result = summed(statistic, values, None if weight is None else weight.astype(float))
    covariance = np.cov(values.T, bias=True, fweights=weight)
    raw = covariance + np.outer(*[np.average(values, axis=0, weights=weight)] * 2)
    for u, rows in SLICES.items():
        expected = np.average(values[:, rows], axis=0, weights=weight)
        np.testing.assert_allclose(result.means[u], expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            result.variances(u), np.diag(covariance)[rows], rtol=1e-9, atol=1e-9
        )
        for v, columns in SLICES.items():
            np.testing.assert_allclose(
                result.covariance(u, v), covariance[rows, columns], rtol=1e-9, atol=1e-9
            )
            np.testing.assert_allclose(result.raw_second(u, v), raw[rows, columns], rtol=1e-9)
    assert (result.weight, result.rows) == (60 if weight is None else weight.sum(), 60)


def test_moments__float32_is_near_float64_far_from_zero():
    values = (default_rng(1).normal(size=(5000, 9)) + 1e3).astype("f4")
    references = about(values.mean(axis=0, dtype="f8"))
    near, exact = (
        summed(CrossMoments(tuple(SLICES), references, True, dtype), values, step=1024)
        for dtype in ("float32", "float64")
    )
    for u in SLICES:
        error = np.linalg.norm(near.covariance(u, u) - exact.covariance(u, u))
        assert error < 1e-5 * np.linalg.norm(exact.covariance(u, u))


def test_moments__within_views_are_summed_on_request():
    result = summed(CrossMoments(tuple(SLICES), about(np.zeros(9))), np.ones((3, 9)))
    assert set(result.seconds) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_moments__errors_say_what_was_given():
    with pytest.raises(ParameterError, match="got 2 views and 1 references"):
        CrossMoments(("a", "b"), (np.zeros(3),))
    with pytest.raises(ParameterError, match="may come once, got a, a"):
        CrossMoments(("a", "a"), (np.zeros(3), np.zeros(3)))
    with pytest.raises(DataError, match="total weight of 0"):
        summed(CrossMoments(("a",), (np.zeros(3),)), np.ones((2, 9)), np.zeros(2))
