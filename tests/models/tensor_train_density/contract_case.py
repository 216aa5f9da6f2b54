"""Tensor-train density of a few rows, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import TensorTrainDensity, TensorTrainOptions
from bigtensor.testing import small_data

VARIANTS = {
    "measured": {"balanced": {"structure": "balanced"}, "rotated": {"coordinates": "pca"}},
    "codes": {"balanced": {"structure": "balanced"}},
}


def make(kind: str) -> TensorTrainDensity:
    return TensorTrainDensity(
        2, coordinates="z", widths=[0.5, 1.2], trains=TensorTrainOptions(n_trains=2), random_state=0
    )


def data(kind: str) -> xr.DataArray:
    if kind != "measured":
        return small_data(kind)
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 3, 400)
    centres = np.array([[0, 1, 3], [2, 0, 1], [4, 3, 0]])
    coords = {"feature": ["a", "b", "c"]}
    return xr.DataArray(
        centres[cluster] + rng.normal(size=(400, 3)), coords, ("sample", "feature"), "X"
    )
