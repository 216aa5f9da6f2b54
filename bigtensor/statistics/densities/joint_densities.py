"""Contract of the densities of a mixture: all that labels and posterior probabilities need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, aligned_empty, buffers_nbytes
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.sub_blocks import sub_blocks

BLOCK_ROWS = 15_360
"""Rows of a block that is evaluated in tiles: a multiple of the steps of all tiles."""


class JointTile(Protocol):
    """Log joint densities of a few rows, computed in buffers of a workspace.

    A tile raises a DataError for a row outside the support of all components, as `PoissonTile`
    does. Without a density in any component, probabilities of the row would be NaN, and its label
    the first component.
    """

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def block(self) -> Block:
        """The rows."""

    @property
    def mixture(self) -> JointDensities:
        """The densities."""

    @property
    def log_common(self) -> FloatArray | None:
        """Log of the factor that all components of a row share: ``(rows,)``, or None for one.

        Valid after `write_log_joint`, which leaves this factor out.
        """

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write the log joint densities of every row and component less `log_common`.

        Parameters
        ----------
        out : (rows, width) array
            C-contiguous, of the dtype of the mixture.
        """


class JointDensities(ABC):
    """Joint densities of components and rows: ``log pi_h + log p(x | h)``.

    Every row has a positive density in some component. Tiles raise a DataError for other rows,
    whose probabilities and log-density would be NaN.

    Attributes
    ----------
    weights : (components,) float64 array
        Positive mixing weights.
    """

    weights: FloatArray

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.weights.size)

    @property
    def width(self) -> int:
        """Length of the rows of joint densities: the components, and padding after them."""
        return self.n_components

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Dtype of joint densities and posterior probabilities: float32 or float64."""

    @property
    @abstractmethod
    def log_volume(self) -> float:
        """Natural logarithm of the volume, in units of the data, that densities are relative to."""

    @property
    @abstractmethod
    def tile_rows(self) -> int:
        """Rows that are evaluated at once."""

    @abstractmethod
    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, JointTile]]:
        """Yield a block in tiles of `tile_rows` rows. Every tile is valid until the next one."""

    @abstractmethod
    def tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a tile of ``rows`` rows."""

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace of tiles of blocks of ``rows`` rows."""
        return buffers_nbytes(self.tile_arrays(min(rows, self.tile_rows)))

    def log_joint(self, block: Block, out: NDArray[Any], work: Workspace) -> None:
        """Write the log joint densities of every row and component.

        Densities are relative to the volume of `log_volume`.

        Parameters
        ----------
        block : Block
            Dense. A row with a NaN receives NaN, unless the densities marginalise missing entries.
        out : (rows, components) array
            Of `dtype` or float64.
        work : Workspace
            Buffers that are reused from block to block.
        """
        longest = aligned_empty((min(block.rows, self.tile_rows), self.width), self.dtype)
        for window, tile in self.tiles(block, work):
            joint = longest[: tile.rows]
            tile.write_log_joint(joint)
            of_components = joint[:, : self.n_components]
            if tile.log_common is None:
                np.copyto(out[window], of_components)
            else:
                np.add(of_components, tile.log_common[:, None], out=out[window])


class ReusedTile(Protocol):
    """Tile whose buffers serve any block of its number of rows."""

    rows: int
    block: Block


Tile = TypeVar("Tile", bound=ReusedTile)


def reused_tiles(
    block: Block, tile_rows: int, make_tile: Callable[[int], Tile]
) -> Iterator[tuple[slice, Tile]]:
    """Yield a block in tiles, which use the same memory one by one.

    Parameters
    ----------
    block : Block
        Block to cut.
    tile_rows : int
        Rows of every tile but the last, which may be shorter.
    make_tile : callable
        Makes a tile with buffers for a number of rows.

    Yields
    ------
    slice
        The rows of the tile, counted from the first row of ``block``.
    Tile
        Valid until the next one.
    """
    tile: Tile | None = None
    for window, rows in sub_blocks(block, tile_rows):
        if tile is None or tile.rows != rows.rows:
            tile = make_tile(rows.rows)
        tile.block = rows
        yield window, tile
