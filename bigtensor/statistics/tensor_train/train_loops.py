"""Loops over located rows along a tensor train: densities, and expected counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.row_loops import RowLoop


def _write_log_densities(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    order: NDArray[np.int64],
    tables: NDArray[np.floating],
    log_density: NDArray[np.float64],
) -> None:
    """Write the logarithm of the density of every row."""
    r = tables.shape[1]
    state, onward = np.empty(r, tables.dtype), np.empty(r, tables.dtype)
    for row in range(point.shape[0]):
        state[:] = 0
        state[0] = 1
        product, total = 1.0, 0.0
        for place in range(order.shape[0]):
            j = order[place]
            t, below, above = point[row, j], left[row, j], right[row, j]
            onward[:] = 0
            for z in range(r):
                one, two = below * state[z], above * state[z]
                for w in range(r):
                    onward[w] += one * tables[t, z, w] + two * tables[t + 1, z, w]
            density = 0.0
            for w in range(r):
                density += onward[w]
            product *= density
            scale = 1 / density
            for w in range(r):
                state[w] = onward[w] * scale
            if product < 1e-200 or product > 1e200:
                total += np.log(product)
                product = 1.0
        log_density[row] = total + np.log(product)


def _add_counts(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    tables: NDArray[np.floating],
    counts: NDArray[np.float64],
    log_density: NDArray[np.float64],
) -> None:
    """Add expected moves between states at every point, and write logarithms of densities."""
    d, r = order.shape[0], tables.shape[1]
    states = np.empty((d + 1, r), tables.dtype)
    matrices = np.empty((d, r, r), tables.dtype)
    scales = np.empty(d, tables.dtype)
    after, before = np.empty(r, tables.dtype), np.empty(r, tables.dtype)
    for row in range(point.shape[0]):
        states[0] = 0
        states[0, 0] = 1
        product, total = 1.0, 0.0
        for place in range(d):
            j = order[place]
            t, below, above = point[row, j], left[row, j], right[row, j]
            states[place + 1] = 0
            for z in range(r):
                here = states[place, z]
                for w in range(r):
                    entry = below * tables[t, z, w] + above * tables[t + 1, z, w]
                    matrices[place, z, w] = entry
                    states[place + 1, w] += here * entry
            density = 0.0
            for w in range(r):
                density += states[place + 1, w]
            product *= density
            scales[place] = 1 / density
            for w in range(r):
                states[place + 1, w] *= scales[place]
            if product < 1e-200 or product > 1e200:
                total += np.log(product)
                product = 1.0
        log_density[row] = total + np.log(product)
        after[:] = 1
        share = weight[row]
        for back in range(d):
            place = d - 1 - back
            j = order[place]
            t, below, above = point[row, j], left[row, j], right[row, j]
            scale = scales[place]
            for z in range(r):
                here = share * scale * states[place, z]
                one, two = here * below, here * above
                message = tables[t, 0, 0] * 0
                for w in range(r):
                    message += matrices[place, z, w] * after[w]
                    counts[t, z, w] += one * after[w]
                    counts[t + 1, z, w] += two * after[w]
                before[z] = message * scale
            for z in range(r):
                after[z] = before[z]


def _write_curves(
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
    order: NDArray[np.int64],
    tables: NDArray[np.floating],
    place: int,
    first: int,
    curves: NDArray[np.float64],
    log_density: NDArray[np.float64],
) -> None:
    """Write the density of one variable at its points, given the others, and theirs."""
    d, r = order.shape[0], tables.shape[1]
    state, after, other = np.empty(r), np.empty(r), np.empty(r)
    for row in range(point.shape[0]):
        total = 0.0
        state[:] = 0
        state[0] = 1
        for here in range(place):
            j = order[here]
            t, below, above = point[row, j], left[row, j], right[row, j]
            density = 0.0
            for w in range(r):
                value = 0.0
                for z in range(r):
                    value += state[z] * (below * tables[t, z, w] + above * tables[t + 1, z, w])
                other[w] = value
                density += value
            total += np.log(density)
            for w in range(r):
                state[w] = other[w] / density
        after[:] = 1
        for back in range(d - 1 - place):
            j = order[d - 1 - back]
            t, below, above = point[row, j], left[row, j], right[row, j]
            largest = 0.0
            for z in range(r):
                value = 0.0
                for w in range(r):
                    value += (below * tables[t, z, w] + above * tables[t + 1, z, w]) * after[w]
                other[z] = value
                largest = max(largest, value)
            total += np.log(largest)
            for z in range(r):
                after[z] = other[z] / largest
        for t in range(curves.shape[1]):
            value = 0.0
            for z in range(r):
                for w in range(r):
                    value += state[z] * tables[first + t, z, w] * after[w]
            curves[row, t] = value
        # the last point of a variable is its missing entry: the density of the others
        rest = curves[row, curves.shape[1] - 1]
        for t in range(curves.shape[1]):
            curves[row, t] /= rest
        log_density[row] = total + np.log(rest)


write_log_densities = RowLoop(_write_log_densities, any_order=True, fused=True)
add_counts = RowLoop(_add_counts, any_order=True, fused=True)
write_curves = RowLoop(_write_curves, any_order=True, fused=True)
