"""The linear mixture on small data, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import LinearMixture, simulate


def make(kind: str) -> LinearMixture:
    assert kind == "measured"
    return LinearMixture(2, random_state=0)


def data(kind: str) -> xr.DataArray:
    return rows_of(1)


def rows_of(n_features: int) -> xr.DataArray:
    """Return rows of three views of so many features."""
    drawn = simulate.linear_mixture(600, 2, n_features=n_features, noise=0.5, random_state=3)["X"]
    means = np.where(np.arange(600)[:, None] % 3 == 0, 1.5, 0.0)
    return drawn.astype("f8") + means


VIEWS = {view: [f"{view}0", f"{view}1"] for view in "abc"}

VARIANTS = {
    "measured": {
        **{name: {"method": name} for name in ("sample", "explicit", "passes", "power")},
        "compressed": {"method": "compressed", "views": VIEWS},
    }
}

VARIANT_SETTINGS = {"compressed": {"data": rows_of(2)}}
