"""Posterior probabilities of a tile of rows, and the sums that all posterior passes share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities, JointTile
from bigtensor.statistics.densities.view_densities import normalise


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
    tile: JointTile, work: Workspace, label: NDArray[np.intp] | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
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
    posterior: NDArray[Any]
    log_density: NDArray[np.float64]
    posterior, log_density = (
        work.take(name, shape, dtype)
        for name, (shape, dtype) in posterior_buffers(tile.mixture, tile.rows).items()
    )
    tile.write_log_joint(posterior)
    normalise(posterior, log_density, label)
    if tile.log_common is not None:
        np.add(log_density, tile.log_common, out=log_density)
    return posterior, log_density


def write_posterior(
    state: State, tile: JointTile, work: Workspace, label: NDArray[np.intp] | None = None
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
