import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, SpectralOptions
from tests.parameters import first_quick


@pytest.mark.parametrize("seed", first_quick(range(4)))
@pytest.mark.parametrize("feature_dtype", ["float32", "float64"])
def test_categories__are_as_good_as_the_truth_in_every_precision(seed, feature_dtype):
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=4000, p=[0.4, 0.3, 0.3])
    shares = 0.1 + 0.7 * np.eye(3)
    codes = [
        (rng.uniform(size=4000)[:, None] > np.cumsum(shares, axis=1)[label]).sum(axis=1)
        for _ in range(3)
    ]
    joint = np.log([0.4, 0.3, 0.3]) + sum(np.log(shares)[code] for code in codes)
    best = adjusted_rand_score(label, joint.argmax(axis=1))
    rows = np.column_stack(codes).astype(float)
    model = KernelMixture(
        3, kernel="delta", spectral=SpectralOptions(feature_dtype=feature_dtype), random_state=0
    )
    assert adjusted_rand_score(label, model.fit_predict(rows)) > best - 0.03


def passengers(rows: int = 600) -> np.ndarray:
    """Rows of three views with two values each: eight distinct rows, and three groups."""
    rng = np.random.default_rng(0)
    high = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])[rng.integers(0, 3, rows)]
    return np.where(rng.uniform(size=(rows, 3)) < 0.02, 1 - high, high).astype(float)


def test_two_values_a_view__are_no_error_of_a_call_without_options():
    model = KernelMixture(random_state=0).fit(passengers())
    assert 1 < len(model.weights_) <= 8


@pytest.mark.parametrize("n_populations", ["auto", 3])
def test_few_distinct_rows__are_as_many_components_that_are_merged(n_populations):
    rows = passengers()
    model = KernelMixture(n_populations=n_populations, random_state=0).fit(rows)
    distinct = len(np.unique(rows, axis=0))
    assert len(model.weights_) == distinct
    assert any(f"{distinct} distinct" in note for note in model.diagnostics_["notes"])
    if n_populations == 3:
        assert np.unique(model.predict(rows)).size == 3
