"""Labels whose rows lie in one short stretch of one sample: artefacts of the acquisition."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.models.words.sampled_rows import Stretch

BINS = 100
"""Parts of equal numbers of rows that a sample is divided into, in the order of acquisition."""

WIDEST = 5
"""Parts next to each other that a stretch has at most, or one twentieth of the sample."""

LEAST_SHARE = 0.9
"""Smallest share of the rows of a label in one stretch."""

FEWEST_ROWS = 20
"""Rows of a label below which chance may put them into one stretch."""

MOST_COUNTERS = 50_000_000
"""Counters of labels, samples and parts up to which stretches are looked for (400 MB)."""


class AcquisitionCounts:
    """Numbers of rows by label, sample and part of the sample, added up block by block.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    sizes : (samples,) int64 array
        Number of rows of every sample.
    """

    def __init__(self, n_labels: int, sizes: IntArray) -> None:
        self._sizes = sizes
        self._seen = np.zeros(len(sizes), np.int64)
        self._counts = np.zeros((n_labels, len(sizes), BINS), np.int64)

    def add(self, label: IntArray, sample: IntArray) -> None:
        """Add consecutive rows.

        Parameters
        ----------
        label, sample : (rows,) int64 arrays
            Label and sample of every row, negative for none.
        """
        valid = sample >= 0
        label, sample = label[valid], sample[valid]
        place = np.empty(len(sample), np.int64)
        order = np.argsort(sample, kind="stable")
        counts = np.bincount(sample, minlength=len(self._sizes))
        # rows of a sample follow each other in the order of acquisition
        place[order] = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
        part = (self._seen[sample] + place) * BINS // self._sizes[sample]
        self._seen += counts
        kept = label >= 0
        np.add.at(self._counts, (label[kept], sample[kept], part[kept]), 1)

    def stretches(self, names: Iterable[str]) -> tuple[Stretch, ...]:
        """Return the labels whose rows lie in one stretch of one sample.

        Parameters
        ----------
        names : iterable of str
            Names of the samples.
        """
        sample_names = list(names)
        return tuple(
            stretch
            for label, counts in enumerate(self._counts.astype(np.float64))
            if (stretch := _stretch_of(label, counts, sample_names)) is not None
        )


def _stretch_of(label: int, counts: FloatArray, names: list[str]) -> Stretch | None:
    """Return the stretch of one label, or None if its rows are spread."""
    total = counts.sum()
    if total < FEWEST_ROWS:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(counts, WIDEST, axis=1).sum(axis=2)
    sample, start = (int(i) for i in np.unravel_index(int(windows.argmax()), windows.shape))
    share = float(windows[sample, start] / total)
    if share < LEAST_SHARE:
        return None
    return Stretch(label, names[sample], int(total), share, start / BINS, (start + WIDEST) / BINS)
