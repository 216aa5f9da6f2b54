"""Labels in one stretch of one sample."""

import numpy as np

from bigtensor.report.samples.acquisition import AcquisitionCounts


def test_acquisition__finds_a_stretch_in_interleaved_samples():
    drawn = np.random.default_rng(3)
    sample = drawn.integers(0, 3, 30_000)
    label = drawn.integers(0, 2, 30_000)
    place = np.empty(30_000, int)
    for one in range(3):
        place[sample == one] = np.arange(np.count_nonzero(sample == one))
    size = np.bincount(sample)
    label[(sample == 1) & (place >= 0.42 * size[1]) & (place < 0.45 * size[1])] = 2
    label[::2_500] = 2  # a few elsewhere
    label[drawn.integers(0, 30_000, 200)] = 3
    label[5] = sample[7] = -1
    sizes = np.bincount(sample[sample >= 0])
    counts = AcquisitionCounts(5, sizes)
    for start in range(0, 30_000, 7_000):
        counts.add(label[start : start + 7_000], sample[start : start + 7_000])
    (stretch,) = counts.stretches(["a", "b", "c"])
    assert (stretch.label, stretch.sample) == (2, "b")
    assert stretch.rows == np.count_nonzero((label == 2) & (sample >= 0))
    assert stretch.start <= 0.42 <= 0.44 <= stretch.stop
    assert 0.9 < stretch.share < 1
