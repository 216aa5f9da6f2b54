"""Kernel component analysis of a few rows, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import KernelICA

VARIANTS = {"measured": {"laplace": {"kernel": "laplace"}}}


def make(kind: str) -> KernelICA:
    assert kind == "measured"
    return KernelICA(3, n_landmarks=60, random_state=0)


def data(kind: str) -> xr.DataArray:
    rng = np.random.default_rng(0)
    sources = rng.laplace(size=(900, 3))
    mixing = np.array([[1.0, 0.3, -0.2], [0.2, 2.0, 0.3], [-0.4, 0.1, 1.5]])
    coords = {"feature": ["a", "b", "c"]}
    return xr.DataArray(sources @ mixing.T + 3, coords, ("sample", "feature"), "X")
