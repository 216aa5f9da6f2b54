"""Codes that are drawn from the probabilities of components."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray


def drawn_codes(
    table: FloatArray, label: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw a code of every row from the probabilities of its component: ``(rows,)``.

    Parameters
    ----------
    table : (categories, k) float64 array
        Probabilities, which sum to one for every component.
    label : (rows,) integer array
        Component of every row.
    rng : Generator
        Source of random numbers.
    """
    codes = np.empty(len(label), np.int32)
    edges, uniform = np.cumsum(table, axis=0)[:-1], rng.random(len(label))
    for component in np.unique(label):
        rows = label == component
        codes[rows] = np.searchsorted(edges[:, component], uniform[rows], side="right")
    return codes
