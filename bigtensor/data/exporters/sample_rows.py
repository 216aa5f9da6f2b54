"""Row ranges of the files that a store was imported from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.data.stores.zarr_groups import open_whole_group, read_rows
from bigtensor.errors import DataError

if TYPE_CHECKING:
    import zarr

_BLOCK_ROWS = 1_048_576
"""Codes that are read at once: 4 MiB of int32."""


def rows_of_samples(cells: str | os.PathLike[str], rows: int) -> dict[str, tuple[int, int]]:
    """Return the first row and the number of rows of every sample.

    Parameters
    ----------
    cells : path
        A store with ``sample_id`` (rows,), as an import makes it.
    rows : int
        The number of labels, which has to be that of the rows.

    Raises
    ------
    StoreReadError
        When the store cannot be read.
    DataError
        When it has another number of rows, no samples, or samples whose rows lie apart.
    """
    path = os.fspath(cells)
    codes: Any = dict(open_whole_group(path).arrays()).get("sample_id")
    names = [] if codes is None else [str(name) for name in codes.attrs.get("categories", [])]
    if not names:
        raise DataError(
            f"{path} has no sample_id with categories, so that nothing says which rows belong to "
            "which file; give the store that 'bigtensor import' made of the files"
        )
    if int(codes.shape[0]) != rows:
        raise DataError(
            f"{path} has {int(codes.shape[0]):,} rows, but there are {rows:,} labels; give the "
            "store that was labelled"
        )
    places: dict[int, tuple[int, int]] = {}
    for code, start, stop in _runs(codes, rows):
        before, count = places.get(code, (start, 0))
        if before + count != start:
            raise DataError(
                f"the rows of sample {names[code]!r} of {path} do not follow each other, so that "
                "its samples are not files; give the store that was imported from the files"
            )
        places[code] = before, count + stop - start
    return {names[code]: place for code, place in places.items() if code >= 0}


def _runs(codes: zarr.Array[Any], rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield runs of equal codes in blocks of rows: code, first row and the row after the last."""
    for start in range(0, rows, _BLOCK_ROWS):
        block = read_rows(codes, start, min(start + _BLOCK_ROWS, rows))
        edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
        for first, last in pairwise(edges):
            yield int(block[first]), start + first, start + last
