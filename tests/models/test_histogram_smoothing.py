"""Smoothing of histograms: what a direct convolution gives, at a cost that widths do not change."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.ndimage import convolve1d

from bigtensor.models.kernel_mixture.embedded_view import DENSITY_FLOOR
from bigtensor.models.kernel_mixture.histogram_densities import (
    KERNEL_REACH,
    histogram_bandwidths,
    smooth_histograms,
)

ROUND_OFF = 1e-12
"""Largest difference from a direct convolution, relative to the maximum of a density."""


def directly(counts, width):
    """The definition: one histogram, convolved with a Gaussian that is cut off."""
    reach = int(KERNEL_REACH * width + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smoothed = convolve1d(counts, kernel, mode="constant")
    return smoothed / smoothed.sum()


def histograms(bins, kind):
    rng = default_rng(bins)
    if kind == "spikes":
        # all mass at single points: the largest round-off beside broad densities
        counts = np.zeros((bins + 1, 3))
        counts[[0, bins // 2, bins], [0, 1, 2]] = 1e6
        return counts
    centres = np.array([0.1, 0.5, 0.9]) * bins
    rows = rng.normal(centres, [bins / 300, bins / 20, bins / 5], (4000, 3))
    counts = [
        np.bincount(np.clip(column, 0, bins).astype(int), minlength=bins + 1) for column in rows.T
    ]
    return np.stack(counts, axis=1).astype(float)


@pytest.mark.parametrize("kind", ["rows", "spikes"])
@pytest.mark.parametrize("bins", [16, 512, 2048])
@pytest.mark.parametrize("least", [0.0, 3.0, 0.2, 1.0, 4.0])
def test_smooth_histograms__equals_a_direct_convolution(bins, kind, least):
    counts = histograms(bins, kind)
    least = np.array([least if least == 3.0 else least * bins])
    widths = np.maximum(histogram_bandwidths(counts[None], np.ones(1)), least)
    densities = smooth_histograms(counts[None], np.ones(1), widths)
    for component, width in enumerate(widths[0]):
        wanted = directly(counts[:, component], width)
        found = densities[0, :, component]
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, rel=1e-12)
        assert np.abs(found - wanted).max() <= ROUND_OFF * wanted.max()
    assert ROUND_OFF < 1e-3 * DENSITY_FLOOR


def test_smooth_histograms__of_a_component_are_the_same_bits_beside_others():
    counts = np.stack([histograms(512, "rows"), histograms(512, "spikes")])
    step = np.array([0.5, 2.0])
    widths = histogram_bandwidths(counts, step)
    together = smooth_histograms(counts, step, widths)
    for component in range(3):
        own = histogram_bandwidths(counts[..., [component]], step)
        np.testing.assert_array_equal(own[:, 0], widths[:, component])
        alone = smooth_histograms(counts[..., [component]], step, own)
        np.testing.assert_array_equal(alone[..., 0], together[..., component])


def test_smooth_histograms__of_an_empty_component_are_zero():
    counts = histograms(512, "rows")
    counts[:, 1] = 0
    widths = histogram_bandwidths(counts[None], np.ones(1))
    densities = smooth_histograms(counts[None], np.ones(1), widths)
    assert np.isfinite(densities).all()
    assert np.isfinite(widths).all()
    assert not densities[0, :, 1].any()


@pytest.mark.parametrize("step", [0.25, 3.0])
def test_histogram_bandwidths__follow_the_rule_of_thumb(step):
    counts = histograms(512, "rows")
    points = np.arange(513.0)
    widths = histogram_bandwidths(counts[None], np.array([step]))[0]
    for component, found in enumerate(widths):
        column = counts[:, component]
        mass = column.sum()
        mean = points @ column / mass
        deviation = np.sqrt((points - mean) ** 2 @ column / mass)
        quartiles = np.interp([0.25, 0.75], np.cumsum(column) / mass, points)
        spread = min(deviation, np.diff(quartiles)[0] / 1.34)
        wanted = max(0.9 * spread * mass**-0.2, 0.75) * step
        assert found == pytest.approx(wanted, rel=1e-12)


def test_densities_at_few_values__are_in_the_ratio_of_their_shares():
    shares = np.array([[0.9, 0.5, 0.01], [0.1, 0.5, 0.99]])
    counts = np.zeros((1, 513, 3))
    # the ends of the data lie between grid points
    counts[0, [9, 10]] = 500 * shares[0]
    counts[0, [502, 503]] = 500 * shares[1]
    step = np.full(1, 1 / 493)
    densities = smooth_histograms(counts, step, histogram_bandwidths(counts, step))[0]
    heights = densities[[9, 502]]
    np.testing.assert_allclose(heights / heights[:, [1]], shares / 0.5, rtol=1e-9)
