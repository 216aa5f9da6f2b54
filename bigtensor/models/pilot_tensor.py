"""Moment tensor of a pilot sample: its point, its constants and the rows that count."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.decomposition.sample_tensors.discovery import Starts
from bigtensor.decomposition.sample_tensors.terms import Factors
from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import DataError
from bigtensor.models.sample_tensor import SampleTensor

_REACH_QUANTILE = 0.9
_REACH = 10.0
"""Distance of the farthest row that counts, over the distance that nine of ten rows are within.

A rare component may lie far out; one row of a thousand times the usual distance would make up the
third moment alone.
"""

_POINT_STEP = 1 / 64
"""Grid of the point of standardised features, in about standard deviations."""

_INDEPENDENT = 1e-12
"""Nuclear norm of the cross-covariance of two views, relative to their spreads, that is zero."""


def centred_tensor(
    block: Block,
    columns: tuple[tuple[int, int], ...],
    orders: tuple[int, ...],
    scale: float,
    dtype: str,
    *,
    standardised: bool = False,
) -> tuple[SampleTensor, Block]:
    """Return the tensor of rows about their mean, and the rows that are not far from it.

    The point of standardised features is near the mean: the moment of three views with a constant
    is as good about any point.

    Parameters
    ----------
    block : Block
        The pilot sample.
    columns : tuple of (start, stop)
        Columns of every factor.
    orders : tuple of int
    scale : float
        Constant features in units of the typical length of a column; zero for none.
    dtype : str
        Of products.
    standardised : bool, default False
        Take the tensor of features in units of their standard deviation.

    Raises
    ------
    DataError
        When all rows have the same values in a factor.
    """
    near, parts = np.ones(block.rows, bool), []
    for start, stop in columns:
        part = _Centred.of(block.values[: block.rows, start:stop], standardised=standardised)
        if not part.reach > 0:
            raise DataError(
                f"columns {start} to {stop - 1} of the data have the same values in nine of ten "
                "rows of the sample: leave constant features out"
            )
        near &= part.distances <= part.reach
        parts.append(part)
    constants = np.zeros(len(columns))
    if scale:
        constants = scale * _typical_lengths([part.rows[near] for part in parts])
    tensor = SampleTensor(
        columns,
        orders,
        tuple(part.point for part in parts),
        constants,
        tuple(part.reach for part in parts),
        dtype,
        tuple(part.scales for part in parts),
    )
    return tensor, block.keep(near)


@dataclass(frozen=True, eq=False)
class _Centred:
    """Rows of a factor about their mean, in units of their scales."""

    rows: FloatArray
    point: FloatArray
    scales: FloatArray
    distances: FloatArray
    reach: float

    @classmethod
    def of(cls, values: NDArray[np.floating], *, standardised: bool) -> _Centred:
        """Centre rows without regard to the few that are far from the others."""
        exact = values.astype(np.float64)
        scales = _spreads(exact) if standardised else np.ones(exact.shape[1])
        distances = np.linalg.norm((exact - np.median(exact, axis=0)) / scales, axis=1)
        typical = float(np.quantile(distances, _REACH_QUANTILE))
        kept = distances <= _REACH * typical
        point = exact[kept].mean(axis=0)
        if standardised:
            scales = standard_scales(exact[kept])
            point = on_grid(point, scales)
        elif typical > 0:
            # third powers of values in units far from theirs vanish or overflow
            scales = np.full_like(scales, 2.0 ** np.floor(np.log2(typical)))
        rows = (exact - point) / scales
        distances = np.linalg.norm(rows, axis=1)
        reach = _REACH * float(np.quantile(distances, _REACH_QUANTILE))
        return cls(rows, point, scales, distances, reach)


def on_grid(point: FloatArray, scales: FloatArray) -> FloatArray:
    """Return a point near another: sums of all rows about their very mean are rounding errors.

    Parameters
    ----------
    point, scales : (d,) float64 arrays
        The point moves by a hundredth of a scale at most.
    """
    step = _POINT_STEP * 2.0 ** np.floor(np.log2(scales))
    return np.asarray(np.round(point / step) * step)


def standard_scales(values: NDArray[np.floating]) -> FloatArray:
    """Return the standard deviation of every feature, and one for a feature of one value.

    The mean of equal values is rounded, so that their standard deviation need not be zero.

    Parameters
    ----------
    values : (n, d) array
    """
    deviations = values.std(axis=0, dtype=np.float64)
    return np.asarray(np.where(np.ptp(values, axis=0) > 0, deviations, 1.0))


def _spreads(values: FloatArray) -> FloatArray:
    """Return the distance between the tenth and the ninetieth percentile of every feature."""
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    spreads = high - low
    return np.asarray(np.where(spreads > 0, spreads, standard_scales(values)))


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


def sample_starts(tensor: SampleTensor, block: Block, random_state: int) -> Starts:
    """Return starts that are rows of the sample.

    Parameters
    ----------
    tensor : SampleTensor
    block : Block
    random_state : int
    """
    random = np.random.default_rng([random_state, 7])

    def draw(n_starts: int) -> Factors:
        chosen = random.choice(block.rows, n_starts, replace=n_starts > block.rows)
        mask = np.zeros(block.rows, bool)
        mask[chosen] = True
        return tensor.rows(block.keep(mask))

    return draw
