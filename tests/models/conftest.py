"""Data and fitted models that the tests of the models share."""

import numpy as np
import pytest
import xarray as xr

from bigtensor import KernelMixture, SpectralOptions, simulate

SMALL = {
    "spectral": SpectralOptions(n_landmarks=40, bins=512),
    "pilot_rows": 2000,
    "random_state": 0,
}


@pytest.fixture(scope="session")
def small():
    """Settings that make a fit take a fraction of a second."""
    return SMALL


@pytest.fixture(scope="session")
def data() -> xr.Dataset:
    return simulate.kernel_mixture(4000, 3, random_state=1)


@pytest.fixture(scope="session")
def model(data) -> KernelMixture:
    return KernelMixture(3, **SMALL).fit(data)


@pytest.fixture(scope="session")
def wide_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of one column, two correlated and two more correlated columns; labels; means."""
    rng = np.random.default_rng(7)
    label = rng.choice(3, size=5000, p=[0.5, 0.3, 0.2])
    means = np.array(
        [[0.0, 0.0, 0.0, 0.0, 5.0], [4.0, 4.0, -4.0, 5.0, 0.0], [8.0, -4.0, 4.0, 5, 9]]
    )
    values = means[label] + rng.normal(size=(5000, 5))
    values[:, 2] += 0.6 * (values[:, 1] - means[label, 1])
    values[:, 4] -= 0.6 * (values[:, 3] - means[label, 3])
    return values, label, means


WIDE_VIEWS = {"b": [1, 2], "a": [0], "c": [4, 3]}


@pytest.fixture(scope="session")
def wide_model(wide_rows) -> KernelMixture:
    return KernelMixture(3, views=WIDE_VIEWS, **SMALL).fit(wide_rows[0])
