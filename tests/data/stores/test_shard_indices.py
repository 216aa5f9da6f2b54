"""Indices of shards that an open array keeps: each is read once, and their bytes are bounded."""

import asyncio
from typing import Any

import fsspec
import pytest
from zarr.abc.store import SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import FsspecStore

from bigtensor.data.stores import shard_indices
from bigtensor.data.stores.shard_indices import ShardIndexStore


def test_indices__are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_indices, "MOST_NBYTES", 40)
    filesystem = fsspec.filesystem("memory")
    for name in "abc":
        filesystem.pipe_file(f"/indices/{name}", bytes(20))
    inner = FsspecStore.from_url("memory://indices", read_only=True)
    asked: list[str] = []
    read = inner.get

    async def get(key: str, *arguments: Any) -> Any:
        asked.append(key)
        return await read(key, *arguments)

    monkeypatch.setattr(inner, "get", get)
    store = ShardIndexStore(inner)

    async def read_all() -> None:
        for name in "abcabc":
            end = await store.get(name, default_buffer_prototype(), SuffixByteRequest(16))
            assert len(end) == 16

    asyncio.run(read_all())
    filesystem.rm("/indices", recursive=True)
    assert asked == ["a", "b", "c", "c"]
