"""Histograms of several samples, shifted and scaled to one body."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray

_LEVELS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8)
"""Quantiles that samples agree in afterwards, in mean and standard deviation.

A rare tail of large values hardly moves them. Fewer of them, on one side of the body, are too
uncertain on the other side.
"""

_FEWEST_ROWS = 50.0
"""Rows of a sample that is aligned. Quantiles of fewer rows are uncertain."""

_LARGEST_SCALE = 2.0
"""Largest factor of a scale. Quantiles of repeated values may be arbitrarily close."""


def aligned_histograms(counts: FloatArray) -> FloatArray:
    """Shift and scale the samples so that their bodies agree.

    Quantiles of every sample up to 80 % get the mean and the standard deviation of the quantiles of
    all samples. Every row is spread over three bins with the weights of a quadratic B-spline, so
    that all samples are smoothed by one width wherever their rows fall between two bins.

    Parameters
    ----------
    counts : (samples, bins) float64 array
        Weighted counts of the rows of every sample in bins of one width. Samples of fewer than 50
        rows stay where they are.

    Returns
    -------
    (samples, bins) float64 array
        Counts with the sums of the samples. Rows that leave the bins count in the end bins.
    """
    pooled = _quantiles(counts.sum(axis=0))
    centres: FloatArray = np.arange(counts.shape[1], dtype=np.float64) + 0.5
    aligned = np.empty_like(counts)
    for sample, own in enumerate(counts):
        places: FloatArray = centres
        if own.sum() >= _FEWEST_ROWS:
            quantiles = _quantiles(own)
            scale = float(np.std(pooled) / np.std(quantiles))
            scale = min(max(scale, 1 / _LARGEST_SCALE), _LARGEST_SCALE)
            places = float(pooled.mean()) + scale * (centres - float(quantiles.mean()))
        aligned[sample] = _spread(own, places)
    return aligned


def _quantiles(counts: FloatArray) -> FloatArray:
    """Return quantiles of a histogram, in bins from the lower end of the first one."""
    cumulative = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.asarray(np.interp(_LEVELS, cumulative, np.arange(len(counts) + 1.0)))


def _spread(counts: FloatArray, places: FloatArray) -> FloatArray:
    """Return the histogram whose bins move to other places."""
    bins = np.floor(places)
    offset = places - bins - 0.5
    weights = ((offset - 0.5) ** 2 / 2, 0.75 - offset**2, (offset + 0.5) ** 2 / 2)
    spread = np.zeros(len(counts))
    for neighbour, weight in zip((-1, 0, 1), weights, strict=True):
        targets = np.clip(bins + neighbour, 0, len(counts) - 1).astype(np.intp)
        np.add.at(spread, targets, counts * weight)
    return spread
