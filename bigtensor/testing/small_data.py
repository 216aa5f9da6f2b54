"""Small data of every kind: rows of two classes that differ in all features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import xarray as xr

from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.data.values.kinds import Kind

FEATURES = ("first", "second", "third", "fourth")
CATEGORIES = ("low", "middle", "high")


def small_data(kind: Kind, rows: int = 600, random_state: int = 0) -> xr.DataArray | sp.csr_array:
    """Return rows of two classes, of which the first holds six in ten.

    Parameters
    ----------
    kind : {"measured", "codes", "counts"}
        Type of the values.
    rows : int
        Number of rows.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    DataArray or CSR array, (rows, 4)
        Measured float64 values, int32 codes of three categories with the attribute ``categories``,
        or float32 counts in sparse rows.
    """
    rng = np.random.default_rng(random_state)
    second = (rng.random((rows, 1)) < 0.4).astype(int)
    shape = (rows, len(FEATURES))
    coords = {"feature": list(FEATURES)}
    if kind == "measured":
        values = rng.normal(5 * second, 1 + 0.5 * second, shape)
        return xr.DataArray(values, coords, ("sample", "feature"), "X")
    if kind == "codes":
        likely = rng.random(shape) < 0.8
        codes = np.where(likely, 2 * second, rng.integers(0, 3, shape)).astype(np.int32)
        attrs = {ATTRIBUTE: {name: list(CATEGORIES) for name in FEATURES}}
        return xr.DataArray(codes, coords, ("sample", "feature"), "X", attrs)
    mean = np.where(second, [0.3, 3.0, 0.3, 3.0], [3.0, 0.3, 3.0, 0.3])
    return sp.csr_array(rng.poisson(mean, shape).astype(np.float32))
