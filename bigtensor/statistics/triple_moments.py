"""First, second and third moments of the features of three groups of views, in one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.maps import Buffers, GroupMap, buffers_nbytes, merge_buffers, padded_width
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace

_SMALL_PRODUCT = 1_000_000
"""Multiplications up to which OpenBLAS multiplies without copying its operands first."""

_PRODUCT_BYTES = 256 * 1024
"""Largest buffer of products of two features: it stays in the second-level cache."""


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

    triple: NDArray[np.float64]
    seconds: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
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

    block_rows: ClassVar[int] = 1024

    def __post_init__(self) -> None:
        dtypes = {group.dtype for group in self.groups}
        if len(self.groups) != 3 or len(dtypes) > 1:
            raise ParameterError(
                f"three groups of views with one dtype are needed, got {len(self.groups)} groups "
                f"with {', '.join(sorted(dtypes))}"
            )

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
        buffers = {
            name: work.take(name, shape, dtype)
            for name, (shape, dtype) in self._own_arrays(rows).items()
        }
        features = [buffers[f"triple.features.{g}"] for g in range(3)]
        for group, augmented in zip(self.groups, features, strict=True):
            augmented[0] = 1
            values = [block.view(name)[:rows] for name in group.views]
            group.evaluate(values, augmented[1:, :rows].T, work)
        features = [augmented[:, :rows] for augmented in features]
        weight = None if block.weight is None else block.weight[:rows]
        # the first group comes last and stays weighted for the triple products
        for g in (2, 1, 0):
            weighted = buffers["triple.weighted"][: self._sizes[g], :rows]
            _weigh(features[g], weight, weighted)
            second = buffers["triple.second"][: self._sizes[g] ** 2].reshape(self._sizes[g], -1)
            np.matmul(weighted, features[g].T, out=second)
            state[f"second_{g}"] += second
        self._add_triple(state["triple"], weighted, features[1], features[2], buffers)
        state["weight"] += block.total_weight()
        state["rows"] += rows

    def finalize(self, state: State) -> TripleMomentsResult:
        """Divide by the total weight.

        Raises
        ------
        DataError
            When the total weight is not positive.
        """
        weight = float(state["weight"])
        if not weight > 0:
            raise DataError(
                f"the {int(state['rows'])} rows have a total weight of {weight:g}; moments need "
                "at least one row with a positive weight"
            )
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

    def _slices_at_once(self, rows: int) -> int:
        """Return how many slices of the triple moment to make in one product."""
        first, second, third = self._sizes
        itemsize = np.dtype(self.groups[0].dtype).itemsize
        fast = _SMALL_PRODUCT // (second * third * rows)
        near = _PRODUCT_BYTES // (second * padded_width(rows) * itemsize)
        return max(1, min(fast, near, first))

    def _own_arrays(self, rows: int) -> Buffers:
        """Return the buffers that are not the maps'."""
        sizes, width, dtype = self._sizes, padded_width(rows), self.groups[0].dtype
        products = (self._slices_at_once(rows), sizes[1], width)
        return {
            **{f"triple.features.{g}": ((size, width), dtype) for g, size in enumerate(sizes)},
            "triple.weighted": ((max(sizes), width), dtype),
            "triple.products": (products, dtype),
            "triple.second": ((max(sizes) ** 2,), dtype),
            "triple.block": (sizes, dtype),
        }

    def _add_triple(
        self,
        total: NDArray[np.float64],
        first: NDArray[np.floating],
        second: NDArray[np.floating],
        third: NDArray[np.floating],
        buffers: Mapping[str, NDArray[np.floating]],
    ) -> None:
        """Add the triple moment of one block: products of two groups against the third."""
        rows = first.shape[1]
        products, sums = buffers["triple.products"], buffers["triple.block"]
        step = len(products)
        for a in range(0, len(first), step):
            slices = products[: min(step, len(first) - a)]
            np.multiply(first[a : a + step, None], second, out=slices[:, :, :rows])
            flat = slices.reshape(-1, products.shape[2])[:, :rows]
            np.matmul(flat, third.T, out=sums[a : a + step].reshape(-1, len(third)))
        total += sums


def _weigh(
    features: NDArray[np.floating],
    weight: NDArray[np.float64] | None,
    out: NDArray[np.floating],
) -> None:
    """Write the features times the weights; a copy without weights.

    A copy, because NumPy multiplies an array by its own transpose with a routine that is slower
    for matrices of this shape than the general one.
    """
    if weight is None:
        np.copyto(out, features)
    else:
        np.multiply(features, weight, out=out)
