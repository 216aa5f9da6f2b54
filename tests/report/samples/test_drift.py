"""Drift of medians along the acquisition."""

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.opening import open_samples
from bigtensor.report.samples import drift as drift_module
from bigtensor.report.samples.drift import PARTS, drift_along_time

SAMPLES = 6


def acquired(seed, drawn="normal", rows=6_000):
    """Return interleaved samples of two stable features, of which one may have two modes."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(SAMPLES * rows, 2))
    if drawn == "two modes":
        x[:, 1] += 8 * (generator.random(len(x)) < 0.5)
    if drawn == "many zeros":
        x[:, 1] = np.maximum(x[:, 1], 0)
    return x, generator.permutation(np.repeat(np.arange(SAMPLES), rows))


def drift_of(x, sample, roles=None, features=("CD3", "CD4")):
    names = [f"s{number}" for number in range(SAMPLES)]
    coordinates = {"feature": list(features)}
    if roles is not None:
        coordinates["role"] = ("feature", list(roles))
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), x.astype(np.float32)),
            "sample_id": ("sample", sample.astype(np.int32), {"categories": names}),
        },
        coords=coordinates,
    )
    samples = open_samples(data, groups="sample_id")
    return drift_along_time(samples, np.bincount(sample, minlength=SAMPLES))


@pytest.mark.parametrize("drawn", ["normal", "two modes", "many zeros"])
@pytest.mark.quick_cases("two modes")
def test_stable_samples__are_not_flagged(drawn):
    flagged = [drift_of(*acquired(seed, drawn)).flagged.any() for seed in range(20)]
    assert np.mean(flagged) <= 0.05


def test_drifting_feature__is_flagged_alone_and_its_place_is_right():
    x, sample = acquired(0)
    member = np.flatnonzero(sample == 2)
    x[member[-1_500:], 1] += 1.0
    drift = drift_of(x, sample)
    assert np.argwhere(drift.flagged).tolist() == [[2, 1]]
    assert drift.worst(3) == [(2, 1)]
    assert np.abs(drift.places[2, 1]).argmax() >= PARTS * 3 // 4
    assert drift.medians[2, 1, -1] - drift.medians[2, 1, 0] == pytest.approx(1, abs=0.3)
    shuffled = np.random.default_rng(5).permutation(len(x))
    assert not drift_of(x[shuffled], sample[shuffled]).flagged.any()


def test_time_channel__gives_the_order():
    x, sample = acquired(1)
    time = np.arange(len(x), dtype=float)
    x[sample == 4, 0] += np.linspace(-0.6, 0.6, np.count_nonzero(sample == 4))
    with_time = np.column_stack([x, time])
    shuffled = np.random.default_rng(5).permutation(len(x))
    drift = drift_of(
        with_time[shuffled],
        sample[shuffled],
        ("use", "use", "time"),
        ("CD3", "CD4", "Time"),
    )
    assert drift.by_time
    assert drift.features == ("CD3", "CD4")
    assert np.argwhere(drift.flagged).tolist() == [[4, 0]]


def test_drift__does_not_depend_on_the_blocks(monkeypatch):
    monkeypatch.setattr(drift_module, "MOST_ROWS", 40)
    x, sample = acquired(3)
    whole = drift_of(x, sample)
    monkeypatch.setattr(drift_module, "_BLOCK_ROWS", 977)
    np.testing.assert_array_equal(drift_of(x, sample).medians, whole.medians)
    assert whole.rows == 40


def test_small_samples_and_missing_values__are_left_out():
    x, sample = acquired(2)
    sample[np.flatnonzero(sample == 0)[400:]] = 1
    x[::7, 0] = np.nan
    drift = drift_of(x, sample)
    assert drift.samples == tuple(f"s{number}" for number in range(1, SAMPLES))
    assert np.isfinite(drift.medians).all()
