"""The linear mixture on small data, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import LinearMixture, simulate


def make(kind: str) -> LinearMixture:
    assert kind == "measured"
    return LinearMixture(2, random_state=0)


def data(kind: str) -> xr.DataArray:
    """Rows of three features, one a view."""
    drawn = simulate.linear_mixture(600, 2, n_features=1, noise=0.5, random_state=3)["X"]
    means = np.where(np.arange(600)[:, None] % 3 == 0, 1.5, 0.0)
    return drawn.astype("f8") + means
