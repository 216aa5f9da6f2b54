"""Independent component analysis of a few rows, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import ICA

VARIANTS = {"measured": {name: {"method": name} for name in ("whitened", "cumulant")}}


def make(kind: str) -> ICA:
    assert kind == "measured"
    return ICA(random_state=0)


def data(kind: str) -> xr.DataArray:
    rng = np.random.default_rng(0)
    sources = np.stack([rng.laplace(size=900), rng.uniform(-1, 1, 900), rng.exponential(1, 900)])
    mixing = np.array([[1.0, 0.3, -0.2], [0.2, 2.0, 0.3], [-0.4, 0.1, 1.5]])
    coords = {"feature": ["a", "b", "c"]}
    return xr.DataArray(sources.T @ mixing.T + 3, coords, ("sample", "feature"), "X")
