import numpy as np
import pytest

from bigtensor.decomposition.multiview.alternating_least_squares import (
    alternating_least_squares,
    residual_norm,
)
from bigtensor.errors import ParameterError


def random_tensor(seed=0, sizes=(4, 5, 6), rank=3):
    random = np.random.default_rng(seed)
    factors = [random.standard_normal((size, rank)) for size in sizes]
    factors = [factor / np.linalg.norm(factor, axis=0) for factor in factors]
    weights = random.uniform(1.0, 3.0, rank)
    return np.einsum("h,ih,jh,kh->ijk", weights, *factors), weights, factors


def terms(weights, factors):
    return np.einsum("h,ih,jh,kh->hijk", weights, *factors)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.quick_cases("1", "4")
def test_alternating_least_squares__recovers_an_exact_decomposition_from_nearby(seed):
    tensor, weights, factors = random_tensor(seed)
    random = np.random.default_rng(100 + seed)
    start = [factor + 0.05 * random.standard_normal(factor.shape) for factor in factors]
    found = alternating_least_squares(tensor, weights, start, tolerance=0.0, max_sweeps=2000)
    np.testing.assert_allclose(
        terms(found.weights, found.factors), terms(weights, factors), atol=1e-9
    )
    assert (found.weights > 0).all()
    for factor in found.factors:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1.0)


def test_alternating_least_squares__leaves_an_exact_decomposition_alone():
    tensor, weights, factors = random_tensor(7)
    found = alternating_least_squares(tensor, weights, factors)
    np.testing.assert_allclose(
        terms(found.weights, found.factors), terms(weights, factors), atol=1e-12
    )
    assert found.diagnostics["iterations"] == 1
    assert found.diagnostics["converged"]


def test_alternating_least_squares__residual_never_grows():
    tensor, weights, factors = random_tensor(3)
    tensor = tensor + 0.2 * np.random.default_rng(1).standard_normal(tensor.shape)
    residuals = [residual_norm(tensor, weights, factors) / np.linalg.norm(tensor)]
    for sweeps in range(1, 8):
        found = alternating_least_squares(
            tensor, weights, factors, max_sweeps=sweeps, tolerance=0.0
        )
        residuals.append(found.diagnostics["residual"])
    assert (np.diff(residuals) <= 1e-14).all()
    assert residuals[-1] < 0.9 * residuals[0]


def test_alternating_least_squares__reports_that_it_did_not_settle():
    tensor, weights, factors = random_tensor(3)
    random = np.random.default_rng(2)
    found = alternating_least_squares(
        tensor, weights, [random.standard_normal(factor.shape) for factor in factors], max_sweeps=2
    )
    assert not found.diagnostics["converged"]
    assert found.diagnostics["iterations"] == 2


def test_alternating_least_squares__collinear_start_stays_finite():
    tensor, weights, factors = random_tensor(5)
    start = [np.repeat(factor[:, :1], 3, axis=1) for factor in factors]
    found = alternating_least_squares(tensor, weights, start)
    assert all(np.isfinite(factor).all() for factor in found.factors)
    assert found.diagnostics["residual"] < 1.0


def test_residual_norm__agrees_with_the_full_tensor():
    tensor, weights, factors = random_tensor(6)
    noisy = tensor + np.random.default_rng(0).standard_normal(tensor.shape)
    assert residual_norm(noisy, weights, factors) == pytest.approx(np.linalg.norm(noisy - tensor))


def test_alternating_least_squares__shapes_that_do_not_fit_are_refused():
    tensor, weights, factors = random_tensor()
    with pytest.raises(ParameterError, match=r"shapes .*\(5, 3\).*got .*\(6, 3\)"):
        alternating_least_squares(tensor, weights, [factors[0], factors[2], factors[1]])
