"""The density of an embedded view and its draws against the formulas of the kernels."""

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.plain_maps import OneHot
from bigtensor.models.kernel_mixture.embedded_view import EmbeddedView

LENGTHS = np.array([0.25, 30.0])
LANDMARKS = np.array([[0.0, 0.0], [50.0, -6000.0]])
SHARES = np.array([[0.3, 1.0], [0.7, 0.0]])
DRAWS = 20_000

KERNELS = {
    "gaussian": (GaussianKernel(LENGTHS), norm),
    "laplace": (LaplaceKernel(LENGTHS), laplace),
}


def view_of(kernel) -> EmbeddedView:
    """A view of two components: kernels at both landmarks, and at the first alone."""
    features = Nystroem(LANDMARKS, kernel, np.zeros(2), np.eye(2), "float64")
    return EmbeddedView("pair", slice(0, 2), features, SHARES, np.zeros(2), LANDMARKS)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("relative", [False, True])
def test_draw__has_the_distribution_of_the_kernel_at_a_landmark(name, relative):
    kernel, distribution = KERNELS[name]
    view = view_of(kernel.relative_to(LANDMARKS) if relative else kernel)
    drawn = view.draw(1, DRAWS, np.random.default_rng(0))
    for values, length in zip(drawn.T, LENGTHS, strict=True):
        assert kstest(values, distribution(scale=length).cdf).statistic < 0.015


@pytest.mark.parametrize("name", KERNELS)
def test_draw__takes_landmarks_by_their_shares(name):
    drawn = view_of(KERNELS[name][0]).draw(0, DRAWS, np.random.default_rng(0))
    assert np.mean(drawn[:, 0] > 25) == pytest.approx(0.7, abs=0.015)


@pytest.mark.parametrize("name", KERNELS)
def test_density__is_that_of_the_kernels_at_the_landmarks(name):
    kernel, distribution = KERNELS[name]
    points = np.random.default_rng(1).normal(scale=LENGTHS, size=(20, 2))
    each = [
        distribution(loc=landmark, scale=LENGTHS).pdf(points).prod(axis=1) for landmark in LANDMARKS
    ]
    np.testing.assert_allclose(view_of(kernel).density(points), np.transpose(each) @ SHARES)


def test_draw__of_categories_has_no_noise():
    features = OneHot(np.array([0.0, 1.0, 3.0]))
    shares = np.array([[0.5], [0.2], [0.3]])
    view = EmbeddedView("code", slice(0, 1), features, shares, np.zeros(1), np.zeros((1, 1)))
    drawn = view.draw(0, DRAWS, np.random.default_rng(0))
    codes, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(codes, [0, 1, 3])
    np.testing.assert_allclose(counts / DRAWS, shares[:, 0], atol=0.015)
