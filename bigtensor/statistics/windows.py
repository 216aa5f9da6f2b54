"""Windows of rows for a pilot sample or for first iterations, spread evenly over all rows."""

from __future__ import annotations

WINDOWS = 64
"""Windows of a pilot: it then costs a fraction of a read of the data."""

MIN_WINDOW_ROWS = 4096
"""Rows of a window, unless the sample needs more."""

SETTLING_ROWS = 1_000_000
"""Rows of the moments and of the passes that settle a mixture, where data have 4 times as many.

On 11 sets of five million rows (3 to 8 components, Fisher ratios 1 to 4), moments of a million
rows, four passes over the same rows and two over all rows left kernel mixtures an error of 1.046
times the error of a kernel density that knows the labels. Moments of all rows and four passes over
all rows left 1.071 and took 1.9 times the processor time. With 200,000 rows the last singular
values of four overlapping components were 43 to 54 times their noise. Where they are noise, as in
simulated cytometry of ten million rows, the initialisation is doubtful with all rows too, and the
passes settle it.

Gaussian mixtures of 20 full covariances, ten million rows of 10 features: after 19 iterations over
a million rows, 6 over all rows ended at a mean log-likelihood of -5.1071 nats and 61 seconds of
processor time. Ten iterations over all rows alone had reached -5.1074, and took 70.
"""

SETTLING_WINDOWS = 32
"""Ranges that these rows lie in, about as long as the chunks of a store."""


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


def settling_windows(rows: int) -> tuple[tuple[int, int], ...] | None:
    """Return the rows on which a mixture settles before it is polished on all; None for all.

    Parameters
    ----------
    rows : int
        Rows of the data.
    """
    if rows < 4 * SETTLING_ROWS:
        return None
    return sample_windows(rows, SETTLING_ROWS // 2, SETTLING_WINDOWS)
