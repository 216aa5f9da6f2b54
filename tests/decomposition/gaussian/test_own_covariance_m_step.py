"""M step of components with a covariance each, also from sums that float32 rows round."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step


def sums_of(rows, dtype):
    """Return count, sum and second moment of rows, which are computed with the type's digits."""
    rows = rows.astype(dtype)
    second = (rows.T @ rows).astype(np.float64)
    return np.array([float(len(rows))]), rows.sum(axis=0, dtype=np.float64)[None], second[None]


def test_m_step__is_the_covariance_of_the_rows():
    rows = np.random.default_rng(0).normal(size=(30, 3))
    step = m_step(*sums_of(rows, np.float64), 0.1 * np.eye(3))
    assert_allclose(step.means[0], rows.mean(axis=0), atol=1e-12)
    assert_allclose(step.covariances[0], np.cov(rows.T, bias=True) + 0.1 * np.eye(3), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_m_step__of_few_rows_far_out_is_positive_definite_with_float32_sums(seed):
    rows = 30 + np.random.default_rng(seed).normal(size=(2, 4))
    step = m_step(*sums_of(rows, np.float32), 1e-6 * np.eye(4))
    assert np.linalg.eigvalsh(step.covariances[0])[0] > 0.9e-6
    assert_allclose(step.covariances[0], np.cov(rows.T, bias=True), atol=2e-3)


def test_m_step__without_regularisation_does_not_hide_a_collapse():
    rows = np.tile([30.0, 31.1, 28.7], (2, 1))
    step = m_step(*sums_of(rows, np.float32), np.zeros((3, 3)))
    assert np.linalg.eigvalsh(step.covariances[0])[0] < 1e-12
