import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from bigtensor.features.local_density import log_density, sparse_row_weights

WEIGHTS = np.array([0.9, 0.09, 0.01])


def populations(rows=8000, seed=0):
    """Return rows of three populations of unequal size, their labels and their log density."""
    rng = np.random.default_rng(seed)
    means, scales = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 8]]), np.array([1.0, 0.5, 1.0])
    label = rng.choice(3, rows, p=WEIGHTS)
    values = means[label] + scales[label, None] * rng.normal(size=(rows, 3))
    density = sum(
        weight * multivariate_normal(mean, scale**2).pdf(values)
        for weight, mean, scale in zip(WEIGHTS, means, scales, strict=True)
    )
    return values, label, np.log(density)


@pytest.mark.parametrize("rows", [400, 8000, 30_000])
@pytest.mark.quick_cases("400", "8000")
def test_log_density__ranks_rows_like_the_true_one(rows):
    values, _, truth = populations(rows)
    found = log_density(values, np.ones(rows), 0)
    assert spearmanr(found, truth).statistic > 0.85


def test_log_density__of_one_cluster_is_that_of_a_normal():
    rows = np.random.default_rng(0).normal(size=(60, 2)) * [1, 5]
    found = log_density(rows, np.ones(60), 0)
    # the variance of the one cluster, and the common one that is added to it
    expected = multivariate_normal(rows.mean(axis=0), np.diag(1.3 * rows.var(axis=0))).logpdf(rows)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-8)


def test_log_density__of_equal_rows_is_finite():
    assert np.isfinite(log_density(np.ones((500, 2)), np.ones(500), 0)).all()


def test_sparse_row_weights__are_larger_for_rare_populations():
    values, label, _ = populations()
    weights = sparse_row_weights(values, None, 0)
    means = [weights[label == h].mean() for h in range(3)]
    assert means[2] > 3 * means[0]
    assert weights.sum() == pytest.approx(len(values))
    # a handful of outliers does not outweigh the rest
    values[:5] += 1e6
    assert sparse_row_weights(values, None, 0)[:5].sum() < 0.05 * len(values)


def test_sparse_row_weights__depend_on_ranks_alone():
    values = populations(2000)[0]
    weights = np.sort(sparse_row_weights(values, None, 0))
    expected = (np.arange(2000, 0, -1) / 2000) ** -0.4
    np.testing.assert_allclose(weights, expected * 2000 / expected.sum())
    scaled = np.sort(sparse_row_weights(values * 2.0**40, None, 0))
    np.testing.assert_allclose(scaled, weights)


def test_sparse_row_weights__are_multiples_of_given_weights():
    values = populations(2000)[0]
    given = np.random.default_rng(1).uniform(0.5, 2, 2000)
    weights = sparse_row_weights(values, given, 0)
    assert weights.sum() == pytest.approx(given.sum())
    assert (np.diff((weights / given)[np.argsort(log_density(values, given, 0))]) <= 0).all()
