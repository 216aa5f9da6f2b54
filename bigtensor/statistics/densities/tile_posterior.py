"""Posterior probabilities of a tile of rows, and the sums that all posterior passes share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers
from bigtensor.features.exponentials import exponentiate
from bigtensor.features.row_loops import reducing_row_loop, row_loop
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities, JointTile

HOPELESS = float(np.exp(-40.0))
"""Least part of the largest posterior probability of a row, in float32.

Smaller ones, their products and their shares would be denormal numbers, with which many processors
are a hundred times slower; a thousand components at this floor are less than the rounding of one.
"""

_LOWEST_EXPONENT = {np.dtype("float32"): float(np.log(HOPELESS)), np.dtype("float64"): -np.inf}

_LANES = 16
"""Entries of a row that are compared at once: a vector of the processor in float32."""

_FEW = 32
"""Longest rows that a plain loop searches: in a third of the time of `numpy.argmax`."""


def tally_arrays() -> dict[str, ArraySpec]:
    """Return the arrays of a state that `write_posterior` and `count_rows` add to."""
    return {
        "log_likelihood": ((), "float64"),
        "weight": ((), "float64"),
        "rows": ((), "int64"),
    }


def posterior_buffers(mixture: JointDensities, rows: int) -> Buffers:
    """Return the buffers of `tile_posterior`."""
    return {
        "posterior.joint": ((rows, mixture.width), mixture.dtype),
        "posterior.log_density": ((rows,), "float64"),
    }


def tile_posterior(
    tile: JointTile, work: Workspace, label: IndexArray | None = None
) -> tuple[NDArray[Any], FloatArray]:
    """Compute the posterior probabilities of a tile.

    Parameters
    ----------
    tile : JointTile
        Log joint densities of a few rows.
    work : Workspace
        Buffers that are reused from block to block.
    label : (rows,) intp array, optional
        Receives the first most probable component.

    Returns
    -------
    posterior : (rows, width) array
        Of the dtype of the mixture. Every row sums to one: weights of rows are not in it. Columns
        after the last component mean nothing.
    log_density : (rows,) float64 array
        Relative to the volume of the mixture's densities. Both are valid until the next tile.
    """
    posterior, log_density = work.take_all(posterior_buffers(tile.mixture, tile.rows))
    tile.write_log_joint(posterior)
    normalise(posterior, log_density, label)
    if tile.log_common is not None:
        np.add(log_density, tile.log_common, out=log_density)
    return posterior, log_density


def write_posterior(
    state: State, tile: JointTile, work: Workspace, label: IndexArray | None = None
) -> NDArray[Any]:
    """Compute the posterior probabilities of a tile and add its log-likelihood.

    The log-likelihood belongs to relative densities; see `log_likelihood_of`.

    Parameters
    ----------
    state : State
        With the arrays of `tally_arrays`.
    tile : JointTile
        Log joint densities of a few rows.
    work : Workspace
        Buffers that are reused from block to block.
    label : (rows,) intp array, optional
        Receives the first most probable component.

    Returns
    -------
    (rows, width) array
        As `tile_posterior` returns it.
    """
    posterior, log_density = tile_posterior(tile, work, label)
    if tile.block.weight is None:
        state["log_likelihood"] += log_density.sum()
    else:
        state["log_likelihood"] += np.dot(tile.block.weight[: tile.rows], log_density)
    return posterior


def log_likelihood_of(state: State, mixture: JointDensities) -> float:
    """Return the log-likelihood in a state, of densities in the units of the data."""
    return float(state["log_likelihood"] - state["weight"] * mixture.log_volume)


def count_rows(state: State, block: Block) -> None:
    """Add the rows of a block and their weight."""
    state["weight"] += block.total_weight()
    state["rows"] += block.rows


def normalise(
    log_joint: NDArray[Any],
    log_density: FloatArray,
    label: IndexArray | None = None,
) -> None:
    """Turn log joint densities into posterior probabilities, in place.

    Parameters
    ----------
    log_joint : (rows, width) float64 or float32 array
        Receives ``P(h | x)``; every row sums to one. In float32 none is less than `HOPELESS` times
        the largest of its row.
    log_density : (rows,) float64 array
        Receives ``log sum_h exp(log_joint_h)``.
    label : (rows,) intp array, optional
        Receives the first most probable component.
    """
    if label is None:
        _write_largest(log_joint, log_density)
    else:
        write_labels(log_joint, label)
        _write_labelled(log_joint, label, log_density)
    # the largest term becomes one: many views would underflow otherwise
    lowest = log_joint.dtype.type(_LOWEST_EXPONENT[log_joint.dtype])
    _subtract_largest(log_joint, log_density, lowest)
    # between two loops, because exponentials of many numbers are vector operations
    exponentiate(log_joint)
    _divide_by_total(log_joint, log_density)


def write_labels(joint: NDArray[Any], label: IndexArray) -> None:
    """Write the place of the first largest entry of every row, zero where all are NaN.

    Parameters
    ----------
    joint : (rows, width) array
        A row is free of NaN, or its first entry is NaN.
    label : (rows,) intp array
        Receives the places.
    """
    if joint.shape[1] <= _FEW:
        _write_first_largest(joint, label)
    else:
        np.argmax(joint, axis=1, out=label)


@row_loop
def _write_first_largest(joint: NDArray[Any], label: IndexArray) -> None:
    """Write the place of the first largest entry of every row."""
    for row in range(joint.shape[0]):
        of_row = joint[row]
        place, largest = 0, of_row[0]
        for h in range(1, of_row.size):
            # choices without a branch, which the processor could not predict
            larger = of_row[h] > largest
            place = h if larger else place
            largest = of_row[h] if larger else largest
        label[row] = place


@row_loop
def _write_largest(joint: NDArray[Any], largest: FloatArray) -> None:
    """Write the largest entry of every row, in half the time that its place takes."""
    lanes = np.empty(_LANES, joint.dtype)
    for row in range(joint.shape[0]):
        of_row = joint[row]
        lanes[:] = of_row[0]
        whole = of_row.size - of_row.size % _LANES
        for first in range(0, whole, _LANES):
            part = of_row[first : first + _LANES]
            for lane in range(_LANES):
                lanes[lane] = part[lane] if part[lane] > lanes[lane] else lanes[lane]
        of_lanes = lanes[0]
        for lane in range(1, _LANES):
            of_lanes = lanes[lane] if lanes[lane] > of_lanes else of_lanes
        for h in range(whole, of_row.size):
            of_lanes = of_row[h] if of_row[h] > of_lanes else of_lanes
        largest[row] = of_lanes


@row_loop
def _write_labelled(joint: NDArray[Any], label: IndexArray, labelled: FloatArray) -> None:
    """Write the entry at the label of every row."""
    for row in range(joint.shape[0]):
        labelled[row] = joint[row, label[row]]


@row_loop
def _subtract_largest(log_joint: NDArray[Any], largest: FloatArray, lowest: np.floating) -> None:
    """Subtract its largest entry from every row, down to a lowest difference."""
    for row in range(log_joint.shape[0]):
        of_row = log_joint[row]
        of_largest = log_joint.dtype.type(largest[row])
        for h in range(of_row.size):
            difference = of_row[h] - of_largest
            of_row[h] = lowest if difference < lowest else difference


@reducing_row_loop
def _divide_by_total(joint: NDArray[Any], log_density: FloatArray) -> None:
    """Scale every row to a sum of one, and add the logarithm of its sum before."""
    for row in range(joint.shape[0]):
        of_row = joint[row]
        total = joint.dtype.type(0)
        for h in range(of_row.size):
            total += of_row[h]
        log_density[row] += np.log(np.float64(total))
        for h in range(of_row.size):
            of_row[h] /= total
