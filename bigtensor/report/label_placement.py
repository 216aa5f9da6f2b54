"""Places of labels that do not cover each other."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray

MOST_STEPS = 200
"""Steps in which labels are moved apart. Thirty labels in a small figure need about fifty."""


def spread_on_line(positions: FloatArray, gap: float) -> FloatArray:
    """Move positions on a line apart, as little as possible in least squares.

    Parameters
    ----------
    positions : (n,) array
        Positions that the labels should have.
    gap : float
        Smallest distance of neighbours.

    Returns
    -------
    (n,) array
        In the order of the input.
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(positions, kind="stable")
    offset = gap * np.arange(len(positions))
    placed = np.empty(len(positions))
    # without the gaps, positions that keep their distance are positions that do not fall
    placed[order] = isotonic_regression(np.asarray(positions, np.float64)[order] - offset) + offset
    return placed


def spread_in_box(positions: FloatArray, sizes: FloatArray, box: FloatArray) -> FloatArray:
    """Move rectangles apart until none covers another one, and into a box.

    Every pair that overlaps is moved along the axis on which the overlap is smaller. Where the box
    is too small for all rectangles, some still overlap.

    Parameters
    ----------
    positions : (n, 2) array
        Centres.
    sizes : (n, 2) array
        Widths and heights.
    box : (2,) array
        Width and height. Its lower left corner is at zero.

    Returns
    -------
    (n, 2) array
        Centres.
    """
    half = sizes / 2
    centre = np.clip(positions, half, box - half)
    first, second = np.triu_indices(len(centre), 1)
    needed = half[first] + half[second]
    for _ in range(MOST_STEPS):
        apart = centre[second] - centre[first]
        overlap = needed - np.abs(apart)
        covered = (overlap > 1e-6 * needed).all(axis=1)
        if not covered.any():
            break
        for pair in np.flatnonzero(covered):
            axis = int(np.argmin(overlap[pair]))
            # of two labels in one place the first goes down or to the left
            way = 1.0 if apart[pair, axis] >= 0 else -1.0
            move = way * overlap[pair, axis] / 2
            centre[first[pair], axis] -= move
            centre[second[pair], axis] += move
        centre = np.clip(centre, half, box - half)
    return centre
