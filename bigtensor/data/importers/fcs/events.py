"""Events of FCS files, streamed by row blocks on the linear scale."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.fcs.header import FcsHeader, Offsets, read_fcs_header
from bigtensor.data.importers.fcs.keywords import finite_number, whole_number
from bigtensor.data.importers.source import ImportBlock, ImportSource
from bigtensor.errors import DataError, FileFormatError, ParameterError

__all__ = [
    "Compensation",
    "FcsHeader",
    "Offsets",
    "iterate_fcs",
    "open_fcs",
    "read_compensation",
    "read_fcs_header",
]

_SPILLOVER_KEYS = ("spillover", "spill")


@dataclass(frozen=True)
class Compensation:
    """Removal of the spillover between dyes, on the linear scale.

    Parameters
    ----------
    channels : tuple of str
        The channels it acts on (``$PnN``); all others stay as they are.
    matrix : ndarray of float64, shape (channels, channels)
        The spillover: row i is the signal of dye i in every channel.
    """

    channels: tuple[str, ...]
    matrix: FloatArray

    def __call__(self, values: FloatArray, channels: tuple[str, ...]) -> FloatArray:
        """Return compensated values.

        Parameters
        ----------
        values : ndarray of float64, shape (rows, all channels)
            Values of the linear scale.
        channels : tuple of str
            Names of all channels, in the order of the columns.

        Returns
        -------
        ndarray of float64, of the same shape
            Values on the linear scale. Those of other channels are copied.
        """
        columns = [channels.index(name) for name in self.channels]
        result = values.copy()
        result[:, columns] = np.linalg.solve(self.matrix.T, values[:, columns].T).T
        return result


def read_compensation(header: FcsHeader) -> Compensation:
    """Read the spillover matrix of a file.

    Parameters
    ----------
    header : FcsHeader
        Header that `read_fcs_header` has read.

    Returns
    -------
    Compensation
        From ``$SPILLOVER``, ``SPILLOVER``, ``$SPILL`` or ``SPILL``, in any case.

    Raises
    ------
    DataError
        If the file has none.
    FileFormatError
        If it is damaged or singular, repeats a channel, or names one that the file does not have.
    """
    texts = [header.keywords.get(key, "").strip() for key in _SPILLOVER_KEYS]
    text = next((text for text in texts if text), None)
    if text is None:
        raise DataError(
            f"{header.path} has no spillover matrix ($SPILLOVER or SPILL); "
            "read it without compensation"
        )
    try:
        names, matrix = _parse_spillover(text)
        _check_spillover(header, names, matrix)
    except ValueError as error:
        raise FileFormatError(
            f"{header.path}: the spillover matrix {error}; read the file without compensation"
        ) from error
    return Compensation(names, matrix)


def _parse_spillover(text: str) -> tuple[tuple[str, ...], FloatArray]:
    """Return the channels and the matrix of a spillover keyword."""
    items = [item.strip() for item in text.split(",")]
    size = whole_number(items[0])
    if size is None or size < 1:
        raise ValueError(
            f"is damaged: it begins with {items[0]!r} in place of a number of channels"
        )
    names, numbers = items[1 : size + 1], [item for item in items[size + 1 :] if item]
    if len(numbers) != size * size:
        raise ValueError(
            f"is damaged: {size} channels need {size * size} numbers, but it has {len(numbers)}"
        )
    values = [finite_number(number) for number in numbers]
    unusable = [number for number, value in zip(numbers, values, strict=True) if value is None]
    if unusable:
        raise ValueError(f"is damaged: {unusable} are no finite numbers")
    return tuple(names), np.array(values, dtype=np.float64).reshape(size, size)


def _check_spillover(header: FcsHeader, names: tuple[str, ...], matrix: FloatArray) -> None:
    """Raise a ValueError unless the matrix names channels of the file and has an inverse."""
    stored = [header.keywords[f"p{n}n"].strip() for n in range(1, len(header.channels) + 1)]
    unknown = [name for name in names if name not in header.channels]
    if unknown:
        raise ValueError(f"names {unknown}, but the channels are {list(header.channels)}")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names {repeated} more than once")
    ambiguous = [name for name in names if stored.count(name) > 1]
    if ambiguous:
        raise ValueError(f"names {ambiguous}, but several channels of the file have that name")
    if np.linalg.matrix_rank(matrix) < len(names):
        raise ValueError("has no inverse")


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

    attrs: dict[str, Any] = {"is_mass_cytometry": header.is_mass_cytometry}
    if compensation is not None:
        attrs["compensation"] = {
            "channels": list(compensation.channels),
            "matrix": compensation.matrix.tolist(),
        }
    return ImportSource(
        path=header.path,
        features=header.features,
        blocks=blocks,
        rows=header.n_rows,
        coordinates={"channel": header.channels, "marker": header.markers},
        notes=header.notes,
        attrs=attrs,
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
    record = _record(header)
    with header.path.open("rb") as file:
        file.seek(header.data_start)
        for first in range(0, header.n_rows, rows_per_block):
            rows = min(rows_per_block, header.n_rows - first)
            stored = np.fromfile(file, dtype=record, count=rows)
            if len(stored) < rows:
                raise FileFormatError(
                    f"{header.path} ended at event {first + len(stored)} of {header.n_rows}; "
                    "it was changed while it was read, or the disk failed"
                )
            values = _linearise(header, stored)
            yield values if compensation is None else compensation(values, header.channels)


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
