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


def spread_in_box(
    positions: FloatArray,
    sizes: FloatArray,
    box: FloatArray,
    obstacles: FloatArray | None = None,
    obstacle_size: float = 0.0,
) -> FloatArray:
    """Move rectangles apart until none covers another one or an obstacle, and into a box.

    Every pair that overlaps is moved along the axis on which the overlap is smaller. If a stack of
    wide labels does not fit between two sides of the box that way, pairs are moved along both axes.
    Where the box is too small for all rectangles, some still overlap.

    Parameters
    ----------
    positions : (n, 2) array
        Centres.
    sizes : (n, 2) array
        Widths and heights.
    box : (2,) array
        Width and height. Its lower left corner is at zero.
    obstacles : (m, 2) array, optional
        Centres of squares that stay where they are, such as points of a map.
    obstacle_size : float, default 0
        Width of an obstacle.

    Returns
    -------
    (n, 2) array
        Centres.
    """
    half = sizes / 2
    count = len(half)
    centre = np.clip(positions, half, box - half)
    fixed = np.empty((0, 2)) if obstacles is None else obstacles
    first, second = np.triu_indices(count + len(fixed), 1)
    first, second = first[first < count], second[first < count]
    halves = np.vstack([half, np.full((len(fixed), 2), obstacle_size / 2)])
    needed = halves[first] + halves[second]
    # an obstacle stays, and its label moves all the way
    share = np.where(second < count, 0.5, 1.0)
    for step in range(MOST_STEPS):
        everything = np.vstack([centre, fixed])
        apart = everything[second] - everything[first]
        overlap = needed - np.abs(apart)
        covered = (overlap > 1e-6 * needed).all(axis=1)
        if not covered.any():
            break
        along_both = step >= MOST_STEPS // 2 and step % 4 == 0
        for pair in np.flatnonzero(covered):
            axes = [0, 1] if along_both else [int(np.argmin(overlap[pair]))]
            for axis in axes:
                # of two labels in one place the first goes down or to the left
                way = 1.0 if apart[pair, axis] >= 0 else -1.0
                move = way * overlap[pair, axis] * share[pair]
                centre[first[pair], axis] -= move
                if second[pair] < count:
                    centre[second[pair], axis] += move
        centre = np.clip(centre, half, box - half)
    return centre
