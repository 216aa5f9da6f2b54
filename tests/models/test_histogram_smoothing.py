"""Smoothing of histograms: what a direct convolution gives, at a cost that widths do not change."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.ndimage import convolve1d

from bigtensor.models.kernel_mixture.embedded_view import DENSITY_FLOOR
from bigtensor.models.kernel_mixture.histogram_densities import KERNEL_REACH, smooth_histograms

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
    densities, widths = smooth_histograms(counts[None], np.ones(1), least)
    assert (widths >= least).all()
    for component, width in enumerate(widths[0]):
        wanted = directly(counts[:, component], width)
        found = densities[0, :, component]
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, rel=1e-12)
        assert np.abs(found - wanted).max() <= ROUND_OFF * wanted.max()
    assert ROUND_OFF < 1e-3 * DENSITY_FLOOR


def test_smooth_histograms__of_a_component_are_the_same_bits_beside_others():
    counts = np.stack([histograms(512, "rows"), histograms(512, "spikes")])
    together, _ = smooth_histograms(counts, np.array([0.5, 2.0]))
    for component in range(3):
        alone, _ = smooth_histograms(counts[..., [component]], np.array([0.5, 2.0]))
        np.testing.assert_array_equal(alone[..., 0], together[..., component])


def test_smooth_histograms__of_an_empty_component_are_zero():
    counts = histograms(512, "rows")
    counts[:, 1] = 0
    densities, widths = smooth_histograms(counts[None], np.ones(1))
    assert np.isfinite(densities).all()
    assert np.isfinite(widths).all()
    assert not densities[0, :, 1].any()
