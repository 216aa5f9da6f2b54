"""Kernel emissions beyond the rows of the fit: densities that fall, and no evidence far out."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bigtensor import HiddenMarkovModel
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions

STEPS = 1200


@pytest.fixture(scope="module")
def values() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(0, 2, STEPS // 20), 20)
    return np.column_stack([3.0 * column * states + rng.normal(size=STEPS) for column in (1, 2)])


@pytest.fixture(scope="module")
def model(values: NDArray[np.float64]) -> HiddenMarkovModel:
    return HiddenMarkovModel(2, emissions="kernel", random_state=0).fit(values[:, 1:])


def test_density__falls_beyond_the_rows_of_the_fit(
    model: HiddenMarkovModel, values: NDArray[np.float64]
) -> None:
    grid = np.linspace(-2000, 2000, 400_001)[:, None]
    density = model.emission_density(grid)
    np.testing.assert_allclose(density.sum(axis=0) * (grid[1] - grid[0]), 1, atol=0.01)
    beyond = values[:, 1].max() + np.array([[0.5], [5.0], [100.0], [1e6]])
    likelihood = [model.score_samples(row[None])[0] for row in beyond]
    assert np.isfinite(likelihood).all()
    assert (np.diff(likelihood) < -1).all()


def test_density__on_the_grid_is_that_of_the_kernel_mixture(
    model: HiddenMarkovModel, values: NDArray[np.float64]
) -> None:
    emissions = model.solution_.emissions
    assert isinstance(emissions, KernelEmissions)
    inside = np.sort(values[:, 1:], axis=0)
    expected = emissions.solution.density("x0", inside[:, 0])
    np.testing.assert_allclose(model.emission_density(inside), expected, rtol=1e-5)


@pytest.mark.parametrize("views", [None, {"both": ["x0", "x1"]}])
def test_rows_far_from_those_of_the_fit__are_no_evidence_for_a_state(
    values: NDArray[np.float64], views: dict[str, list[str]] | None
) -> None:
    model = HiddenMarkovModel(2, emissions="kernel", views=views, random_state=0).fit(values)
    shifted = model.predict_proba(values[:200] + 60)
    with_artefacts = values[:200].copy()
    with_artefacts[::20] = 1e4
    others = np.arange(200) % 20 != 0
    change = model.predict_proba(with_artefacts) - model.predict_proba(values[:200])
    stationary = np.asarray(model.occupancy_)
    np.testing.assert_allclose(shifted[100:], np.tile(stationary, (100, 1)), atol=0.02)
    assert np.abs(change[others]).mean() < 0.01
