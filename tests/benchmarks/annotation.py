"""Populations named by the class that most of their rows have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def annotate_by_majority(
    labels: NDArray[Any], classes: NDArray[Any], n_populations: int
) -> FloatArray:
    """Return the class of every population: the most frequent class of its rows.

    Parameters
    ----------
    labels : (rows,) integer array
        The population of every row.
    classes : (rows,) integer array
        From 0. No row may be without a class.
    n_populations : int

    Returns
    -------
    (populations, classes) float64 array
        One in the column of the class, else zero. A population without rows has no class. Shares
        or probabilities of populations times this array are shares or probabilities of classes.
    """
    counts = np.zeros((n_populations, int(classes.max()) + 1))
    np.add.at(counts, (labels, classes), 1)
    annotation = np.zeros_like(counts)
    occupied = np.flatnonzero(counts.any(axis=1))
    annotation[occupied, counts[occupied].argmax(axis=1)] = 1
    return annotation
