"""Blosc frames that are cut short.

Blosc believes the length in the header of a frame, reads on past the end of a shorter one and
returns what lies in memory there. Counts of strings in front of such values ask for any memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zarr
from zarr.storage import LocalStore

_HEADER_BYTES = 16
"""Bytes before the values of a Blosc frame. The last four are the length of the frame."""


def refuse_cut_frames(element: object) -> None:
    """Compare the chunks of a small element of a Zarr store on a disk with their headers.

    Parameters
    ----------
    element : zarr.Array, zarr.Group or any other object
        Of a group, all arrays in it are looked at. Other objects are passed over.

    Raises
    ------
    ValueError
        When a chunk is shorter than its frame.
    """
    if isinstance(element, zarr.Group):
        for _, array in element.arrays():
            refuse_cut_frames(array)
    elif (
        isinstance(element, zarr.Array)
        and isinstance(element.store, LocalStore)
        and _is_stored_by_blosc(element)
    ):
        for path in Path(element.store.root, element.path).rglob("*"):
            if path.is_file() and not path.name.startswith((".", "zarr.json")):
                _compare(path)


def _is_stored_by_blosc(array: zarr.Array[Any]) -> bool:
    """Return True if every chunk is one frame."""
    compressors = array.compressors
    if array.shards is not None or not compressors:
        return False
    name = type(compressors[-1]).__name__
    return name in ("Blosc", "BloscCodec")


def _compare(path: Path) -> None:
    """Compare one chunk with its header."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    expected = int.from_bytes(header[12:], "little")
    size = path.stat().st_size
    if len(header) < _HEADER_BYTES or size < expected:
        raise ValueError(f"{path} has {size:,} bytes in place of {expected:,}, it is cut short")
