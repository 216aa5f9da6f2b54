"""Probabilities of counts in components with a Poisson rate for every feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import Buffers
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities
from bigtensor.statistics.sub_blocks import sub_blocks


def are_counts(values: NDArray[Any]) -> bool:
    """Return True if values are whole numbers that are not negative, or missing."""
    return not ((values < 0).any() or (np.floor(values) < values).any())


@dataclass(frozen=True, eq=False)
class PoissonDensities(JointDensities):
    """Weights and Poisson rates of components; features are independent given the component.

    The features of a row are its counts and a one, so that log probabilities are one product. Rows
    with missing counts have the marginal probabilities of the others.

    Parameters
    ----------
    weights : (k,) float64 array
        Positive.
    rates : (k, d) float64 array
        Expected counts, positive.

    Raises
    ------
    ParameterError
        When shapes do not belong together, or a number is not positive.
    """

    weights: FloatArray
    rates: FloatArray
    factor: FloatArray = field(init=False, repr=False)

    log_volume: ClassVar[float] = 0.0
    tile_rows: ClassVar[int] = 1920

    def __post_init__(self) -> None:
        weights, rates = np.asarray(self.weights), np.asarray(self.rates)
        if rates.ndim != 2 or weights.shape != rates.shape[:1]:
            raise ParameterError(
                f"weights {weights.shape} and rates {rates.shape} do not belong together: (k,) and "
                "(k, d) are needed"
            )
        if not (np.all(weights > 0) and np.all(rates > 0)):
            raise ParameterError("weights and rates of a Poisson mixture must be positive")
        constant = np.log(weights) - rates.sum(axis=1)
        object.__setattr__(self, "factor", np.vstack([np.log(rates).T, constant]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of log joint probabilities: float64."""
        return np.dtype("float64")

    @property
    def feature_width(self) -> int:
        """Number of features: the counts and a one."""
        return int(self.rates.shape[1]) + 1

    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, PoissonTile]]:
        """Yield a block in tiles of `tile_rows` rows. Every tile is valid until the next one."""
        for window, rows in sub_blocks(block, self.tile_rows):
            yield window, PoissonTile(self, rows, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes that blocks of ``rows`` rows need."""
        return super().work_nbytes(rows) + 8 * min(rows, self.tile_rows) * (self.width + 1)

    def tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        return {"poisson.features": ((self.feature_width, rows), "float64")}


class PoissonTile:
    """Log joint probabilities of a few rows.

    Attributes
    ----------
    mixture : PoissonDensities
        Mixture whose probabilities are computed.
    block : Block
        The rows.
    features : (d + 1, rows) float64 array
        Counts, zero where they are missing, and ones.
    missing : (d, rows) bool array, optional
        True where a count is missing; None if none is.
    log_common : (rows,) float64 array
        Minus the logarithms of the factorials of the counts.
    """

    def __init__(self, mixture: PoissonDensities, block: Block, work: Workspace) -> None:
        self.rows = block.rows
        self.mixture = mixture
        self.block = block
        (self.features,) = work.take_all(mixture.tile_arrays(block.rows))
        self.features[:-1] = block.dense_values[: block.rows].T
        if not are_counts(self.features[:-1]):
            raise DataError(
                "the data hold values that are negative or no whole numbers, and have no Poisson "
                "probability: leave their rows out, or fit a model with Gaussian emissions"
            )
        missing = np.isnan(self.features[:-1])
        self.missing = missing if missing.any() else None
        if self.missing is not None:
            self.features[:-1][missing] = 0
        self.features[-1] = 1
        self.log_common: FloatArray = -gammaln(self.features[:-1] + 1).sum(axis=0)

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write the log joint probabilities less `log_common` into ``(rows, components)``."""
        np.matmul(self.features.T, self.mixture.factor, out=out)
        if self.missing is not None:
            # the constants hold the rates of all features
            out += self.missing.T @ self.mixture.rates.T

    def add_sums(self, posterior: NDArray[Any], sums: FloatArray, work: Workspace) -> None:
        """Add the sums of the features, weighted by posterior probabilities.

        A missing count adds its expected value.

        Parameters
        ----------
        posterior : (rows, k) array
            Posterior probabilities, times the weights of the rows.
        sums : (d + 1, k) float64 array
            Changed in place.
        work : Workspace
            Buffers that are reused from block to block; no buffer is needed.
        """
        del work
        sums += self.features @ posterior
        if self.missing is not None:
            sums[:-1] += self.mixture.rates.T * (self.missing @ posterior)
