import numpy as np
import pytest

from bigtensor.decomposition.multiview.regression import regress_embeddings
from bigtensor.errors import ParameterError


@pytest.fixture
def mixture():
    random = np.random.default_rng(1)
    base = [random.standard_normal((size, 3)) for size in (3, 5, 4)]
    view, weights = random.standard_normal((6, 3)), np.array([0.5, 0.3, 0.2])
    moments = [np.einsum("h,ih,jh->ij", weights, view, mean) for mean in base]
    return base, view, weights, moments


def test_regress_embeddings__recovers_the_view_in_the_population(mixture):
    base, view, weights, moments = mixture
    np.testing.assert_allclose(regress_embeddings(base, weights, moments), view, atol=1e-10)


def test_regress_embeddings__groups_complete_each_other(mixture):
    _, view, weights, _ = mixture
    random = np.random.default_rng(2)
    # no group alone tells the three components apart
    base = [random.standard_normal((1, 3)) for _ in range(3)]
    moments = [np.einsum("h,ih,jh->ij", weights, view, mean) for mean in base]
    np.testing.assert_allclose(regress_embeddings(base, weights, moments), view, atol=1e-9)


def test_regress_embeddings__is_the_least_squares_solution_on_a_sample(mixture):
    base, _, weights, moments = mixture
    random = np.random.default_rng(3)
    noisy = [moment + 0.01 * random.standard_normal(moment.shape) for moment in moments]
    found = regress_embeddings(base, weights, noisy)
    # The formula with a pseudo-inverse.
    stacked = np.vstack(base)
    expected = np.hstack(noisy) @ np.linalg.pinv(stacked.T) / weights
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_regress_embeddings__contradicting_shapes_are_refused(mixture):
    base, _, weights, moments = mixture
    with pytest.raises(ParameterError, match=r"cross moments \[\(6, 3\), \(6, 5\)\]"):
        regress_embeddings(base, weights, moments[:2])
    with pytest.raises(ParameterError, match=r"2 positive .*base embeddings \(q_v, 2\)"):
        regress_embeddings(base, weights[:2], moments)
    with pytest.raises(ParameterError, match="weights of at least 0"):
        regress_embeddings(base, np.array([0.6, 0.4, 0.0]), moments)
