"""Rows of latent chains against their exact density."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import dblquad

from bigtensor import simulate
from bigtensor.errors import ParameterError


def test_density__is_the_sum_over_paths() -> None:
    truth = simulate.latent_chain(50, 2, 3, 0.4, random_state=3)
    means, moves = truth["true_means"].values, truth["true_transition"].values
    rows = truth["X"].values.astype(float)
    direct = np.zeros(50)
    for first, second, third in np.ndindex(2, 2, 2):
        centres = means[[0, 1, 2], [first, second, third]]
        squares = np.square((rows - centres) / 0.6).sum(axis=1)
        heights = np.exp(-0.5 * squares) / (0.6 * np.sqrt(2 * np.pi)) ** 3
        direct += 0.5 * moves[first, second] * moves[second, third] * heights
    found = simulate.latent_chain_density(truth, rows)
    assert found == pytest.approx(np.log(direct), abs=1e-10)


def test_density__integrates_to_one_and_sums_over_missing_entries() -> None:
    truth = simulate.latent_chain(10, 3, 2, random_state=1)

    def height(y: float, x: float) -> float:
        return float(np.exp(simulate.latent_chain_density(truth, np.array([[x, y]]))[0]))

    total, _ = dblquad(height, -5, 5, -5, 5, epsabs=1e-4)
    assert total == pytest.approx(1, abs=1e-3)
    alone = np.exp(simulate.latent_chain_density(truth, np.array([[np.nan, 0.3]])))[0]
    grid = np.linspace(-6, 6, 2_001)
    rows = np.column_stack([grid, np.full(len(grid), 0.3)])
    summed = np.trapezoid(np.exp(simulate.latent_chain_density(truth, rows)), grid)
    assert alone == pytest.approx(summed, rel=1e-6)


def test_rows__have_the_means_of_the_chain() -> None:
    data = simulate.latent_chain(200_000, 3, 4, 0.6, random_state=2)
    state, means = np.full(3, 1 / 3), data["true_means"].values
    for j in range(4):
        state = state @ data["true_transition"].values if j else state
        assert float(data["X"][:, j].mean()) == pytest.approx(state @ means[j], abs=0.03)
    label = data["label"].values
    for h in range(3):
        assert float(data["X"].values[label == h, 0].mean()) == pytest.approx(means[0, h], abs=0.02)


def test_store__has_the_rows_of_memory(tmp_path: Path) -> None:
    simulate.write_latent_chain(tmp_path / "rows.zarr", 70_000, 3, 2, random_state=1)
    stored = xr.open_zarr(tmp_path / "rows.zarr").load()
    memory = simulate.latent_chain(70_000, 3, 2, random_state=1)
    for name in ("X", "label", "true_means", "true_transition"):
        np.testing.assert_array_equal(stored[name], memory[name])


@pytest.mark.parametrize(
    ("change", "name"), [({"n_components": 0}, "n_components"), ({"stay": 1.5}, "stay")]
)
def test_parameters_out_of_range__are_named(change, name) -> None:
    with pytest.raises(ParameterError, match=name):
        simulate.latent_chain(**{"rows": 10, "n_components": 2, **change})
