"""Atoms: values of measured variables that have a probability of their own."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.features.modes import distinct_values, is_on

LEAST_SHARE = 0.05
"""Share of the rows that an atom has more than."""

MOST_ATOMS = 19
"""Number of atoms that a variable has at most."""

_STANDS_OUT = 6.0
"""Weight of an atom, in the median weight of the values beside it.

Every value of a rounded variable may have many rows. Its neighbours then have as many.
"""

_NEIGHBOURS = 3
"""Values beside an atom, on either side."""

_LEAST_ROWS = 5
"""Rows that an atom has at least."""

_CONTINUOUS_ROWS = 20
_CONTINUOUS_VALUES = 5
"""Rows and values beside atoms that a variable has at least: a density is fitted to them."""


def atoms_of(column: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the atoms of a measured variable, ascending.

    Parameters
    ----------
    column : (n,) float64 array
        NaN is missing.
    weight : (n,) float64 array
        Weights of the rows.
    """
    present = ~np.isnan(column)
    values, of_row = distinct_values(column[present])
    counts, weights = np.bincount(of_row), np.bincount(of_row, weight[present])
    is_atom = (weights > LEAST_SHARE * weights.sum()) & (counts >= _LEAST_ROWS)
    for place in np.flatnonzero(is_atom):
        left = weights[max(place - _NEIGHBOURS, 0) : place]
        beside = np.concatenate([left, weights[place + 1 : place + 1 + _NEIGHBOURS]])
        # entries are on an atom but for rounding, so that no other value may lie that near
        near = np.count_nonzero(is_on(values, values[place : place + 1])) > 1
        stands_out = len(beside) > 0 and weights[place] >= _STANDS_OUT * np.median(beside)
        is_atom[place] = stands_out and not near
    others = counts[~is_atom]
    if others.sum() < _CONTINUOUS_ROWS or len(others) < _CONTINUOUS_VALUES:
        return np.empty(0)
    return np.asarray(values[is_atom])
