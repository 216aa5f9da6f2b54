"""Indices of shards behind a URL, each read once for an array that stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarr.abc.store import ByteRequest, SuffixByteRequest
from zarr.storage import FsspecStore, WrapperStore

from bigtensor.data.addresses.read_errors import WholeFileError

if TYPE_CHECKING:
    from zarr.core.buffer import Buffer, BufferPrototype

MOST_NBYTES = 2**20
"""Bytes of indices that an open array holds: 16 for every chunk of a shard."""


class ShardIndexStore(WrapperStore[FsspecStore]):
    """Store that keeps the ends of objects, which are the indices of shards.

    Zarr reads the index of a shard for every read of its chunks, and only then knows where they
    are. A read of an object store therefore waits twice for an answer.

    Parameters
    ----------
    store : FsspecStore
        Store that the objects are read from.
    """

    def __init__(self, store: FsspecStore) -> None:
        super().__init__(store)
        self._ends: dict[tuple[str, int], Buffer] = {}
        self._nbytes = 0

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read an object, or a part of it."""
        if not isinstance(byte_range, SuffixByteRequest):
            return await super().get(key, prototype, byte_range)
        place = key, byte_range.suffix
        if place not in self._ends:
            end = await super().get(key, prototype, byte_range)
            if end is not None and len(end) > byte_range.suffix:
                raise WholeFileError(key)
            if end is None or self._nbytes + len(end) > MOST_NBYTES:
                return end
            self._ends[place] = end
            self._nbytes += len(end)
        return self._ends[place]
