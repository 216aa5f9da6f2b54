"""The tensor power method as it was published: power updates, and clusters of their ends."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.power_updates import requested_updates
from bigtensor.decomposition.sample_tensors.requests import Requests
from bigtensor.decomposition.sample_tensors.terms import Factors, Terms, values

NEAR = 0.45
"""Cosine of an end that belongs to a cluster."""


def requested_power_method(
    starts: Factors, orders: tuple[int, ...], n_terms: int, updates: int, cosine: float = NEAR
) -> Requests[Terms]:
    """Ask for power updates, and return their ends, one for every cluster.

    Algorithm 1 with procedure 2 of Anandkumar, Ge and Janzamin (2015): the end of the largest
    weight, after as many updates again, is a term; ends near it in any factor are removed. A
    reference: its terms are biased, and terms that share a column of a factor are lost.

    All ends are updated again at once: a column does not depend on the others, so that the centres
    are those of one cluster after the other.

    Parameters
    ----------
    starts : tuple of (d_m, L) float64 arrays
        Columns to start from.
    orders : tuple of int
        Order of every factor in a term; see `terms.Terms`.
    n_terms : int
        Most terms.
    updates : int
        Power updates from every initialisation.
    cosine : float, default 0.45
        Largest absolute cosine over the factors above which an end is removed: half of the
        incoherence parameter nu of the paper.
    """
    ends = yield from requested_updates(starts, updates)
    weights = np.abs(values(ends, (yield ends)))
    centres = yield from requested_updates(ends, updates)
    chosen: list[int] = []
    while weights.max() > 0 and len(chosen) < n_terms:
        best = int(np.argmax(weights))
        chosen.append(best)
        weights[_near(tuple(centre[:, [best]] for centre in centres), ends) > cosine] = 0
        weights[best] = 0
    columns = tuple(centre[:, chosen] for centre in centres)
    return Terms.of_columns(values(columns, (yield columns)), columns, orders)


def _near(centre: Factors, ends: Factors) -> FloatArray:
    """Return the largest absolute cosine over the factors of every end with a centre."""
    cosines = [np.abs(c[:, 0] @ end) for c, end in zip(centre, ends, strict=True)]
    return np.asarray(np.max(cosines, axis=0))
