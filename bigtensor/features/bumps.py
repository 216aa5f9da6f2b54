"""Bumps: densities of one variable that local functions are mixtures of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.features.modes import Mode, Nodes

STEPS_OF_WIDTH = 4
"""Nodes in the standard deviation of the narrowest bump."""

MOST_NODES = 256
"""Nodes of a variable: tables of all nodes are sent to the workers."""


def nodes_of(values: FloatArray, widths: Sequence[float], reach: float) -> Nodes:
    """Return nodes over the range of a sample of one variable.

    Parameters
    ----------
    values : (n,) float64 array
        Not missing.
    widths : sequence of float
        Standard deviations of the bumps.
    reach : float
        Largest distance of a node from the median of the sample; values beyond are in the tails.
    """
    middle = float(np.median(values))
    low = max(float(values.min()), middle - reach) - widths[0]
    high = min(float(values.max()), middle + reach) + widths[0]
    count = min(MOST_NODES, int(np.ceil((high - low) / widths[0] * STEPS_OF_WIDTH)) + 1)
    return Nodes(low, (high - low) / (count - 1), count, float(widths[-1]))


def bumps_on(mode: Mode, widths: Sequence[float]) -> FloatArray:
    """Return densities of one variable at the points of its mode, (p, points + 1).

    Gaussian bumps of every width, at centres that are one width apart, the two tails, and one
    density an atom. A categorical variable has one density a symbol. The last column, of a missing
    entry, is one.

    Parameters
    ----------
    mode : Nodes or Symbols
        Nodes of a measured or symbols of a categorical variable.
    widths : sequence of float
        Standard deviations, ascending.
    """
    if not isinstance(mode, Nodes):
        tables = np.eye(mode.count)
    else:
        points, rows = mode.points, []
        for width in widths:
            count = max(2, int(np.ceil((points[-1] - points[0]) / width)) + 1)
            centres = np.linspace(points[0], points[-1], count)
            rows.append(np.exp(-0.5 * np.square((points - centres[:, None]) / width)))
        ends = np.zeros((2, mode.count))
        ends[0, 0] = ends[1, -1] = 1
        nodes = np.concatenate([*rows, ends])
        tables = np.zeros((len(nodes) + len(mode.atoms), mode.size))
        tables[: len(nodes), : mode.count] = nodes
        tables[len(nodes) :, mode.count :] = np.eye(len(mode.atoms))
        tables /= (tables @ mode.masses)[:, None]
    return np.concatenate([tables, np.ones((len(tables), 1))], axis=1)
