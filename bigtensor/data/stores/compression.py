"""Choice of compressors for the chunks of a store."""

from typing import Any

import numcodecs
import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import BloscCodec

_WORTH_COMPRESSING = 0.8
"""The part of their size to which values have to shrink, or they are stored as they are: compressed
values take twice as long to read. Those of cytometers shrink to 0.9, codes to almost nothing."""

_TRIED_ROWS, _TRIED_WINDOWS = 4096, 16
"""Rows and windows of the first shard that are compressed to find that out."""


def choose_compressors(values: NDArray[Any]) -> list[BytesBytesCodec]:
    """Choose compressors by the rows of the first shard."""
    starts = range(0, len(values), max(_TRIED_ROWS, len(values) // _TRIED_WINDOWS))
    tried = np.concatenate([values[start : start + _TRIED_ROWS] for start in starts])
    small = numcodecs.Blosc("lz4", clevel=3, shuffle=numcodecs.Blosc.SHUFFLE).encode(tried)
    if len(small) > _WORTH_COMPRESSING * tried.nbytes:
        return []
    return [BloscCodec(cname="lz4", clevel=3, shuffle="shuffle")]


def answer_compressors() -> list[BytesBytesCodec]:
    """Return the compressor of answers for rows: Zstandard of the bits of equal significance.

    Few bits of a label vary: labels take half the space of Zstandard alone, and half the time.
    """
    return [BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle")]
