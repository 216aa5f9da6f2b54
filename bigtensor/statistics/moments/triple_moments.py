"""First, second and third moments of the features of three groups of views, in one read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes, merge_buffers, padded_width
from bigtensor.features.group_map import GroupMap
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight
from bigtensor.statistics.moments.triple_products import (
    add_in_float64,
    add_triple_products,
    products_shape,
)

_FEATURE_BYTES = 700_000
"""Largest buffer of features: the longer a block, the less its calls cost, while it stays near the
processor."""

_BLOCK_STEP = 512
"""Blocks are multiples of it, between two and eight."""


@dataclass(frozen=True)
class TripleMomentsResult:
    """Means over the rows of products of the augmented features ``f_g = [1, y_g]``.

    Attributes
    ----------
    triple : (q1 + 1, q2 + 1, q3 + 1) float64 array
        ``E[f_1 (x) f_2 (x) f_3]``. Index 0 of a mode leaves its group out: ``triple[1:, 0, 0]`` is
        ``E[y_1]`` and ``triple[1:, 1:, 0]`` is ``E[y_1 y_2']``.
    seconds : three (q_g + 1, q_g + 1) float64 arrays
        ``E[f_g f_g']`` of every group.
    weight : float
        The sum of the sample weights.
    rows : int
        The number of rows.
    """

    triple: FloatArray
    seconds: tuple[FloatArray, FloatArray, FloatArray]
    weight: float
    rows: int


@dataclass(frozen=True, eq=False)
class TripleMoments(SumStatistic[TripleMomentsResult]):
    """Sums of products of the augmented features of three groups of views.

    The triple moment of Song et al. (2014), sec. 3, in projected features; the constant that is
    put before the features of every group makes it hold all lower moments across groups too.

    Features and the sums of one block are computed in the dtype of the maps, the sums of blocks
    in float64.

    Parameters
    ----------
    groups : tuple of three GroupMap
        All with the same dtype.

    Raises
    ------
    ParameterError
        When there are not three groups, or their dtypes differ.
    """

    groups: tuple[GroupMap, GroupMap, GroupMap]

    def __post_init__(self) -> None:
        dtypes = {group.dtype for group in self.groups}
        if len(self.groups) != 3 or len(dtypes) > 1:
            raise ParameterError(
                f"three groups of views with one dtype are needed, got {len(self.groups)} groups "
                f"with {', '.join(sorted(dtypes))}"
            )
        itemsize = np.dtype(self.groups[0].dtype).itemsize
        steps = _FEATURE_BYTES // (self._features_height * itemsize * _BLOCK_STEP)
        object.__setattr__(self, "block_rows", _BLOCK_STEP * min(max(steps, 2), 8))

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        sizes = self._sizes
        return {
            "triple": (sizes, "float64"),
            **{f"second_{g}": ((size, size), "float64") for g, size in enumerate(sizes)},
            "weight": ((), "float64"),
            "rows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows = block.rows
        if not rows:
            return
        room, products, sums, exact = work.take_all(self._own_arrays(rows))
        stops = np.cumsum(self._sizes).tolist()
        features = room[: stops[0]], room[stops[0] : stops[1]], room[stops[1] : stops[2]]
        weighted, weight = room[stops[2] : -1], room[-1]
        for group, augmented in zip(self.groups, features, strict=True):
            augmented[0, :rows] = 1
            augmented[:, rows:] = 0
            values = [block.view(name)[:rows] for name in group.views]
            group.evaluate(values, augmented[1:, :rows].T, work)
        if block.weight is not None:
            np.copyto(weight[:rows], block.weight[:rows], casting="same_kind")
            weight[rows:] = 0
        # the first group comes last and stays weighted for the triple products
        for g in (2, 1, 0):
            size = len(features[g])
            first = weighted[:size]
            if block.weight is None:
                # a copy: NumPy multiplies an array by its own transpose with a slower routine
                np.copyto(first, features[g])
            else:
                np.multiply(features[g], weight, out=first)
            second = sums[: size * size].reshape(size, size)
            np.matmul(first, features[g].T, out=second)
            add_in_float64(state[f"second_{g}"], second, exact)
        add_triple_products(state["triple"], first, features[1], features[2], products, sums, exact)
        state["weight"] += block.total_weight()
        state["rows"] += rows

    def finalize(self, state: State) -> TripleMomentsResult:
        """Divide by the total weight.

        Raises
        ------
        DataError
            When the total weight is not positive.
        """
        weight = positive_weight(state["weight"], "moments")
        return TripleMomentsResult(
            triple=state["triple"] / weight,
            seconds=(
                state["second_0"] / weight,
                state["second_1"] / weight,
                state["second_2"] / weight,
            ),
            weight=weight,
            rows=int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(
            merge_buffers(
                [self._own_arrays(rows), *(group.work_arrays(rows) for group in self.groups)]
            )
        )

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Lengths of the augmented features."""
        first, second, third = (group.n_features + 1 for group in self.groups)
        return first, second, third

    @property
    def _features_height(self) -> int:
        """Rows of the buffer of features: of all groups, of one group weighted, and the weight."""
        return sum(self._sizes) + max(self._sizes) + 1

    def _own_arrays(self, rows: int) -> Buffers:
        """Return the buffers that are not the maps', one column a row of data."""
        sizes, width, dtype = self._sizes, padded_width(rows), self.groups[0].dtype
        largest = max(sizes)
        most = max(math.prod(sizes), largest**2)
        return {
            f"triple.features.{dtype}": ((self._features_height, width), dtype),
            f"triple.products.{dtype}": (products_shape(sizes, rows, dtype), dtype),
            f"triple.sums.{dtype}": ((most,), dtype),
            "triple.exact": ((most,), "float64"),
        }
