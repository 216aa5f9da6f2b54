"""Tensor trains of some variables, given or without the others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain

Floats = NDArray[np.float64]


def contracted(
    train: NonnegativeTrain, matrices: Mapping[int, Floats]
) -> tuple[NonnegativeTrain, float]:
    """Return the train of the variables that are left, and the logarithm of its mass.

    Parameters
    ----------
    train : NonnegativeTrain
    matrices : mapping of int to (r, r') array
        From state to state, of every variable that is taken out: at its value if it is given, and
        summed over all values if not.

    Returns
    -------
    train : NonnegativeTrain
        Of at least one variable, numbered by their order among those left; its mass is one.
    log_mass : float
        Logarithm of the density of the given variables.
    """
    left = sorted(set(train.order.tolist()) - set(matrices))
    number = {j: place for place, j in enumerate(left)}
    order, cores = [], []
    before = np.eye(1)
    for j, core in zip(train.order.tolist(), train.cores, strict=True):
        if j in matrices:
            rows, columns = core.shape[0], core.shape[2]
            before = before @ matrices[j][:rows, :columns]
        else:
            order.append(number[j])
            cores.append(np.tensordot(before, core, axes=1))
            before = np.eye(core.shape[2])
    cores[-1] = np.tensordot(cores[-1], before, axes=1)
    log_mass, after = 0.0, np.ones(1)
    for place in reversed(range(len(cores))):
        onward = cores[place] * after
        mass = onward.sum(axis=(1, 2))
        # a state that cannot be reached keeps some distribution, which nothing depends on
        unreachable = mass <= 0
        onward[unreachable] = 1
        cores[place] = onward / onward.sum(axis=(1, 2), keepdims=True)
        largest = float(mass.max())
        log_mass += float(np.log(largest))
        after = mass / largest
    return NonnegativeTrain(np.array(order, np.int64), tuple(cores)), log_mass


def drawn_points(
    train: NonnegativeTrain,
    tables: Floats,
    first: NDArray[np.int64],
    masses: list[Floats],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw a point of every variable, (count, d), counted from the first of the variable.

    Parameters
    ----------
    train : NonnegativeTrain
    tables : (points + 1, r, r) float64 array
    first : (d + 1,) int64 array
    masses : list of (points,) float64 arrays
        Of every variable: integral of the function that is one at a point alone.
    count : int
    rng : Generator
    """
    state = np.zeros(count, np.intp)
    points = np.empty((count, len(train.order)), np.int64)
    for j in train.order:
        of_variable = tables[first[j] : first[j] + len(masses[j])] * masses[j][:, None, None]
        uniform = rng.random(count)
        onward = np.empty(count, np.intp)
        for z in np.unique(state):
            here = np.flatnonzero(state == z)
            steps = np.cumsum(of_variable[:, z].ravel())
            drawn = np.searchsorted(steps, uniform[here] * steps[-1], side="right")
            drawn = np.minimum(drawn, steps.size - 1)
            points[here, j], onward[here] = np.divmod(drawn, tables.shape[1])
        state = onward
    return points
