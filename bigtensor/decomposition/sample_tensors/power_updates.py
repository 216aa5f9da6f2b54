"""Alternating power updates of many columns at once, and the clustering of their ends."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.requests import Requests, answered
from bigtensor.decomposition.sample_tensors.terms import (
    Contract,
    Factors,
    Terms,
    smallest_cosines,
    unit_columns,
    values,
)
from bigtensor.descending_order import descending_order


def power_updates(contract: Contract, columns: Factors, updates: int) -> Factors:
    """Replace columns by the contraction of the tensor with them, and normalise.

    All factors are updated from the same columns (Anandkumar, Ge and Janzamin 2015, eq. 14).

    Parameters
    ----------
    contract : callable
        Contraction of the tensor with columns; see `terms.Contract`.
    columns : tuple of (d_m, L) arrays
        Columns to start from.
    updates : int
        Number of updates.

    Returns
    -------
    tuple of (d_m, L) float64 arrays
        Unit columns.
    """
    return answered(requested_updates(columns, updates), contract)


def requested_updates(columns: Factors, updates: int) -> Requests[Factors]:
    """Ask for the contractions of `power_updates`."""
    columns = unit_columns(columns)
    for _ in range(updates):
        columns = unit_columns((yield columns))
    return columns


def distinct_terms(
    weights: FloatArray, columns: Factors, orders: tuple[int, ...], cosine: float
) -> Terms:
    """Keep the heaviest of columns that lie close to each other, in the order of their weights.

    Parameters
    ----------
    weights : (L,) float64 array
        Weights of the columns.
    columns : tuple of (d_m, L) arrays
        Unit columns.
    orders : tuple of int
        Order of every factor in a term; see `terms.Terms`.
    cosine : float
        Smallest absolute cosine over all factors above which two columns are one. Two terms may
        share the column of one factor.
    """
    close = smallest_cosines(columns, columns) > cosine
    taken = np.zeros(len(weights), bool)
    kept: list[int] = []
    for start in descending_order(np.abs(weights)).tolist():
        if not taken[start]:
            kept.append(start)
            taken |= close[start]
    chosen = np.array(kept, int)
    return Terms.of_columns(weights[chosen], tuple(c[:, chosen] for c in columns), orders)


def requested_ends(starts: Factors, updates: int) -> Requests[tuple[FloatArray, Factors]]:
    """Ask for power updates; return the value of the tensor at each of their ends, and the ends."""
    ends = yield from requested_updates(starts, updates)
    return values(ends, (yield ends)), ends
