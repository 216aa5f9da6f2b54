"""False discovery rates after Benjamini and Hochberg (1995)."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray


def adjusted_p_values(p_values: FloatArray) -> FloatArray:
    """Return the smallest false discovery rate at which each test would be called.

    Parameters
    ----------
    p_values : (tests,) float64 array
        NaN for what was not tested.

    Returns
    -------
    (tests,) float64 array
        Never less than the p values. NaN where these are.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested])[::-1]]
    rank = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum.accumulate(np.minimum(p_values[order] * len(order) / rank, 1.0))
    return adjusted
