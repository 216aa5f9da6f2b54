"""Latent trees that a train may run along: a chain, or a balanced binary tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import IntArray

NO_CHILD = -1
"""Child of a node that has fewer than two."""


def chain(order: Sequence[int]) -> IntArray:
    """Return the nodes of a chain along variables, (d, 3).

    Parameters
    ----------
    order : sequence of int
        Variables.

    Returns
    -------
    (m, 3) int64 array
        Every node comes before its children. The first column is the variable of a node, the others
        are the numbers of its children, or -1.
    """
    d = len(order)
    onward = [*range(1, d), NO_CHILD]
    return np.column_stack([order, onward, np.full(d, NO_CHILD)]).astype(np.int64)


def balanced(order: Sequence[int]) -> IntArray:
    """Return the nodes of a binary tree over variables that halves them again and again.

    Parameters
    ----------
    order : sequence of int
        Variables, which are the leaves.

    Returns
    -------
    (m, 3) int64 array
        As of `chain`. A branching has no variable: the first column is ``-1 - b`` for branching b.
    """
    nodes: list[list[int]] = []
    branchings = 0

    def add(leaves: Sequence[int]) -> int:
        """Add the tree of some leaves, and return its number."""
        nonlocal branchings
        number = len(nodes)
        if len(leaves) == 1:
            nodes.append([int(leaves[0]), NO_CHILD, NO_CHILD])
            return number
        nodes.append([-1 - branchings, NO_CHILD, NO_CHILD])
        branchings += 1
        half = (len(leaves) + 1) // 2
        nodes[number][1:] = [add(leaves[:half]), add(leaves[half:])]
        return number

    add(order)
    return np.array(nodes, np.int64)


def with_independent(nodes: IntArray, variables: Sequence[int]) -> IntArray:
    """Return the nodes with further variables one below the other, below the last node.

    Parameters
    ----------
    nodes : (m, 3) int64 array
        Of a chain or tree. The last node is a variable without a child.
    variables : sequence of int
        Further variables, which depend on no other one: links to them have one state.
    """
    further = [[j, NO_CHILD, NO_CHILD] for j in variables]
    joined = np.array([*nodes.tolist(), *further], np.int64)
    for number in range(len(nodes), len(joined)):
        joined[number - 1, 1] = number
    return joined


def variables_of(nodes: IntArray) -> IntArray:
    """Return the variables of the nodes, in their order, (d,)."""
    return np.asarray(nodes[nodes[:, 0] >= 0, 0])
