"""Moment tensor of a pilot sample: its point, its constants and the rows that count."""

from __future__ import annotations

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


def centred_tensor(
    block: Block,
    columns: tuple[tuple[int, int], ...],
    orders: tuple[int, ...],
    scale: float,
    dtype: str,
) -> tuple[SampleTensor, Block]:
    """Return the tensor of rows about their mean, and the rows that are not far from it.

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

    Raises
    ------
    DataError
        When all rows have the same values in a factor.
    """
    near = np.ones(block.rows, bool)
    points, reach = [], []
    for start, stop in columns:
        rows = block.values[: block.rows, start:stop].astype(np.float64)
        distance = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
        kept = distance <= _REACH * np.quantile(distance, _REACH_QUANTILE)
        point = rows[kept].mean(axis=0)
        distance = np.linalg.norm(rows - point, axis=1)
        most = _REACH * float(np.quantile(distance, _REACH_QUANTILE))
        if not most > 0:
            raise DataError(
                f"columns {start} to {stop - 1} of the data have the same values in nine of ten "
                "rows of the sample: leave constant features out"
            )
        near &= distance <= most
        points.append(point)
        reach.append(most)
    kept_block = block.keep(near)
    constants = np.zeros(len(columns))
    if scale:
        constants = scale * typical_lengths(kept_block, columns, points)
    tensor = SampleTensor(columns, orders, tuple(points), constants, tuple(reach), dtype)
    return tensor, kept_block


def typical_lengths(
    block: Block, columns: tuple[tuple[int, int], ...], points: list[NDArray[np.float64]]
) -> FloatArray:
    r"""Return the typical length of the columns of three views, about the points.

    The cross-covariance of two views is :math:`\sum_j w_j a_j b_j^T`, without noise; its nuclear
    norm is about the product of their typical lengths.
    """
    rows = [
        block.values[: block.rows, start:stop].astype(np.float64) - point
        for (start, stop), point in zip(columns, points, strict=True)
    ]
    products = {
        (a, b): float(np.linalg.norm(rows[a].T @ rows[b] / block.rows, "nuc"))
        for a, b in combinations(range(3), 2)
    }
    spreads = np.array([np.sqrt(np.square(of_view).sum(axis=1).mean()) for of_view in rows])
    if min(products.values()) <= 1e-12 * float(spreads.prod()) ** (2 / 3):
        return spreads
    lengths = [
        np.sqrt(products[0, 1] * products[0, 2] / products[1, 2]),
        np.sqrt(products[0, 1] * products[1, 2] / products[0, 2]),
        np.sqrt(products[0, 2] * products[1, 2] / products[0, 1]),
    ]
    return np.minimum(lengths, spreads)


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
