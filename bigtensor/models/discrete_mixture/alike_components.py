"""Components that have the same probabilities: distances, and one in their place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.discrete_mixture.solution import DiscreteSolution

ALIKE = 0.02
"""Mean total variation distance over the views below which two components are one."""


def component_distances(solution: DiscreteSolution) -> NDArray[np.float64]:
    """Return the mean total variation distance of every two components over the views.

    Views of one category are left out.

    Parameters
    ----------
    solution : DiscreteSolution
        A mixture.

    Returns
    -------
    (components, components) float64 array
        Between 0 and 1.
    """
    k = solution.n_components
    distance = np.zeros((k, k))
    for table in solution.probabilities:
        for h in range(k):
            distance[h] += 0.5 * np.abs(table - table[:, [h]]).sum(axis=0)
    return distance / max(1, sum(size > 1 for size in solution.sizes))


def with_alike_merged(solution: DiscreteSolution) -> DiscreteSolution:
    """Return a mixture without two components that are alike, in the order of the weights.

    The closest two are merged until none are closer than `ALIKE`. The probabilities of a merged
    component are the means by weight.

    Parameters
    ----------
    solution : DiscreteSolution
        A mixture.
    """
    while solution.n_components > 1:
        distance = component_distances(solution)
        np.fill_diagonal(distance, np.inf)
        first, second = np.unravel_index(np.argmin(distance), distance.shape)
        if distance[first, second] >= ALIKE:
            break
        solution = _with_merged(solution, int(first), int(second))
    return solution.by_weight()


def _with_merged(solution: DiscreteSolution, kept: int, merged: int) -> DiscreteSolution:
    """Return a mixture whose two components are one."""
    weights, tables = solution.weights.copy(), []
    weights[kept] += weights[merged]
    part = solution.weights[merged] / weights[kept]
    for table in solution.probabilities:
        of_both = table.copy()
        of_both[:, kept] = (1 - part) * table[:, kept] + part * table[:, merged]
        tables.append(np.delete(of_both, merged, axis=1))
    return DiscreteSolution(np.delete(weights, merged), tuple(tables))
