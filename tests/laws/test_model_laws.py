"""The same fit for any chunks of rows in several ranges."""

import numpy as np
import pytest
import xarray as xr
from sklearn.base import clone

from bigtensor import KernelMixture, SpectralOptions, simulate
from tests.models.kernel_mixture.parameters import mixture_parameters


@pytest.fixture(scope="module")
def rows() -> xr.Dataset:
    """Enough rows for several row ranges."""
    return simulate.kernel_mixture(70_000, 3, random_state=11)[["X"]]


def parameters_of(model: KernelMixture) -> np.ndarray:
    """Return weights and means, and the densities relative to their peak."""
    points = np.linspace(-3, 15, 300)
    densities = [model.component_density(view, points) for view in model.views_.names]
    means = [model.expectation(view, lambda x: x) for view in model.views_.names]
    scaled = [density / density.max(axis=0) for density in densities]
    return np.concatenate([model.weights_, *means, *[part.ravel() for part in scaled]])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-5)])
@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral-float32-1e-05", "kmeans-float64-1e-08")
def test_parameters__do_not_depend_on_the_chunks(rows, dtype, tolerance, start):
    settings = {
        "spectral": SpectralOptions(n_landmarks=30, bins=256),
        "pilot_rows": 1000,
        "max_iter": 3,
    }
    model = KernelMixture(3, init=start, **mixture_parameters(settings, feature_dtype=dtype))
    expected = parameters_of(clone(model).fit(rows))
    for chunks in (33_333, 7_919):
        found = parameters_of(clone(model).fit(rows.chunk(sample=chunks)))
        # relative to parameters of order one; densities relative to their peak
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
