"""Events of FCS files, streamed by row blocks on the linear scale."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.fcs.compensation import read_compensation
from bigtensor.data.importers.fcs.header import FcsHeader, Offsets, read_fcs_header
from bigtensor.data.importers.source import ImportBlock, ImportSource
from bigtensor.data.stores.layout import FCS_DATASET
from bigtensor.data.values.import_record import COMPENSATION, UNCOMPENSATED, changes_values
from bigtensor.errors import DataError, FileFormatError, ParameterError

__all__ = [
    "FcsHeader",
    "Offsets",
    "iterate_fcs",
    "open_fcs",
    "read_events",
    "read_fcs_header",
]

_WINDOWS = 16
"""Windows of a sample of events: enough to see what changes along a file, and few reads."""


def open_fcs(
    path: "str | os.PathLike[str]",
    *,
    compensate: bool = False,
    dataset: int = 0,
    offsets: Offsets | None = None,
    label: ArrayLike | None = None,
) -> ImportSource:
    """Open an FCS file for import.

    Parameters
    ----------
    path : str or path-like
        The file.
    compensate : bool, default False
        If True, remove the spillover between dyes.
    dataset : int, default 0
        Which data set of a file that holds several.
    offsets : {"header", "text"}, optional
        Where to look up the place of the events if the HEADER and the TEXT segment disagree.
    label : array-like of int, shape (events,), optional
        A label for every event.

    Returns
    -------
    ImportSource
        Features are named by their marker if it is unique, else by their channel.

    Raises
    ------
    FileFormatError
        If the file is damaged, or holds values that cannot be read faithfully.
    DataError
        If there is no spillover matrix to compensate with, or not one label an event.
    """
    header = read_fcs_header(path, dataset=dataset, offsets=offsets)
    compensation = read_compensation(header) if compensate else None
    labels = None if label is None else np.asarray(label)
    if labels is not None and labels.shape != (header.n_rows,):
        raise DataError(
            f"labels of {header.path} have the shape {labels.shape}, but it has {header.n_rows} "
            "events; give one label an event"
        )

    def blocks(rows: int) -> Iterator[ImportBlock]:
        first = 0
        for raw in iterate_fcs(header, rows):
            values = raw if compensation is None else compensation(raw, header.channels)
            last = first + len(raw)
            yield ImportBlock(values, raw, {} if labels is None else {"label": labels[first:last]})
            first = last

    def windows(rows: int) -> Iterator[ImportBlock]:
        with header.path.open("rb") as file:
            for first, last in _spread_windows(header.n_rows, rows):
                raw = _read(header, file, first, last - first)
                values = raw if compensation is None else compensation(raw, header.channels)
                yield ImportBlock(values, raw)

    attrs: dict[str, Any] = {
        "is_mass_cytometry": header.is_mass_cytometry,
        FCS_DATASET: header.dataset,
    }
    if compensation is not None:
        attrs[COMPENSATION] = {
            "channels": list(compensation.channels),
            "matrix": compensation.matrix.tolist(),
        }
    elif channels := _channels_with_spillover(header):
        attrs[UNCOMPENSATED] = channels
    return ImportSource(
        path=header.path,
        features=header.features,
        blocks=blocks,
        rows=header.n_rows,
        coordinates={"channel": header.channels, "marker": header.markers},
        notes=header.notes,
        attrs=attrs,
        windows=windows,
    )


def iterate_fcs(
    source: "FcsHeader | str | os.PathLike[str]",
    rows_per_block: int = 65_536,
    *,
    compensate: bool = False,
) -> Iterator[FloatArray]:
    """Read the events of an FCS file block by block.

    Parameters
    ----------
    source : FcsHeader, str or path-like
        The file, or its header from :func:`~bigtensor.data.importers.fcs.header.read_fcs_header`.
    rows_per_block : int, default 65536
        Rows of a block; the last may be shorter. No more than one block is held at a time.
    compensate : bool, default False
        If True, remove the spillover between dyes.

    Yields
    ------
    ndarray of float64, shape (rows, channels)
        Values of the linear scale: bits beyond ``$PnR`` are cleared in integers, logarithmic
        amplification (``$PnE``) is undone, linear channels are divided by their gain (``$PnG``),
        and Time is in seconds where ``$TIMESTEP`` says so.

    Raises
    ------
    FileFormatError
        If the file is damaged, or became shorter while it was read.
    DataError
        If there is no spillover matrix to compensate with.
    ParameterError
        If `rows_per_block` is not positive.
    """
    if rows_per_block < 1:
        raise ParameterError(f"rows_per_block must be at least 1, not {rows_per_block}")
    header = source if isinstance(source, FcsHeader) else read_fcs_header(source)
    compensation = read_compensation(header) if compensate else None
    with header.path.open("rb") as file:
        for first in range(0, header.n_rows, rows_per_block):
            rows = min(rows_per_block, header.n_rows - first)
            values = _read(header, file, first, rows)
            yield values if compensation is None else compensation(values, header.channels)


def read_events(
    header: FcsHeader, events: Sequence[int], *, compensate: bool = False
) -> FloatArray:
    """Read single events of an FCS file, on the linear scale.

    Parameters
    ----------
    header : FcsHeader
        Header of the file.
    events : sequence of int
        Numbers of the events, from 0.
    compensate : bool, default False
        If True, remove the spillover between dyes.

    Returns
    -------
    ndarray of float64, shape (events, channels)
        As `iterate_fcs` yields them.

    Raises
    ------
    FileFormatError
        If the file is damaged, or became shorter while it was read.
    DataError
        If there is no spillover matrix to compensate with.
    """
    compensation = read_compensation(header) if compensate else None
    with header.path.open("rb") as file:
        values = np.concatenate([_read(header, file, event, 1) for event in events])
    return values if compensation is None else compensation(values, header.channels)


def _channels_with_spillover(header: FcsHeader) -> list[str]:
    """Return the channels of the spillover matrix of a file; none without a usable matrix."""
    try:
        compensation = read_compensation(header)
    except DataError:
        return []
    matrix = compensation.matrix.tolist()
    return list(compensation.channels) if changes_values(matrix) else []


def _spread_windows(total: int, rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last event of windows that hold so many events, evenly spread."""
    if total <= rows:
        yield 0, total
        return
    number = min(_WINDOWS, rows)
    length = rows // number
    for first in np.linspace(0, total - length, number).astype(int).tolist():
        yield first, first + length


def _read(header: FcsHeader, file: BinaryIO, first: int, rows: int) -> FloatArray:
    """Read events from an opened file, on the linear scale."""
    record = _record(header)
    file.seek(header.data_start + first * record.itemsize)
    stored = np.fromfile(file, dtype=record, count=rows)
    if len(stored) < rows:
        raise FileFormatError(
            f"{header.path} ended at event {first + len(stored)} of {header.n_rows}; "
            "it was changed while it was read, or the disk failed"
        )
    return _linearise(header, stored)


def _record(header: FcsHeader) -> np.dtype[Any]:
    """Return the structured type of one stored event, with one field per channel."""
    return np.dtype([(f"c{j}", dtype) for j, dtype in enumerate(header.dtypes)])


def _linearise(header: FcsHeader, stored: NDArray[Any]) -> FloatArray:
    """Turn stored numbers into values of the linear scale."""
    values = np.empty((len(stored), len(header.channels)))
    for j, name in enumerate(header.channels):
        number = stored[f"c{j}"]
        if number.dtype.kind == "u":
            # The standard lets an instrument leave rubbish in the bits above the range.
            number = number & number.dtype.type(_mask(header.ranges[j], number.dtype.itemsize))
        column = values[:, j]
        column[:] = number
        decades, offset = header.amplification[j]
        if decades > 0:
            np.multiply(column, decades / header.ranges[j], out=column)
            np.power(10.0, column, out=column)
            column *= offset
        elif name.lower() == "time":
            column *= header.time_step
        elif header.gains[j] not in (0.0, 1.0):
            column /= header.gains[j]
    return values


def _mask(value_range: float, itemsize: int) -> int:
    """Return the bit mask of an integer channel with this range."""
    used = max(int(value_range) - 1, 0).bit_length()
    return int((1 << min(used, 8 * itemsize)) - 1) if used else (1 << 8 * itemsize) - 1
