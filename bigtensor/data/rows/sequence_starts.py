"""Rows at which a sequence starts, found without reading all sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.repeated_reads import ReadTally, read_repeatedly
from bigtensor.data.sources.row_sources import Source

FIRST_LOOK = 65_536
"""Rows that are looked at first: about a chunk. Longer sequences take twice as many, and so on."""


def sequence_start(source: Source, row: int, stop: int) -> int:
    """Return the first row from ``row`` on at which a sequence starts.

    The entries of a range are read once at most. A sequence that reaches from the first to the last
    row of the range is taken for one sequence, after two reads.

    Parameters
    ----------
    source : Source
        Rows with or without sequences.
    row, stop : int
        Row range within the source, from 1 on.

    Returns
    -------
    int
        ``row`` itself if no sequence starts before ``stop``, or the source has no sequences.
    """
    begin, step = row - 1, FIRST_LOOK
    while begin + 1 < stop:
        end = min(begin + 1 + step, stop)
        ids = _read(source, begin, end)
        if ids is None:
            return row
        changes = np.flatnonzero(ids[1:] != ids[:-1])
        if changes.size:
            return begin + 1 + int(changes[0])
        if begin < row and end < stop:
            last = _read(source, stop - 1, stop)
            if last is None or last[0] == ids[-1]:
                return row
        begin, step = end - 1, 2 * step
    return row


def _read(source: Source, start: int, stop: int) -> NDArray[np.generic] | None:
    """Read sequences, again where a disk or a network fails for a moment."""
    return read_repeatedly(lambda: source.read_sequence(start, stop), ReadTally())
