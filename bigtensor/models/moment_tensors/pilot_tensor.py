"""Moment tensor of a pilot sample: its point, its constants and the rows that count."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.discovery import Initialisations
from bigtensor.decomposition.sample_tensors.terms import Factors
from bigtensor.errors import DataError
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.within_reach import Reach

_OFF_CENTRE = 1 / 64
"""Part of the way from the mean of a feature to its median at which the point lies."""

_MOST_EQUAL = 0.9
"""Share of rows with equal values in a factor from which the factor is refused as constant."""

_INDEPENDENT = 1e-12
"""Nuclear norm of the cross-covariance of two views, relative to their spreads, that is zero."""


def centred_tensor(
    rows: Block,
    reach: Reach,
    orders: tuple[int, ...],
    scale: float,
    dtype: str,
    *,
    standardised: bool = False,
) -> SampleTensor:
    """Return the tensor of ordinary rows about their mean.

    The point of standardised features is near the mean. It moves with the unit and the origin of
    a feature, because the search depends on the point.

    Parameters
    ----------
    rows : Block
        Rows of the pilot sample that are not outlying.
    reach : Reach
        The rows that count, in groups of the columns of every factor.
    orders : tuple of int
        How often every factor stands in the tensor.
    scale : float
        Constant features in units of the typical length of a column; zero for none.
    dtype : str
        Of products.
    standardised : bool, default False
        Take the tensor of features in units of their standard deviation.

    Raises
    ------
    DataError
        When nearly all rows have the same values in a factor.
    """
    points, scales, centred = [], [], []
    for start, stop in reach.columns:
        values = rows.dense_values[: rows.rows, start:stop].astype(np.float64)
        typical = typical_distance(values, start, stop)
        point = values.mean(axis=0)
        # third powers of very small or very large values would vanish or overflow
        units = np.full(stop - start, 2.0 ** np.floor(np.log2(typical)))
        if standardised:
            units = standard_scales(values)
            # sums of skewed rows about their very mean would be rounding errors
            point += _OFF_CENTRE * (np.median(values, axis=0) - point)
        points.append(point)
        scales.append(units)
        centred.append((values - point) / units)
    constants = np.zeros(len(points))
    if scale:
        constants = scale * _typical_lengths(centred)
    return SampleTensor(
        reach.columns, orders, tuple(points), constants, reach, dtype, tuple(scales)
    )


def typical_distance(values: FloatArray, start: int, stop: int) -> float:
    """Return the 90 % quantile of the distances from the median.

    Raises
    ------
    DataError
        When it is zero.
    """
    distances = np.hypot.reduce(values - np.median(values, axis=0), axis=1)
    typical = float(np.quantile(distances, _MOST_EQUAL))
    if not typical > 0:
        columns = f"columns {start} to {stop - 1} of the data have"
        if stop == start + 1:
            columns = f"column {start} of the data has"
        raise DataError(
            f"{columns} the same values in nine of ten rows of the sample: leave constant features "
            "out"
        )
    return typical


def standard_scales(values: NDArray[np.floating]) -> FloatArray:
    """Return the standard deviation of every feature, and one for a feature of one value.

    The mean of equal values is rounded, so that their standard deviation need not be zero.
    """
    deviations = values.std(axis=0, dtype=np.float64)
    return np.asarray(np.where(np.ptp(values, axis=0) > 0, deviations, 1.0))


def _typical_lengths(rows: list[FloatArray]) -> FloatArray:
    r"""Return the typical length of the columns of three views, from centred rows.

    The cross-covariance of two views is :math:`\sum_j w_j a_j b_j^T`, without noise; its nuclear
    norm is about the product of their typical lengths.
    """
    products = {
        (a, b): float(np.linalg.norm(rows[a].T @ rows[b] / len(rows[a]), "nuc"))
        for a, b in combinations(range(3), 2)
    }
    spreads = np.array([np.sqrt(np.square(of_view).sum(axis=1).mean()) for of_view in rows])
    if min(products.values()) <= _INDEPENDENT * float(spreads.prod()) ** (2 / 3):
        return spreads
    lengths = [
        np.sqrt(products[0, 1] * products[0, 2] / products[1, 2]),
        np.sqrt(products[0, 1] * products[1, 2] / products[0, 2]),
        np.sqrt(products[0, 2] * products[1, 2] / products[0, 1]),
    ]
    return np.asarray(np.minimum(lengths, spreads))


def sample_initialisations(
    tensor: SampleTensor, block: Block, random_state: int
) -> Initialisations:
    """Return initialisations that are rows of the sample."""
    random = np.random.default_rng([random_state, 7])

    def draw(n_starts: int) -> Factors:
        chosen = random.choice(block.rows, n_starts, replace=n_starts > block.rows)
        mask = np.zeros(block.rows, bool)
        mask[chosen] = True
        return tensor.rows(block.keep(mask))

    return draw
