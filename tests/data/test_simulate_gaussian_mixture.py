from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from bigtensor import simulate
from bigtensor.errors import ParameterError


def test_rows__have_the_means_the_variance_and_equal_weights() -> None:
    data = simulate.gaussian_mixture(150_000, 5, n_features=4, noise=0.8, random_state=2)
    means, label = data["true_means"].to_numpy(), data["label"].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(means, axis=0), 1, rtol=1e-12)
    noise = data["X"].to_numpy() - means.T[label]
    assert data.attrs["variance"] == pytest.approx(0.16)
    # five standard errors
    np.testing.assert_allclose(
        np.cov(noise.T), 0.16 * np.eye(4), atol=5 * 0.16 * (2 / 150e3) ** 0.5
    )
    np.testing.assert_allclose(np.bincount(label) / 150_000, 0.2, atol=5 * (0.16 / 150e3) ** 0.5)


def test_store__has_the_rows_of_memory(tmp_path: Path) -> None:
    simulate.write_gaussian_mixture(tmp_path / "rows.zarr", 70_000, 3, 2, random_state=1)
    stored = xr.open_zarr(tmp_path / "rows.zarr").load()
    memory = simulate.gaussian_mixture(70_000, 3, 2, random_state=1)
    for name in ("X", "label", "true_means"):
        np.testing.assert_array_equal(stored[name], memory[name])


def test_store__of_a_linear_mixture_has_the_rows_and_the_views_of_memory(tmp_path: Path) -> None:
    simulate.write_linear_mixture(tmp_path / "rows.zarr", 70_000, 3, 2, random_state=1)
    stored = xr.open_zarr(tmp_path / "rows.zarr").load()
    memory = simulate.linear_mixture(70_000, 3, 2, random_state=1)
    for name in ("X", "label", "true_means", "view"):
        np.testing.assert_array_equal(stored[name], memory[name])


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_features": 0}, "n_features"),
        ({"noise": 0}, "noise"),
    ],
)
def test_parameters_out_of_range__are_named(change, name) -> None:
    with pytest.raises(ParameterError, match=name):
        simulate.gaussian_mixture(**{"rows": 10, "n_components": 2, **change})
