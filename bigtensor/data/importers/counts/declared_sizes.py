"""Comparison of the sizes that a file of counts declares with its number of bytes."""

from __future__ import annotations

from pathlib import Path

from bigtensor.data.values.matrices import MOST_NUMBERED
from bigtensor.errors import FileFormatError


def check_declared(path: Path, **sizes: int) -> None:
    """Refuse numbers of documents or words that are too large for the file.

    Every document and every word takes memory, even without a count, so that a damaged line of
    sizes could fill the memory. A size of up to `MOST_NUMBERED` is always read. A larger one is
    read only if the file has at least one byte for each document or word.

    Parameters
    ----------
    path : Path
        File that declares the sizes.
    **sizes : int
        Declared numbers by the name of what is counted, such as ``documents``.

    Raises
    ------
    FileFormatError
    """
    nbytes = path.stat().st_size
    for name, size in sizes.items():
        if not 0 <= size <= max(MOST_NUMBERED, nbytes):
            raise FileFormatError(
                f"{path} declares {size:,} {name}, but has only {nbytes:,} bytes, so its sizes are "
                f"probably damaged; restore it from a copy, or leave out {' and '.join(sizes)} "
                "without a count"
            )
