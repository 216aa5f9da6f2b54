"""npEM against sums over all rows, and where its bandwidth matters."""

import numpy as np
import pytest
from scipy import stats

from bigtensor.data.simulate import kernel_mixture, labelled_kernel_density
from tests.benchmarks.accuracy.truth import Truth
from tests.benchmarks.baselines.npem import BinnedView, npem_densities, silverman_widths

pytestmark = pytest.mark.benchmark


def kernel_density(column, weights, width, points):
    """The density that bins stand for, one kernel a row."""
    kernels = stats.norm.pdf(points[:, None], column, width)
    return kernels @ weights / weights.sum(axis=0)


def iterated(values, posterior, widths, iterations):
    """The algorithm of the paper with sums over all rows; one width for every view."""
    for _ in range(iterations):
        at_rows = [
            kernel_density(column, posterior, width, column)
            for column, width in zip(values.T, widths, strict=True)
        ]
        posterior = posterior.mean(axis=0) * np.prod(at_rows, axis=0)
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def test_binned_view__is_the_weighted_kernel_density():
    rng = np.random.default_rng(0)
    column, weights = rng.gamma(2.0, size=300), rng.random((300, 2))
    widths = np.array([0.1, 0.4])
    view = BinnedView.of(column)
    density = view.smoothed(view.counts(weights), widths)
    exact = np.stack(
        [kernel_density(column, weights[:, h], widths[h], view.points) for h in range(2)], 1
    )
    np.testing.assert_allclose(density, exact, atol=1e-3 * exact.max())
    at_rows = kernel_density(column, weights[:, 0], widths[0], column)
    np.testing.assert_allclose(view.at_rows(density)[:, 0], at_rows, atol=1e-3 * exact.max())


def test_silverman_widths__are_those_of_repeated_rows():
    rng = np.random.default_rng(1)
    column, times = rng.normal(3.0, 2.0, 2000), rng.integers(0, 4, 2000)
    view = BinnedView.of(column)
    (width,) = silverman_widths(view.points, view.counts(times[:, None].astype(float)))
    repeated = np.repeat(column, times)
    low, high = np.percentile(repeated, [25, 75])
    rule = 0.9 * min(repeated.std(), (high - low) / 1.34) * len(repeated) ** -0.2
    assert width == pytest.approx(rule, rel=2e-3)


def test_npem__pooled_is_the_algorithm_of_the_paper():
    truth = Truth.of(kernel_mixture(400, 2, separation=4.0, random_state=2))
    values, label = truth.values, truth.data["label"].to_numpy()
    quartiles = np.percentile(values, [25, 75], axis=0)
    spread = np.minimum(values.std(axis=0), (quartiles[1] - quartiles[0]) / 1.34)
    widths = 0.9 * spread * len(values) ** -0.2
    # from the true labels: where k-means starts is forgotten by then
    posterior = iterated(values, np.eye(2)[label], widths, 30)
    exact = [
        kernel_density(column, posterior, width, grid)
        for column, width, grid in zip(values.T, widths, truth.grids, strict=True)
    ]
    estimated = truth.in_true_order(npem_densities(values, 2, truth.grids, "pooled"))
    for one, other in zip(estimated, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=3e-3 * other.max())


@pytest.mark.slow  # two long fits
def test_npem__own_widths_reach_the_density_that_knows_the_labels_and_the_pooled_one_does_not():
    truth = Truth.of(kernel_mixture(5000, 4, random_state=4))
    label = truth.data["label"].to_numpy()
    labelled = truth.error(
        [
            labelled_kernel_density(truth.values[:, view], label, 4, grid)
            for view, grid in enumerate(truth.grids)
        ]
    )
    own, pooled = (
        truth.error(npem_densities(truth.values, 4, truth.grids, width))
        for width in ("component", "pooled")
    )
    assert own == pytest.approx(labelled, rel=0.05)
    assert pooled > 1.5 * labelled
