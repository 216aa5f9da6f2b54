"""The log-likelihood of a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS, JointDensities
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    log_likelihood_of,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)


@dataclass(frozen=True)
class LogLikelihoodResult:
    """The log-likelihood of a mixture on some rows.

    Attributes
    ----------
    log_likelihood : float
        ``sum w log p(x)``, in nats.
    weight : float
        ``sum w``.
    rows : int
        Number of rows.
    """

    log_likelihood: float
    weight: float
    rows: int

    @property
    def mean(self) -> float:
        """In nats a row."""
        return self.log_likelihood / self.weight


@dataclass(frozen=True, eq=False)
class LogLikelihood(SumStatistic[LogLikelihoodResult]):
    """Log-likelihood of a mixture.

    Parameters
    ----------
    mixture : JointDensities
        Mixture whose density is evaluated.
    """

    mixture: JointDensities

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return tally_arrays()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for _, tile in self.mixture.tiles(block, work):
            write_posterior(state, tile, work)
        count_rows(state, block)

    def finalize(self, state: State) -> LogLikelihoodResult:
        """Return the sums under their names."""
        return LogLikelihoodResult(
            log_likelihood_of(state, self.mixture), float(state["weight"]), int(state["rows"])
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        return self.mixture.work_nbytes(tile) + buffers_nbytes(
            posterior_buffers(self.mixture, tile)
        )
