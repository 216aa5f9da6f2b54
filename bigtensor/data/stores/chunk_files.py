"""Files of an array compared with those that its shape asks for, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zarr

MOST_TRACKED = 2**24
"""Files of an array, in order, among which the first absent one is named."""


class ChunkFiles:
    """Count of the files of an array that are there, filled name by name.

    Parameters
    ----------
    array : zarr.Array
        Opened array. Its chunks are not read.
    """

    def __init__(self, array: zarr.Array[Any]) -> None:
        self._array = array
        self._edges: tuple[int, ...] = array.shards or array.chunks
        self._grid = tuple(
            -(-length // edge) if length else 0
            for length, edge in zip(array.shape, self._edges, strict=True)
        )
        self.expected = prod(self._grid)
        self.present = 0
        self._seen = bytearray(min(self.expected, MOST_TRACKED))

    def count(self, name: str) -> bool:
        """Count a file below the array's folder; return False if it holds no chunk or shard."""
        place = tuple(map(int, re.findall(r"\d+", name))) if self._grid else ()
        inside = len(place) == len(self._grid) and all(
            position < count for position, count in zip(place, self._grid, strict=True)
        )
        if not inside or self._key(place) != name:
            return False
        self.present += 1
        index = 0
        for position, count in zip(place, self._grid, strict=True):
            index = index * count + position
        if index < len(self._seen):
            self._seen[index] = 1
        return True

    def names(self) -> Iterator[str]:
        """Yield the names of all files that the shape asks for, in the order of the chunks."""
        return map(self._key, product(*map(range, self._grid)))

    def _key(self, place: tuple[int, ...]) -> str:
        """Return the name of the file of a chunk or shard."""
        return str(self._array.metadata.encode_chunk_key(place))

    @property
    def absent(self) -> int:
        """Number of files that are not there."""
        return self.expected - self.present

    def describe_absent(self, variable: str, axis: int = 0) -> str:
        """Return in words how many files are absent, and the first of them with its rows.

        Parameters
        ----------
        variable : str
            The name of the array.
        axis : int, default 0
            The axis of the rows.
        """
        words = f"{self.absent:,} of the {self.expected:,} files of {variable!r} are absent"
        index = self._seen.find(0)
        if index < 0:
            return f"{words}, all of them after the first {MOST_TRACKED:,}"
        place: tuple[int, ...] = ()
        for count in reversed(self._grid):
            index, position = divmod(index, count)
            place = (position, *place)
        words += f"; the first is {variable}/{self._key(place)}"
        if not place:
            return words
        start = place[axis] * self._edges[axis]
        stop = min(start + self._edges[axis], self._array.shape[axis])
        return f"{words}, with rows {start:,} to {stop - 1:,}"
