"""A statistic of the features of rows, in place of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes, merge_buffers
from bigtensor.features.group_map import GroupMap
from bigtensor.statistics.base import (
    OfOtherRows,
    Result,
    RowFunction,
    RowOutput,
    State,
    Statistic,
    Workspace,
)
from bigtensor.statistics.sources.linear_sources import SOURCE
from bigtensor.statistics.sub_blocks import sub_blocks

_BUFFER = "mapped_rows.features"


@dataclass(frozen=True, eq=False)
class MappedRows(OfOtherRows[Result]):
    """A statistic that is shown the features of every row as the columns of a block.

    Parameters
    ----------
    statistic : Statistic
        Of dense rows; without a halo.
    features : GroupMap
        Of one view: all columns of a block.
    """

    statistic: Statistic[Result]
    features: GroupMap

    def __post_init__(self) -> None:
        assert not self.statistic.halo
        super().__post_init__()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the features of one block."""
        features = _evaluated(self.features, block, work)
        columns = dict.fromkeys(self.features.views, slice(0, features.shape[1]))
        mapped = replace(block.without_halo(), values=features, slices=columns)
        self.statistic.update(state, mapped, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the statistic's workspace, and of the features."""
        return self.statistic.work_nbytes(rows) + buffers_nbytes(_buffers(self.features, rows))


@dataclass(frozen=True, eq=False)
class MappedSources(RowFunction):
    """Sources of every row: its features less a constant.

    Parameters
    ----------
    features : GroupMap
        Of one view, all columns of a block; as many features as sources.
    offset : (k,) float64 array
        Constant that is subtracted from the features.
    dtype : str
        Of the sources.
    """

    features: GroupMap
    offset: FloatArray
    dtype: str

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The sources, one a component."""
        return (RowOutput(SOURCE, self.dtype, {"component": len(self.offset)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the sources of the rows of ``block``."""
        features = _evaluated(self.features, block, work)
        np.subtract(features, self.offset, out=features, casting="same_kind")
        np.copyto(out[SOURCE], features, casting="same_kind")

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(_buffers(self.features, rows))


def mapped_in_memory(features: GroupMap, rows: Block) -> Block:
    """Return a block of the features of a few rows, such as a pilot sample, in float64.

    Parameters
    ----------
    features : GroupMap
        Of one view: all columns of a block.
    rows : Block
        Rows to map.
    """
    values, work = np.empty((rows.rows, features.n_features)), Workspace()
    for window, block in sub_blocks(rows, MappedRows.block_rows):
        values[window] = _evaluated(features, block, work)
    columns = dict.fromkeys(features.views, slice(0, features.n_features))
    return replace(rows.without_halo(), values=values, slices=columns)


def _evaluated(features: GroupMap, block: Block, work: Workspace) -> NDArray[Any]:
    """Return the features of the rows of a block, ``(rows, q)``."""
    transposed = work.take(_BUFFER, (features.n_features, block.rows), features.dtype)
    if block.rows:
        features.evaluate([block.dense_values[: block.rows]], transposed.T, work)
    return transposed.T


def _buffers(features: GroupMap, rows: int) -> Buffers:
    """Return the buffers of the features of a block."""
    own = {_BUFFER: ((features.n_features, rows), features.dtype)}
    return merge_buffers([own, features.work_arrays(rows)])
