"""How landmarks are chosen, and how many of them for a tolerance."""

import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.errors import ParameterError
from tests.models.kernel_mixture.parameters import mixture_parameters


@pytest.mark.parametrize("landmarks", ["kmeans", "kmeans++", "uniform", "cholesky"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.quick_cases(
    "gaussian-kmeans", "laplace-kmeans++", "laplace-uniform", "gaussian-cholesky"
)
def test_landmarks__of_every_method_find_the_components(data, small, landmarks, kernel):
    model = KernelMixture(3, kernel=kernel, **mixture_parameters(small, landmarks=landmarks)).fit(
        data
    )
    assert adjusted_rand_score(data["label"], model.predict(data)) > 0.9
    assert list(model.diagnostics_["landmarks"]) == ["view1", "view2", "view3"]
    for entry in model.diagnostics_["landmarks"].values():
        assert entry["count"] == 40
        # the spectrum of the Laplace kernel, which has a corner, falls slowly
        assert 0 < entry["trace_error"] < (0.1 if kernel == "gaussian" else 0.4)


@pytest.mark.parametrize("landmarks", ["kmeans", "kmeans++", "cholesky"])
@pytest.mark.quick_cases("cholesky")
def test_landmark_tolerance__takes_as_few_as_it_needs(data, small, landmarks):
    few, more = (
        KernelMixture(
            3, **mixture_parameters(small, landmarks=landmarks, landmark_tolerance=tolerance)
        ).fit(data)
        for tolerance in (0.05, 0.001)
    )
    for loose, tight in zip(
        few.diagnostics_["landmarks"].values(), more.diagnostics_["landmarks"].values(), strict=True
    ):
        assert loose["trace_error"] <= 0.05
        assert tight["trace_error"] <= 0.001
        assert loose["count"] <= tight["count"] <= 40
    assert few.diagnostics_["notes"] == []
    assert (few.predict(data) == more.predict(data)).mean() > 0.99


@pytest.mark.parametrize("bandwidth", ["auto", "gap"])
def test_landmark_tolerance__that_is_not_met_is_noted_once(data, small, bandwidth):
    settings = mixture_parameters(
        small, n_landmarks=10, landmarks="uniform", landmark_tolerance=1e-6
    )
    model = KernelMixture(3, bandwidth=bandwidth, **settings).fit(data)
    notes = model.diagnostics_["notes"]
    assert len(notes) == 3
    assert re.match(r"view 'view1': 10 landmarks .* tolerance", notes[0])


@pytest.mark.parametrize(
    ("tolerance", "message"),
    [
        (0, "landmark_tolerance in .* is 0; .* 0 and 1"),
        (1.5, r"landmark_tolerance in .* is 1\.5; .* 0 and 1"),
        ("x", "landmark_tolerance in .* is 'x'; .* 0 and 1"),
    ],
)
def test_landmark_tolerance__out_of_range_is_named(tolerance, message):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.raises(ParameterError, match=message):
        KernelMixture(2, spectral=SpectralOptions(landmark_tolerance=tolerance)).fit(rows)


def test_few_distinct_values__are_told_once_for_all_features():
    codes = np.random.default_rng(0).integers(4, size=(300, 4)).astype(float)
    model = KernelMixture(1, max_iter=1, random_state=0).fit(codes)
    assert sum("kernel='delta'" in note for note in model.diagnostics_["notes"]) == 1
    notes = [note for note in model.diagnostics_["notes"] if "landmarks" in note]
    assert len(notes) == 1
    assert "'x3'" in notes[0]


def test_few_distinct_values__of_some_features_are_a_note():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    rows[:, 1] = rows[:, 1] > 0
    model = KernelMixture(1, max_iter=1, random_state=0).fit(rows)
    assert model.diagnostics_["verdict"]["good"]
    assert sum("kernel='delta'" in note for note in model.diagnostics_["notes"]) == 1
    with_kernel = KernelMixture(1, max_iter=1, kernel={"x1": "delta"}, random_state=0).fit(rows)
    assert not any("kernel='delta'" in note for note in with_kernel.diagnostics_["notes"])
