"""Windows of rows for a pilot sample, spread evenly over all rows."""

from __future__ import annotations

WINDOWS = 64
"""Windows of a pilot: it then costs a fraction of a read of the data."""

MIN_WINDOW_ROWS = 4096
"""Rows of a window, unless the sample needs more."""


def sample_windows(
    rows: int, size: int, windows: int = WINDOWS
) -> tuple[tuple[int, int], ...] | None:
    """Choose the row ranges from which a sample is drawn.

    Parameters
    ----------
    rows : int
        Rows of the data.
    size : int
        Rows of the sample.
    windows : int, default 64
        Ranges to choose: fewer and longer ones are read faster.

    Returns
    -------
    tuple of (start, stop), optional
        Disjoint ranges, evenly spread by global row index, that hold at least twice
        the sample; None for small data, where all rows are looked at. Their length is a power of
        two, and they start at multiples of it: in a store whose chunks are longer powers of two a
        window then lies in one chunk, and nothing else is decoded for it.
    """
    least_length = max(MIN_WINDOW_ROWS, -(-2 * size // windows))
    length = 1 << (least_length - 1).bit_length()
    if rows <= windows * length:
        return None
    last = rows - length
    places = [last * window // (windows - 1) // length for window in range(windows)]
    return tuple((place * length, (place + 1) * length) for place in places)
