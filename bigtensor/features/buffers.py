"""Work buffers of kernels: named, allocated once, padded for the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

Buffers = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Name, shape and dtype of the buffers that a block of rows needs."""


class Scratch(Protocol):
    """Workspace of a feature map: named buffers that are allocated once."""

    def take(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised C-contiguous array, the same memory for the same name."""
        ...


def padded_width(rows: int) -> int:
    """Return the least odd multiple of 16 that is not below ``rows``.

    Buffers with one column a row of data use it as their length: at a power of two, elements that
    are used together fall on the same lines of the cache (a product is then 1.5 times slower).
    """
    sixteens = -(-rows // 16)
    return 16 * (sixteens + 1 - sixteens % 2)


def merge_buffers(needs: Sequence[Buffers]) -> Buffers:
    """Return the buffers of all, the larger one where two have the same name."""
    merged: dict[str, tuple[tuple[int, ...], DTypeLike]] = {}
    for buffers in needs:
        for name, (shape, dtype) in buffers.items():
            if name not in merged or np.prod(merged[name][0]) < np.prod(shape):
                merged[name] = (shape, dtype)
    return merged


def buffers_nbytes(buffers: Buffers) -> int:
    """Return the bytes of all buffers."""
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in buffers.values())
