"""Rows that are not far from all others, feature by feature in its own units."""

from __future__ import annotations

import numpy as np

from bigtensor.data.block import Block
from bigtensor.decomposition.solution import FloatArray
from bigtensor.statistics.within_reach import Reach

_QUANTILE = 0.99
_REACH = 10.0
"""Largest distance from the centre, over the distance that 99 of 100 values are within."""

_DEVIATIONS = 30.0
"""Least such distance in standard deviations: a rare source is zero in most rows."""

_CROWD = 3.0
"""Least reach of a row over all features, where there are many."""


def near_rows(block: Block) -> tuple[Reach, Block]:
    """Return the distance within which rows count, and the rows of a sample within it.

    One value of 1e6 would make up a fourth moment alone. Heavy tails and rare events count.

    Parameters
    ----------
    block : Block
        The pilot sample.
    """
    # a line for every feature: quantiles take half the time
    values = np.ascontiguousarray(block.values[: block.rows].T, np.float64)
    centre = np.median(values, axis=1)
    distances = np.abs(values - centre[:, None])
    squares = np.square(distances)
    typical = _REACH * np.quantile(distances, _QUANTILE, axis=1)
    reach = _wider(typical, squares.mean(axis=1))
    near = distances <= reach[:, None]
    reach = _wider(typical, (squares * near).sum(axis=1) / near.sum(axis=1))
    norms = np.sqrt(np.square(1 / reach) @ squares)
    most = max(1.0, _CROWD * float(np.quantile(norms, _QUANTILE)))
    columns = ((0, len(values)),)
    return Reach(columns, (centre,), (reach,), (most,)), block.keep(norms <= most)


def _wider(typical: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the reach of every feature: the typical one, or many deviations."""
    reach = np.maximum(typical, _DEVIATIONS * np.sqrt(variances))
    return np.asarray(np.where(reach > 0, reach, 1.0))
