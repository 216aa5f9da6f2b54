"""Cut rows that arrive in pieces of any length into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.data.rows.code_maps import CodeMap
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.row_sources import ROW_VARIABLES, Columns
from bigtensor.data.values.integer_ids import integer_ids
from bigtensor.data.values.plain_arrays import native, without_mask
from bigtensor.data.values.row_values import joined, laid_out


def cut_blocks(
    views: Views,
    pieces: Iterator[Columns],
    start: int,
    stop: int,
    block_rows: int,
    halo: int = 0,
    code_map: CodeMap | None = None,
    source_start: int = 0,
    read_as: np.dtype[Any] | None = None,
) -> Iterator[Block]:
    """Cut pieces of any length into blocks of ``block_rows`` rows and their halo.

    The pieces hold the rows from ``start`` to ``stop`` plus the halo, and none after them. Blocks
    are windows on them; rows are copied only where a block begins in one piece and ends in the
    next, where codes are translated, and where values are converted to the type ``read_as``.
    """
    slices, left = views.slices, None
    for piece in pieces:
        for stretch in _stretches(
            left, _laid_out(piece, views, code_map, read_as), block_rows, halo
        ):
            cursor = 0
            while cursor + block_rows + halo <= _rows(stretch) and start + block_rows <= stop:
                yield _block(stretch, slices, cursor, start, block_rows, halo, source_start)
                cursor, start = cursor + block_rows, start + block_rows
            left = _window(stretch, slice(cursor, None))
    cursor = 0
    while left is not None and start < stop:
        rows = min(block_rows, stop - start)
        yield _block(left, slices, cursor, start, rows, halo, source_start)
        cursor, start = cursor + rows, start + rows


def _laid_out(
    piece: Columns, views: Views, code_map: CodeMap | None, read_as: np.dtype[Any] | None
) -> Columns:
    """Put the features of the views one beside the other, with the codes that are known."""
    values = laid_out(piece.values, views.order, read_as)
    if code_map is not None:
        values = code_map.translated(values, views.feature_names)
    weight = None if piece.weight is None else np.asarray(without_mask(piece.weight), np.float64)
    sequence = None if piece.sequence is None else integer_ids(piece.sequence)
    group = None if piece.group is None else native(piece.group)
    return Columns(values, weight, sequence, group)


def _stretches(
    left: Columns | None, piece: Columns, block_rows: int, halo: int
) -> Iterator[Columns]:
    """Return the rows to cut: the blocks that begin in the rows left over, and those after them."""
    if left is None or not _rows(left):
        yield piece
        return
    after = -_rows(left) % block_rows
    if _rows(piece) < after + halo:
        yield _joined(left, piece)
        return
    yield _joined(left, _window(piece, slice(after + halo)))
    yield _window(piece, slice(after, None))


def _block(
    stretch: Columns,
    slices: dict[str, slice],
    cursor: int,
    start: int,
    rows: int,
    halo: int,
    source_start: int,
) -> Block:
    """Return a window on the rows that are held."""
    window = _window(stretch, slice(cursor, cursor + rows + halo))
    along = {name: getattr(window, name) for name in ROW_VARIABLES}
    return Block(window.values, slices, start, rows, source_start=source_start, **along)


def _rows(columns: Columns) -> int:
    """Return the number of rows."""
    return int(columns.values.shape[0])


def _joined(left: Columns, piece: Columns) -> Columns:
    """Put rows one after the other."""
    return _map_columns(joined, left, piece)


def _window(columns: Columns, rows: slice) -> Columns:
    """Return some of the rows, not copied."""
    return _map_columns(lambda array: array[rows], columns)


def _map_columns(function: Callable[..., Any], *columns: Columns) -> Columns:
    """Apply a function to the values and to every row variable."""

    def apply(name: str) -> Any:
        arrays = [getattr(part, name) for part in columns]
        return None if arrays[0] is None else function(*arrays)

    return Columns(apply("values"), *map(apply, ROW_VARIABLES))
