import numpy as np
import pytest

from bigtensor.decomposition.solution import Outcome, ordered_decomposition


@pytest.mark.parametrize("outcome", list(Outcome))
def test_outcome__advises_whenever_something_is_wrong(outcome):
    assert bool(outcome.advice) == (outcome is not Outcome.CONVERGED)


def test_ordered_decomposition__flips_signs_and_sorts_without_changing_the_tensor():
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    values = np.array([1.0, -3.0, 2.0])
    tensor = np.einsum("h,ih,jh,kh->ijk", values, vectors, vectors, vectors)
    found = ordered_decomposition(tensor, values, vectors, iterations=4, converged=True)
    np.testing.assert_array_equal(found.eigenvalues, [3.0, 2.0, 1.0])
    np.testing.assert_allclose(found.vectors, np.stack([-vectors[:, 1], *vectors.T[[2, 0]]], 1))
    assert found.diagnostics["negative_eigenvalues"] == 1
    assert found.diagnostics["iterations"] == 4
    assert found.diagnostics["residual"] < 1e-14
