"""How much products of densities overcount what dependent views tell."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import KernelMixture

SETTINGS = {"n_components": 8, "n_populations": 2, "pilot_rows": 20_000, "random_state": 0}


def two_populations(correlation: float, views: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two normal populations with one correlation of all pairs of views."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 20_000)
    shared = rng.normal(size=(len(label), 1))
    noise = rng.normal(size=(len(label), views))
    rows = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * noise
    rows += 60.0 * label[:, None] * np.where(np.arange(views) % 2, 1, -1)
    return rows, label


def test_temperature__is_one_for_independent_views():
    rows, _ = two_populations(0.0, 4)
    model = KernelMixture(2, n_populations=2, random_state=0).fit(rows)
    assert model.diagnostics_["probability_temperature"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("correlation", "views"), [(0.3, 4), (0.6, 4), (0.3, 10)])
@pytest.mark.quick_cases("0.3-4", "0.6-4")
def test_temperature__of_equal_correlations(correlation, views):
    """``tr(R R) / tr(R)`` of a matrix with ones and one correlation."""
    rows, label = two_populations(correlation, views)
    model = KernelMixture(2, n_populations=2, random_state=0).fit(rows)
    assert adjusted_rand_score(label, model.predict(rows)) == 1
    expected = 1 + (views - 1) * correlation**2
    assert model.diagnostics_["probability_temperature"] == pytest.approx(expected, rel=0.03)


def test_temperature__is_that_of_differences_along_which_rows_vary():
    """Between two normal populations the temperature that makes confidence right is known."""
    rng = np.random.default_rng(0)
    views, correlation = 6, 0.4
    matrix = np.full((views, views), correlation) + (1 - correlation) * np.eye(views)
    factor = np.linalg.cholesky(matrix)
    differences = rng.normal(size=(20_000, views)) @ factor.T
    lengths = (differences**2).sum(axis=1)
    temperatures = np.einsum("ij,jk,ik->i", differences, matrix, differences) / lengths
    assert np.average(temperatures, weights=lengths) == pytest.approx(
        1 + (views - 1) * correlation**2, rel=0.02
    )
    for difference, temperature in zip(differences[:5], temperatures[:5], strict=True):
        label = rng.integers(0, 2, 100_000)
        rows = rng.normal(size=(len(label), views)) @ factor.T + label[:, None] * difference
        log_ratio = rows @ difference - difference @ difference / 2
        probability = expit(log_ratio / temperature)
        confidence = np.maximum(probability, 1 - probability)
        right = np.mean((probability > 0.5) == label)
        assert confidence.mean() == pytest.approx(right, abs=0.005)


def test_temperature__is_saved_and_survives_another_cut(tmp_path):
    rows, _ = two_populations(0.5, 4)
    model = KernelMixture(**SETTINGS).fit(rows)
    found = model.diagnostics_["probability_temperature"]
    assert found > 1.02
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    sums = model.predict_proba(rows, level="component")
    for count in (4, 2):
        loaded.cut_populations(count)
        members = loaded.population_of_component_ == np.arange(count)[:, None]
        expected = (sums @ members.T.astype(np.float64)) ** (1 / found)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(loaded.predict_proba(rows), expected, atol=2e-6)
