"""Compensation of FCS events: the spillover matrix of a file, and its removal."""

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.fcs.header import FcsHeader
from bigtensor.data.importers.fcs.keywords import finite_number, whole_number
from bigtensor.errors import DataError, FileFormatError, Setting

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
            f"{header.path} has no spillover matrix ($SPILLOVER or SPILL) to compensate with; "
            "read it without "
            + Setting("compensate")
            + ". In place of "
            + Setting("like")
            + ", give the other options of that import: "
            + Setting("panel")
            + " and "
            + Setting("cofactor")
        )
    try:
        names, matrix = _parse_spillover(text)
        _check_spillover(header, names, matrix)
    except ValueError as error:
        raise FileFormatError(
            f"{header.path}: the spillover matrix {error}; leave this file out, or import all "
            "files without compensation"
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
        raise ValueError(
            f"names {unknown}, which are not among the channels {list(header.channels)}, so that "
            "their signal in other channels cannot be removed; export the file with all channels"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names {repeated} more than once")
    ambiguous = [name for name in names if stored.count(name) > 1]
    if ambiguous:
        raise ValueError(f"names {ambiguous}, but several channels of the file have that name")
    if np.linalg.matrix_rank(matrix) < len(names):
        raise ValueError("has no inverse")
