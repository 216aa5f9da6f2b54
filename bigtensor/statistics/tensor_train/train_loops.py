"""Loops over located rows along a tensor train: from its leaves, and back from its root.

The density of the variables from a node on, by the state that enters it, is ``below`` the node; the
density of all other variables, by the same state, is ``above`` it. Both are scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.features.row_loops import RowLoop


def _write_below(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    nodes: IntArray,
    tables: NDArray[np.floating],
    branches: NDArray[np.floating],
    below: NDArray[np.floating],
    scales: NDArray[np.floating],
    log_density: FloatArray,
) -> None:
    """Write what is below every node, times the scale that makes its sum one, and log-densities.

    Below nodes is an (n, m, r) array, scales an (n, m) array.
    """
    m, r = nodes.shape[0], tables.shape[1]
    zero = tables[0, 0, 0] * 0
    for row in range(point.shape[0]):
        product, total = 1.0, 0.0
        for back in range(m):
            node = m - 1 - back
            j, first, second = nodes[node, 0], nodes[node, 1], nodes[node, 2]
            density = zero
            if j < 0:
                for z in range(r):
                    message = zero
                    for u in range(r):
                        part = zero
                        for v in range(r):
                            part += branches[-1 - j, z, u, v] * below[row, second, v]
                        message += below[row, first, u] * part
                    below[row, node, z] = message
            else:
                t, share, rest = point[row, j], left[row, j], right[row, j]
                for z in range(r):
                    one, two = tables[t, z, 0], tables[t + 1, z, 0]
                    if first >= 0:
                        one, two = zero, zero
                        for w in range(r):
                            one += tables[t, z, w] * below[row, first, w]
                            two += tables[t + 1, z, w] * below[row, first, w]
                    below[row, node, z] = share * one + rest * two
            for z in range(r):
                density += below[row, node, z]
            product *= density
            scales[row, node] = 1 / density
            for z in range(r):
                below[row, node, z] *= scales[row, node]
            if product < 1e-200 or product > 1e200:
                total += np.log(product)
                product = 1.0
        log_density[row] = total + np.log(product)


def _add_counts(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    weight: FloatArray,
    nodes: IntArray,
    tables: NDArray[np.floating],
    branches: NDArray[np.floating],
    below: NDArray[np.floating],
    scales: NDArray[np.floating],
    counts: FloatArray,
    branchings: FloatArray,
) -> None:
    """Add, over the density of a row, what is above and below every point and branching."""
    m, r = nodes.shape[0], tables.shape[1]
    above = np.empty((m, r), tables.dtype)
    weighted, onward = np.empty(r, tables.dtype), np.empty(r, tables.dtype)
    for row in range(point.shape[0]):
        above[0] = 0
        above[0, 0] = 1
        for node in range(m):
            j, first, second = nodes[node, 0], nodes[node, 1], nodes[node, 2]
            onward[:] = 0
            if j < 0:
                above[second] = 0
                for z in range(r):
                    here = scales[row, node] * above[node, z]
                    for u in range(r):
                        one, part = here * below[row, first, u], tables[0, 0, 0] * 0
                        two = weight[row] * one
                        for v in range(r):
                            part += branches[-1 - j, z, u, v] * below[row, second, v]
                        for v in range(r):
                            above[second, v] += one * branches[-1 - j, z, u, v]
                            branchings[-1 - j, z, u, v] += two * below[row, second, v]
                        onward[u] += here * part
                for w in range(r):
                    above[first, w] = onward[w]
                continue
            t, share, rest = point[row, j], left[row, j], right[row, j]
            if first < 0:
                for z in range(r):
                    here = weight[row] * scales[row, node] * above[node, z]
                    counts[t, z, 0] += here * share
                    counts[t + 1, z, 0] += here * rest
                continue
            for w in range(r):
                weighted[w] = weight[row] * below[row, first, w]
            for z in range(r):
                here = scales[row, node] * above[node, z]
                one, two = here * share, here * rest
                for w in range(r):
                    onward[w] += one * tables[t, z, w] + two * tables[t + 1, z, w]
                for w in range(r):
                    counts[t, z, w] += one * weighted[w]
                    counts[t + 1, z, w] += two * weighted[w]
            for w in range(r):
                above[first, w] = onward[w]


def _write_above(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    nodes: IntArray,
    tables: NDArray[np.floating],
    branches: NDArray[np.floating],
    below: NDArray[np.floating],
    scales: NDArray[np.floating],
    above: NDArray[np.floating],
    logs: FloatArray,
) -> None:
    """Write what is above every node with a sum of one, and logarithms of all divisors.

    Above nodes is an (n, m, r) array; logarithms, below and above, are an (n, m, 2) array.
    """
    m, r = nodes.shape[0], tables.shape[1]
    for row in range(point.shape[0]):
        for back in range(m):
            node = m - 1 - back
            logs[row, node, 0] = -np.log(scales[row, node])
            for child in nodes[node, 1:]:
                if child >= 0:
                    logs[row, node, 0] += logs[row, child, 0]
        above[row, :, :] = 0
        above[row, 0, 0] = 1
        logs[row, 0, 1] = 0
        for node in range(m):
            j, first, second = nodes[node, 0], nodes[node, 1], nodes[node, 2]
            if first < 0:
                continue
            for z in range(r):
                here = above[row, node, z]
                if j < 0:
                    for u in range(r):
                        part = here * 0
                        for v in range(r):
                            part += branches[-1 - j, z, u, v] * below[row, second, v]
                        above[row, first, u] += here * part
                        one = here * below[row, first, u]
                        for v in range(r):
                            above[row, second, v] += one * branches[-1 - j, z, u, v]
                    continue
                t, share, rest = point[row, j], left[row, j], right[row, j]
                for w in range(r):
                    entry = share * tables[t, z, w] + rest * tables[t + 1, z, w]
                    above[row, first, w] += here * entry
            both = logs[row, node, 1]
            for child, sibling in ((first, second), (second, first)):
                if child < 0:
                    continue
                density = above[row, child].sum()
                for z in range(r):
                    above[row, child, z] /= density
                logs[row, child, 1] = both + np.log(density)
                if sibling >= 0:
                    logs[row, child, 1] += logs[row, sibling, 0]


write_below = RowLoop(_write_below, any_order=True, fused=True)
add_counts = RowLoop(_add_counts, any_order=True, fused=True)
write_above = RowLoop(_write_above, any_order=True, fused=True)
