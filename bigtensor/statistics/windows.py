"""Where a pilot looks: a few windows of rows, spread evenly over all of them."""

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
        the sample; None for small data, where all rows are looked at.
    """
    length = max(MIN_WINDOW_ROWS, -(-2 * size // windows))
    if rows <= windows * length:
        return None
    last = rows - length
    starts = [last * window // (windows - 1) for window in range(windows)]
    return tuple((start, start + length) for start in starts)
