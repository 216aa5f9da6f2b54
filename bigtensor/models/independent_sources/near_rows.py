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
    values = block.values[: block.rows].astype(np.float64)
    centre = np.median(values, axis=0)
    distances = np.abs(values - centre)
    reach = _within(distances, np.ones(distances.shape, bool))
    reach = _within(distances, distances <= reach)
    norms = np.linalg.norm(distances / reach, axis=1)
    most = max(1.0, _CROWD * float(np.quantile(norms, _QUANTILE)))
    columns = ((0, values.shape[1]),)
    return Reach(columns, (centre,), (reach,), (most,)), block.keep(norms <= most)


def _within(distances: FloatArray, counted: np.ndarray) -> FloatArray:
    """Return the reach of every feature, from the distances that count."""
    typical = _REACH * np.quantile(distances, _QUANTILE, axis=0)
    squares = np.where(counted, np.square(distances), 0.0).sum(axis=0)
    deviations = np.sqrt(squares / np.maximum(counted.sum(axis=0), 1))
    reach = np.maximum(typical, _DEVIATIONS * deviations)
    return np.asarray(np.where(reach > 0, reach, 1.0))
