"""Posterior probabilities of a few rows, and what every posterior pass sums besides them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.features.buffers import Buffers
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.densities import MixtureDensities, Tile, normalise


def tally_arrays() -> dict[str, ArraySpec]:
    """Return the arrays of a state that `write_posterior` and `count_rows` add to."""
    return {
        "log_likelihood": ((), "float64"),
        "weight": ((), "float64"),
        "rows": ((), "int64"),
    }


def posterior_buffers(mixture: MixtureDensities, rows: int) -> Buffers:
    """Return the buffers of `write_posterior`, those of `normalise` apart."""
    return {
        "posterior.joint": ((mixture.n_components, rows), mixture.dtype),
        "posterior.log_density": ((rows,), "float64"),
    }


def write_posterior(state: State, tile: Tile, work: Workspace) -> NDArray[Any]:
    """Compute the posterior probabilities of a tile and add its log-likelihood.

    The log-likelihood is that of relative densities; see `log_likelihood_of`.

    Parameters
    ----------
    state : State
        With the arrays of `tally_arrays`.
    tile : Tile
    work : Workspace

    Returns
    -------
    (components, rows) array
        Of the dtype of the mixture. Every column sums to one: weights of rows are not in it.
        Valid until the next tile.
    """
    posterior: NDArray[Any]
    posterior, log_density = (
        work.take(name, shape, dtype)
        for name, (shape, dtype) in posterior_buffers(tile.mixture, tile.rows).items()
    )
    tile.write_log_joint(posterior)
    normalise(posterior, log_density, work)
    if tile.block.weight is None:
        state["log_likelihood"] += log_density.sum()
    else:
        state["log_likelihood"] += np.dot(tile.block.weight[: tile.rows], log_density)
    return posterior


def log_likelihood_of(state: State, mixture: MixtureDensities) -> float:
    """Return the log-likelihood in a state, of densities in the units of the data."""
    return float(state["log_likelihood"] - state["weight"] * mixture.log_volume)


def count_rows(state: State, block: Block) -> None:
    """Add the rows of a block and their weight."""
    state["weight"] += block.total_weight()
    state["rows"] += block.rows
