"""Densities of Gaussian components that have a covariance each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.incomplete_rows import (
    IncompleteRows,
    completed_sums,
    log_densities,
)
from bigtensor.statistics.gaussian.own_covariance_tile import OwnCovarianceTile
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures
from bigtensor.statistics.gaussian.wide_rows import WideTile
from bigtensor.statistics.sub_blocks import sub_blocks

_TILE_BYTES = 2 * 1024**2
"""Buffers of one tile: longer tiles have fewer calls, and leave the caches of the processor."""

_TILE_STEP = 240
"""Tiles are multiples of it: a power of two would put all buffers on the same cache lines."""

_FEWEST_STEPS, _MOST_STEPS = 2, 16
"""Shortest and longest tile, in steps: products of fewer rows are slow."""

_WIDE_FEATURES, _FEATURES_A_COMPONENT = 48, 8
"""Fewest features, in all and a component, with which every component has its triangular solve.

Chosen on EM passes over 3,000 rows: at these numbers both ways take the same time. With 400
features and 5 components, features of order two take 3 to 6 times as long.
"""


def is_wide(n_components: int, n_features: int) -> bool:
    """Return True if rows have many features for full covariances of so many components."""
    return n_features >= max(_WIDE_FEATURES, _FEATURES_A_COMPONENT * n_components)


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates in which rows are of order one: ``z = (x - centre) @ scaling``.

    Attributes
    ----------
    centre : (d,) float64 array
        In the units of the data.
    scaling : (d,) or (d, d) float64 array
        Reciprocal units of the features, or a matrix.
    """

    centre: FloatArray
    scaling: FloatArray

    @property
    def log_determinant(self) -> float:
        """Logarithm of the volume of z per volume of x."""
        if self.scaling.ndim == 1:
            return float(np.log(self.scaling).sum())
        return float(np.linalg.slogdet(self.scaling)[1])

    def of_rows(self, rows: FloatArray) -> FloatArray:
        """Return rows or means in these coordinates."""
        centred = rows - self.centre
        return np.asarray(
            centred * self.scaling if self.scaling.ndim == 1 else centred @ self.scaling
        )

    def to_data(self, rows: FloatArray) -> FloatArray:
        """Return rows or means in the units of the data."""
        if self.scaling.ndim == 1:
            return np.asarray(rows / self.scaling + self.centre)
        return np.asarray(np.linalg.solve(self.scaling.T, rows.T).T + self.centre)

    def covariances_of(self, covariances: FloatArray) -> FloatArray:
        """Return covariances ``(k, d, d)``, ``(k, d)`` or ``(k,)`` in these coordinates."""
        if covariances.ndim == 3:
            if self.scaling.ndim == 1:
                return np.asarray(covariances * np.outer(self.scaling, self.scaling))
            return np.asarray(self.scaling.T @ covariances @ self.scaling)
        if covariances.ndim == 2:
            return np.asarray(covariances * self.scaling**2)
        return np.asarray(covariances * self.scaling[0] ** 2)

    def covariances_to_data(self, covariances: FloatArray) -> FloatArray:
        """Return covariances in the units of the data."""
        if covariances.ndim == 3:
            if self.scaling.ndim == 1:
                return np.asarray(covariances / np.outer(self.scaling, self.scaling))
            back = np.linalg.inv(self.scaling)
            whole = back.T @ covariances @ back
            return np.asarray((whole + whole.transpose(0, 2, 1)) / 2)
        if covariances.ndim == 2:
            return np.asarray(covariances / self.scaling**2)
        return np.asarray(covariances / self.scaling[0] ** 2)

    def sums_of(
        self, sums: FloatArray, second_moments: FloatArray, dimensions: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums over rows in these coordinates.

        Parameters
        ----------
        sums : (k, d) float64 array
            Sums of rows less the centre.
        second_moments : (k, d, d) or (k, d) float64 array
            Sums of products of two entries of such rows, or of squares.
        dimensions : {1, 2, 3}
            Of the second moments that are wanted; 1 for the sum of the squares of all entries.
        """
        moments = self.covariances_of(second_moments)
        if dimensions == 1:
            moments = moments.sum(axis=1)
        return (
            np.asarray(sums * self.scaling if self.scaling.ndim == 1 else sums @ self.scaling),
            moments,
        )

    def of_features(self, positions: NDArray[np.intp]) -> Frame:
        """Return the frame of features in another order.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        return Frame(self.centre[positions], self.scaling[positions])


@dataclass(frozen=True, eq=False)
class OwnCovarianceDensities:
    """Weights, means and covariances of Gaussian components, in a frame.

    With the features of order two of a row in the frame, the log joint densities of all components
    are one matrix product. Rows with many features have a triangular solve for every component
    instead. Rows with missing entries have the marginal densities of the others.

    Parameters
    ----------
    weights : (k,) float64 array
        Positive.
    means : (k, d) float64 array
        In the frame.
    covariances : (k, d, d), (k, d) or (k,) float64 array
        In the frame: full matrices, variances of the features, or one variance.
    frame : Frame
        Coordinates of the means and covariances. One variance needs one unit for all features.
    precision : {"float32", "float64"}, default "float64"
        Dtype of products of matrices and of posterior probabilities.

    Attributes
    ----------
    factor : (D, k) or (k, d, d) array
        Coefficients of the features of order two; for wide rows the lower triangular roots of the
        covariances.

    Raises
    ------
    ParameterError
        When shapes do not belong together, a weight is not positive, or a covariance is not
        positive definite.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    frame: Frame
    precision: str = "float64"
    factor: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("weights", "means", "covariances"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        self._check()
        if self.is_wide:
            factor = _roots(self.covariances)
        else:
            factor = self.features.coefficients(
                np.log(self.weights), self.means, _inverse(self.covariances)
            )
        object.__setattr__(self, "factor", np.ascontiguousarray(factor, self.dtype))

    @property
    def features(self) -> QuadraticFeatures:
        """Features of order two."""
        types = {3: "full", 2: "diag", 1: "spherical"}
        return QuadraticFeatures(types[self.covariances.ndim], self.n_features)

    @property
    def is_wide(self) -> bool:
        """True for full covariances of many features."""
        return self.covariances.ndim == 3 and is_wide(self.n_components, self.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of products of matrices and of posterior probabilities."""
        return np.dtype(self.precision)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.weights.size)

    @property
    def n_features(self) -> int:
        """Number of columns, d."""
        return int(self.means.shape[1])

    @property
    def width(self) -> int:
        """Length of the rows of joint densities: the components, without padding."""
        return self.n_components

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume that densities are relative to."""
        return 0.5 * self.n_features * float(np.log(2 * np.pi)) - self.frame.log_determinant

    @cached_property
    def of_entries(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariances ``(k, d, d)`` or ``(k, d)`` of rows less the frame's centre."""
        means = self.frame.to_data(self.means) - self.frame.centre
        covariances = self.frame.covariances_to_data(self.covariances)
        if covariances.ndim == 1:
            covariances = np.repeat(covariances[:, None], self.n_features, axis=1)
        return means, covariances

    def incomplete_log_joint(self, rows: IncompleteRows) -> FloatArray:
        """Return the log joint densities of rows with missing entries, less the centre: ``(m, k)``.

        They are relative to `log_volume` too.
        """
        densities = log_densities(rows, *self.of_entries)
        return np.asarray(densities + (np.log(self.weights) + self.log_volume))

    def completed_features(self, rows: IncompleteRows, posterior: NDArray[Any]) -> FloatArray:
        """Return expected sums of the features of rows with missing entries: ``(D, k)``.

        Parameters
        ----------
        rows : IncompleteRows
            Rows, less the centre.
        posterior : (m, k) array
            Posterior probabilities, times the weights of the rows.
        """
        sums = completed_sums(rows, np.asarray(posterior, np.float64), *self.of_entries)
        return self.features.sums_of(
            sums.counts, *self.frame.sums_of(sums.sums, sums.second_moments, self.covariances.ndim)
        )

    @property
    def tile_rows(self) -> int:
        """Rows that are evaluated at once."""
        # the sums over a tile of wide rows need its entries once more
        wide = 2 * self.n_features
        numbers = (wide if self.is_wide else self.features.width) + self.n_features + 2 * self.width
        steps = _TILE_BYTES / (self.dtype.itemsize * numbers * _TILE_STEP)
        return _TILE_STEP * int(np.clip(steps, _FEWEST_STEPS, _MOST_STEPS))

    def log_joint(self, block: Block, out: NDArray[Any], work: Workspace) -> None:
        """Write ``log pi_h + log p(x | h)`` for every component and row.

        Densities are relative to `log_volume`.

        Parameters
        ----------
        block : Block
            Dense; NaN is missing.
        out : (rows, components) array
            Of `dtype` or float64.
        work : Workspace
            Buffers that are reused from block to block.
        """
        longest = np.empty((min(block.rows, self.tile_rows), self.width), self.dtype)
        for window, tile in self.tiles(block, work):
            joint = longest[: tile.rows]
            tile.write_log_joint(joint)
            np.copyto(out[window], joint, casting="same_kind")

    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, OwnCovarianceTile]]:
        """Yield a block in tiles of `tile_rows` rows, which use the same memory one by one.

        Yields
        ------
        slice
            The rows of the tile, counted from the first row of ``block``.
        OwnCovarianceTile
            Valid until the next one.
        """
        kind = WideTile if self.is_wide else OwnCovarianceTile
        tile: OwnCovarianceTile | None = None
        for window, rows in sub_blocks(block, self.tile_rows):
            if tile is None or tile.rows != rows.rows:
                tile = kind(self, rows.rows, work)
            tile.block = rows
            yield window, tile

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes that blocks of ``rows`` rows need."""
        return buffers_nbytes(self.tile_arrays(min(rows, self.tile_rows)))

    def tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        d = self.n_features
        if self.is_wide:
            return {
                "own_covariance.centred": ((rows, d), self.dtype),
                "own_covariance.entries": ((rows, d), self.dtype),
            }
        return {
            "own_covariance.centred": ((rows, d), self.dtype),
            "own_covariance.features": ((self.features.width, rows), self.dtype),
        }

    def sum_arrays(self, rows: int) -> Buffers:
        """Return the buffers of the sums over a tile."""
        if self.is_wide:
            d = self.n_features
            return {
                "own_covariance.weighted": ((rows, d), self.dtype),
                "own_covariance.outer": ((d, d), self.dtype),
            }
        return {
            "own_covariance.products": ((self.features.width, self.n_components), self.dtype),
        }

    def _check(self) -> None:
        """Check dtype, shapes and signs."""
        k, shape = self.weights.size, self.means.shape
        allowed = ((k,), shape, (*shape, shape[-1]))
        if self.means.ndim != 2 or shape[0] != k or self.covariances.shape not in allowed:
            raise ParameterError(
                f"weights {self.weights.shape}, means {shape} and covariances "
                f"{self.covariances.shape} do not belong together: (k,), (k, d), and (k,), (k, d) "
                "or (k, d, d) are needed"
            )
        if not np.all(self.weights > 0):
            raise ParameterError("weights of a Gaussian mixture must be positive")


def _inverse(covariances: FloatArray) -> FloatArray:
    """Return the precisions of covariances of any type, or raise a ParameterError."""
    if covariances.ndim < 3:
        if not np.all(covariances > 0):
            raise ParameterError(
                "variances of a Gaussian mixture must be positive; use a larger reg_covar"
            )
        return np.asarray(1 / covariances)
    inverse = np.linalg.inv(_roots(covariances))
    return np.asarray(inverse.transpose(0, 2, 1) @ inverse)


def _roots(covariances: FloatArray) -> FloatArray:
    """Return lower triangular roots of covariance matrices, or raise a ParameterError."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the covariances of a Gaussian mixture must be positive definite; use a larger "
            "reg_covar"
        ) from None
