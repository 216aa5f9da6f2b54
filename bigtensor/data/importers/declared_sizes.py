"""Sizes that a file of counts declares, against the bytes that it has."""

from __future__ import annotations

from pathlib import Path

from bigtensor.data.matrices import MOST_NUMBERED
from bigtensor.errors import FileFormatError


def check_declared(path: Path, **sizes: int) -> None:
    """Refuse numbers of documents and words of which nearly all would have no count.

    Every document and every word takes memory, also without a count, so that a damaged line of
    sizes could fill it. Up to `MOST_NUMBERED` are read in any case, and more of them only where the
    file has a byte for each.

    Parameters
    ----------
    path : Path
    **sizes : int
        Number of each, by its name in the plural.

    Raises
    ------
    FileFormatError
    """
    nbytes = path.stat().st_size
    for name, size in sizes.items():
        if not 0 <= size <= max(MOST_NUMBERED, nbytes):
            raise FileFormatError(
                f"{path} declares {size:,} {name} and has {nbytes:,} bytes; its sizes are damaged: "
                "restore it from a copy, or leave out words and documents without a count"
            )
