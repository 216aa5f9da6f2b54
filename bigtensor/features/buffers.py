"""Work buffers of kernels: named, allocated once, padded for the cache."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

Buffers = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Name, shape and dtype of the buffers that a block of rows needs."""

CACHE_LINE = 64
"""Bytes of a line of the cache, and of the widest registers."""

SMALL_PRODUCT = 1_000_000
"""Multiplications up to which OpenBLAS multiplies matrices without copying them first.

It does so on processors with AVX-512. Others copy the matrices of any product.
"""

_MOST_PADDING = 1 / 8
"""Largest part of a row, relative to its entries, that is spent on whole cache lines."""


class Scratch(Protocol):
    """Workspace of a feature map: named buffers that are allocated once."""

    def take(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised C-contiguous array, the same memory for the same name."""
        ...

    def take_all(self, buffers: Buffers) -> list[NDArray[Any]]:
        """Return an uninitialised array for every name, in the order of the mapping."""
        ...


def padded_width(rows: int) -> int:
    """Return the least odd multiple of 16 that is not below ``rows``.

    Buffers with one column a row of data use it as their length: at a power of two, elements that
    are used together fall on the same lines of the cache (a product is then 1.5 times slower).
    """
    sixteens = -(-rows // 16)
    return 16 * (sixteens + 1 - sixteens % 2)


def width_in_lines(entries: int, dtype: DTypeLike) -> int:
    """Return the length of rows that are whole cache lines, or ``entries`` where few fill one.

    A loop over such rows has no rest that the processor would take one by one, and no load that
    touches two lines: together a quarter of its time for 150 entries in float32.
    """
    in_line = CACHE_LINE // np.dtype(dtype).itemsize
    width = -(-entries // in_line) * in_line
    return width if width <= (1 + _MOST_PADDING) * entries else entries


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised C-contiguous array that begins with a cache line."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(nbytes + CACHE_LINE, np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    return memory[begin : begin + nbytes].view(dtype).reshape(shape)


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
