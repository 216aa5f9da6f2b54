import numpy as np
import pytest
from scipy.special import expit, logit

from bigtensor.abundance.sample_weights import SampleWeights, weights_of_counts
from bigtensor.abundance.working_logits import least_cells, pooled_logits, working_logits

NAMES = [str(number) for number in range(20_000)]


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.004, 0.05, 0.5, 0.98])
def test_working_logits__are_unbiased_with_their_variances(share):
    """Of 1,000 cells; counts of less than four are far from normal."""
    cells = np.random.default_rng(0).binomial(1000, share, len(NAMES))
    weights = weights_of_counts(np.column_stack([cells, 1000 - cells]), NAMES, ["a", "b"])
    fitted = np.tile(logit([[share], [1 - share]]), len(NAMES))
    response, variance = working_logits(weights, fitted, np.full(len(NAMES), 1e-9))
    error = response[0].std() / np.sqrt(len(NAMES))
    assert abs(response[0].mean() - logit(share)) < 5 * error
    assert response[0].var() == pytest.approx(variance[0, 0], rel=0.05)
    np.testing.assert_allclose(response[1], -response[0], atol=1e-9)


def test_working_logits__of_uncertain_weights_have_the_variance_of_their_errors():
    rng = np.random.default_rng(1)
    error = 0.004
    weight = 0.1 + error * rng.standard_normal((len(NAMES), 1))
    weights = SampleWeights(
        tuple(NAMES), ("a",), weight, np.full_like(weight, error), np.full(len(NAMES), 50_000)
    )
    response, variance = working_logits(
        weights, np.full((1, len(NAMES)), logit(0.1)), np.full(len(NAMES), 1e-9)
    )
    assert response.mean() == pytest.approx(logit(0.1), abs=0.01)
    assert response.var() == pytest.approx(variance.mean(), rel=0.05)
    assert variance.mean() == pytest.approx((error / 0.09) ** 2, rel=0.05)


def test_pooled_logits__are_those_of_all_rows():
    weights = weights_of_counts([[10, 90], [300, 600]], ["s", "t"], ["a", "b"])
    np.testing.assert_allclose(expit(pooled_logits(weights)), [0.31, 0.69], atol=1e-3)


def test_least_cells__are_half_a_cell_in_all_samples_of_a_group():
    rows = np.array([100, 900, 50_000, 0, 30_000])
    weights = weights_of_counts(np.column_stack([rows, np.full(5, 1)]), NAMES[:5], ["a", "b"])
    group = np.array([0, 0, 1, 1, 1])
    matrix = np.column_stack([np.ones(5), group])
    cells = np.bincount(group, weights.rows)
    np.testing.assert_allclose(least_cells(weights, matrix), 0.5 * weights.rows / cells[group])
