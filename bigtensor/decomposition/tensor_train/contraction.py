"""Tensor trains of some variables, given or without the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain
from bigtensor.decomposition.tensor_train.structure import NO_CHILD


@dataclass(frozen=True, eq=False)
class _Part:
    """Node that is left, with the nodes that are left below it.

    ``variable`` is None for a branching. ``core`` is (r, p, r') and not scaled.
    """

    variable: int | None
    core: FloatArray
    children: tuple[_Part, ...]


def contracted(
    train: NonnegativeTrain, matrices: Mapping[int, FloatArray]
) -> tuple[NonnegativeTrain, float]:
    """Return the train of the variables that are left, and the logarithm of its mass.

    Parameters
    ----------
    train : NonnegativeTrain
        Train of all variables.
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
    below: dict[int, FloatArray | _Part] = {NO_CHILD: np.ones(1)}
    log_mass = 0.0
    for number in reversed(range(len(train.nodes))):
        j, *children = train.nodes[number].tolist()
        core, variable = train.cores[number], j
        if j in matrices:
            core, variable = matrices[j][: core.shape[0], : core.shape[2]], None
        elif j < 0:
            variable = None
        parts = [below[child] for child in children[: 2 if j < 0 else 1]]
        part, scale = _scaled(_joined(variable, core, parts))
        below[number] = part
        log_mass += scale
    root = below[0]
    assert isinstance(root, _Part)
    flat, nodes = _flattened(root)
    cores, scale = _normalised(nodes, [part.core for part in flat])
    left = np.array(sorted(set(train.order.tolist()) - set(matrices)))
    nodes[:, 0] = [
        j if part.variable is None else np.searchsorted(left, part.variable)
        for j, part in zip(nodes[:, 0], flat, strict=True)
    ]
    return NonnegativeTrain(nodes, cores), log_mass + scale


def _joined(
    variable: int | None, core: FloatArray, below: list[FloatArray | _Part]
) -> FloatArray | _Part:
    """Return a node with what is left below it: a vector if no variable is.

    Parameters
    ----------
    variable : int, optional
        None for a branching, and for a variable that is taken out.
    core : array
        Incoming state, bump of a variable that is left, and one state for every entry of `below`.
    below : list of array or _Part
        Masses by state, or parts.
    """
    parts = tuple(part for part in below if isinstance(part, _Part))
    for back, part in enumerate(reversed(below), 1):
        if not isinstance(part, _Part):
            axis = core.ndim - back
            core = np.expand_dims(np.tensordot(core, part, (axis, 0)), axis)
    kept = [core.ndim - len(below) + k for k, part in enumerate(below) if isinstance(part, _Part)]
    if variable is not None:
        return _Part(variable, core, parts)
    if len(parts) == 2:
        return _Part(None, core, parts)
    if not parts:
        return core.reshape(len(core))
    # states that lead to one part alone are states of that part
    onward = core.reshape(len(core), core.shape[kept[0]])
    return replace(parts[0], core=np.tensordot(onward, parts[0].core, 1))


def _scaled(part: FloatArray | _Part) -> tuple[FloatArray | _Part, float]:
    """Return a part or masses with a largest entry of one, and the logarithm of the factor."""
    core = part.core if isinstance(part, _Part) else part
    largest = max(float(core.max()), np.finfo(np.float64).tiny)
    scaled = core / largest
    log = float(np.log(largest))
    return (replace(part, core=scaled) if isinstance(part, _Part) else scaled), log


def _flattened(root: _Part) -> tuple[list[_Part], IntArray]:
    """Return the parts of a tree, parents before children, and their nodes."""
    parts: list[_Part] = []
    rows: list[list[int]] = []
    branchings = 0
    waiting = [(root, NO_CHILD, 0)]
    while waiting:
        part, parent, side = waiting.pop()
        number = len(parts)
        if parent != NO_CHILD:
            rows[parent][side] = number
        branchings += part.variable is None
        rows.append([-branchings if part.variable is None else 0, NO_CHILD, NO_CHILD])
        parts.append(part)
        children = list(enumerate(part.children, 1))
        waiting += [(child, number, side) for side, child in reversed(children)]
    return parts, np.array(rows, np.int64)


def _normalised(nodes: IntArray, cores: list[FloatArray]) -> tuple[tuple[FloatArray, ...], float]:
    """Return cores of which every state sums to one, and the logarithm of the mass."""
    log_mass = 0.0
    masses: dict[int, FloatArray] = {}
    for number in reversed(range(len(nodes))):
        core = cores[number]
        j, first, second = nodes[number].tolist()
        if j < 0:
            core = core * masses[first][None, :, None] * masses[second][None, None, :]
        elif first != NO_CHILD:
            core = core * masses[first]
        mass = core.sum(axis=(1, 2))
        # a state that cannot be reached keeps some distribution, which nothing depends on
        core = np.where((mass > 0)[:, None, None], core, 1)
        cores[number] = core / core.sum(axis=(1, 2), keepdims=True)
        largest = max(float(mass.max()), np.finfo(np.float64).tiny)
        log_mass += float(np.log(largest))
        masses[number] = mass / largest
    return tuple(cores), log_mass


def drawn_points(
    train: NonnegativeTrain,
    tables: FloatArray,
    first: IntArray,
    masses: list[FloatArray],
    count: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw a point of every variable, (count, d), counted from the first of the variable.

    Parameters
    ----------
    train : NonnegativeTrain
        Train that the points are drawn from.
    tables : (points + 1, r, r) float64 array
        Matrices from state to state at every point; see `node_tables`.
    first : (d + 1,) int64 array
        First point of every variable.
    masses : list of (points,) float64 arrays
        Of every variable: integral of the function that is one at a point alone.
    count : int
        Number of rows to draw.
    rng : Generator
        Source of the random numbers.
    """
    states = {0: np.zeros(count, np.intp)}
    points = np.empty((count, len(masses)), np.int64)
    for number, (j, *children) in enumerate(train.nodes.tolist()):
        core = train.cores[number]
        if j >= 0:
            of_variable = tables[first[j] : first[j] + len(masses[j]), : len(core)]
            core = (of_variable * masses[j][:, None, None]).transpose(1, 0, 2)
        drawn = _drawn_pairs(core, states.pop(number), rng)
        if j < 0:
            states[children[0]], states[children[1]] = drawn
        else:
            points[:, j], states[children[0]] = drawn
    return points


def _drawn_pairs(
    core: FloatArray, state: IndexArray, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """Draw two numbers of every row from the joint probabilities that its state has.

    ``core`` is (r, m, r') and not negative. ``state`` holds the incoming state of every row.
    """
    uniform = rng.random(len(state))
    drawn = np.empty(len(state), np.intp)
    for z in np.unique(state):
        here = np.flatnonzero(state == z)
        steps = np.cumsum(core[z].ravel())
        cell = np.searchsorted(steps, uniform[here] * steps[-1], side="right")
        drawn[here] = np.minimum(cell, steps.size - 1)
    return np.divmod(drawn, core.shape[2])
