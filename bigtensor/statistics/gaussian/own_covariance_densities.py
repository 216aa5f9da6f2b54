"""Densities of Gaussian components that have a covariance each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs
from scipy.linalg.lapack import dtrtri

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import SMALL_PRODUCT, Buffers
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities, reused_tiles
from bigtensor.statistics.gaussian.gaussian_densities import TILE_BYTES, TILE_STEP
from bigtensor.statistics.gaussian.incomplete_rows import (
    IncompleteRows,
    completed_sums,
    log_densities,
)
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures

_FEWEST_STEPS, _MOST_STEPS = 2, 16
"""Shortest and longest tile, in steps: products of fewer rows are slow."""

_PART_STEP, _FEWEST_PART_ROWS = 8, 64
"""Step and least number of rows of a part of a tile whose products are small.

An EM pass over 4,800 rows of 36 features takes 3.4 ms in place of 7.2 with 3 components, 4.2 in
place of 7.2 with 8, and 7.0 in place of 10.3 with 14. With the kernels of OpenBLAS for processors
without AVX-512, passes over 6 to 61 features take .92 to 1.20 times as long as without parts.
"""

_WIDE_FEATURES = 48
"""Fewest features with which every component has its own triangular product."""

_FEATURES_A_COMPONENT = {"float32": 8, "float64": 4}
"""Fewest features a component with which it has one, by the dtype of products otherwise.

Chosen on EM passes over 3,000 and 4,000 rows. Over tables of 57 and 61 features in float64,
triangular products take .49 to .87 times as long as features of order two with 2 to 15 components.
Over 64 simulated features and 16 components, they take .5 times as long if the components are
apart, and .7 times if every row belongs to all. Over 48 features and 12 components they take 1.1
and 1.7 times as long. Triangular products are of float64, so that over 64 features they take 1.4
and 2.6 times as long as features of order two in float32.
"""


def is_wide(n_components: int, n_features: int, dtype: str) -> bool:
    """Return True if rows have many features for full covariances of so many components.

    Parameters
    ----------
    n_components : int
        Number of components.
    n_features : int
        Number of features.
    dtype : {"float32", "float64"}
        Of products of matrices if rows are not wide.
    """
    return n_features >= max(_WIDE_FEATURES, _FEATURES_A_COMPONENT[dtype] * n_components)


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

    @cached_property
    def log_determinant(self) -> float:
        """Logarithm of the volume of z per volume of x."""
        if self.scaling.ndim == 1:
            return float(np.log(self.scaling).sum())
        return float(np.linalg.slogdet(self.scaling)[1])

    @cached_property
    def _inverse_scaling(self) -> FloatArray:
        """Inverse of a matrix of scaling, which every EM iteration needs."""
        return np.asarray(np.linalg.inv(self.scaling))

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
        return np.asarray(rows @ self._inverse_scaling + self.centre)

    def covariances_of(self, covariances: FloatArray) -> FloatArray:
        """Return covariances ``(k, d, d)``, ``(k, d)`` or ``(k,)`` in these coordinates."""
        if covariances.ndim == 3:
            if self.scaling.ndim == 1:
                return np.asarray(covariances * np.outer(self.scaling, self.scaling))
            return np.asarray(self.scaling.T @ covariances @ self.scaling)
        if covariances.ndim == 2:
            return np.asarray(covariances * self.scaling**2)
        return np.asarray(covariances * self.scaling[0] ** 2)

    def diagonal_covariance(self, variances: FloatArray, dimensions: int) -> FloatArray:
        """Return the covariance of independent features in these coordinates.

        Parameters
        ----------
        variances : (d,) float64 array
            In the units of the data.
        dimensions : {1, 2, 3}
            Of an array of covariances of this kind: one variance, variances or full matrices.

        Returns
        -------
        covariance : (), (d,) or (d, d) float64 array
            One variance is the mean of all.
        """
        covariances = {3: np.diag(variances)[None], 2: variances[None]}
        of_one = covariances.get(dimensions, np.array([variances.mean()]))
        return np.asarray(self.covariances_of(of_one)[0])

    def covariances_to_data(self, covariances: FloatArray) -> FloatArray:
        """Return covariances in the units of the data."""
        if covariances.ndim == 3:
            if self.scaling.ndim == 1:
                return np.asarray(covariances / np.outer(self.scaling, self.scaling))
            whole = self._inverse_scaling.T @ covariances @ self._inverse_scaling
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
class OwnCovarianceDensities(JointDensities):
    """Weights, means and covariances of Gaussian components, in a frame.

    With the features of order two of a row in the frame, the log joint densities of all components
    are one matrix product. Rows with many features have a triangular product for every component
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
    roots : (k, d, d) float64 array, optional
        `inverse_roots` of full covariances. They are computed if None.

    Attributes
    ----------
    factor : (D, k) or (k, d, d) array
        Coefficients of the features of order two; for wide rows the inverses of the lower
        triangular roots of the covariances.
    log_maxima : (k,) float64 array
        Log joint densities at the means, relative to `log_volume`.

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
    roots: InitVar[FloatArray | None] = None
    factor: NDArray[Any] = field(init=False, repr=False)
    log_maxima: FloatArray = field(init=False, repr=False)

    def __post_init__(self, roots: FloatArray | None) -> None:
        for name in ("weights", "means", "covariances"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        self._check()
        if self.covariances.ndim == 3:
            roots = inverse_roots(self.covariances) if roots is None else roots
            log_roots = np.log(np.diagonal(roots, axis1=1, axis2=2))
            factor = roots if self.is_wide else roots.transpose(0, 2, 1) @ roots
        else:
            factor = _reciprocals(self.covariances)
            log_roots = 0.5 * np.log(factor).reshape(self.n_components, -1)
        log_maxima = np.log(self.weights) + self.n_features * log_roots.mean(axis=1)
        if not self.is_wide:
            factor = self.features.coefficients(log_maxima, self.means, factor)
        object.__setattr__(self, "factor", np.ascontiguousarray(factor, self.dtype))
        object.__setattr__(self, "log_maxima", log_maxima)

    @property
    def features(self) -> QuadraticFeatures:
        """Features of order two."""
        types = {3: "full", 2: "diag", 1: "spherical"}
        return QuadraticFeatures(types[self.covariances.ndim], self.n_features)

    @property
    def is_wide(self) -> bool:
        """True for full covariances of many features."""
        return self.covariances.ndim == 3 and is_wide(
            self.n_components, self.n_features, self.precision
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of products of matrices and of posterior probabilities."""
        return np.dtype(self.precision)

    @property
    def n_features(self) -> int:
        """Number of columns, d."""
        return int(self.means.shape[1])

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
        steps = TILE_BYTES / (self.dtype.itemsize * numbers * TILE_STEP)
        return TILE_STEP * int(np.clip(steps, _FEWEST_STEPS, _MOST_STEPS))

    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, OwnCovarianceTile]]:
        """Yield a block in tiles of `tile_rows` rows. Every tile is valid until the next one."""
        kind = WideTile if self.is_wide else OwnCovarianceTile
        return reused_tiles(block, self.tile_rows, lambda rows: kind(self, rows, work))

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


class OwnCovarianceTile:
    """Log joint densities of a few rows, with the buffers they are computed in.

    Attributes
    ----------
    mixture : OwnCovarianceDensities
        Mixture whose densities are computed.
    block : Block
        The rows.
    features : (D, rows) array
        After `write_features`: the features of order two, one after the other. Those of a row with
        missing entries are zeros.
    incomplete : IncompleteRows, optional
        After `write_features`: the rows with missing entries.
    log_common : None
        Log joint densities are whole.
    """

    block: Block
    incomplete: IncompleteRows | None = None
    log_common: FloatArray | None = None

    def __init__(self, mixture: OwnCovarianceDensities, rows: int, work: Workspace) -> None:
        self.rows = rows
        self.mixture = mixture
        self._centred, self.features = work.take_all(mixture.tile_arrays(rows))
        self._scaling = mixture.frame.scaling.astype(mixture.dtype)

    def write_features(self) -> None:
        """Write the features alone, which are all that sums need."""
        values, centre = self.block.dense_values[: self.rows], self.mixture.frame.centre
        # the difference to the centre keeps the digits of float32 data that are far from zero
        np.subtract(values, centre, out=self._centred, casting="same_kind")
        self.incomplete = None
        # a missing entry reaches the sum of all, which is faster than to look at every entry
        if np.isnan(self._centred.sum()):
            self.incomplete = IncompleteRows.from_rows(values - centre)
        if self.incomplete is not None:
            self._centred[self.incomplete.places] = 0
        self._write_entries()

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write the log joint densities into ``(rows, components)``, C-contiguous."""
        self.write_features()
        self._write_complete(out)
        if self.incomplete is not None:
            out[self.incomplete.places] = self.mixture.incomplete_log_joint(self.incomplete)

    def add_sums(self, posterior: NDArray[Any], sums: FloatArray, work: Workspace) -> None:
        """Add the sums of the features of order two, weighted by posterior probabilities.

        Rows with missing entries add the expected features, given their other entries.

        Parameters
        ----------
        posterior : (rows, k) array
            Posterior probabilities, times the weights of the rows.
        sums : (D, k) float64 array
            Changed in place.
        work : Workspace
            Buffers that are reused from block to block.
        """
        (products,) = work.take_all(self.mixture.sum_arrays(self.rows))
        for part in self._parts():
            np.matmul(self.features[:, part], posterior[part], out=products)
            sums += products
        self._add_incomplete(posterior, sums)

    def _parts(self) -> Iterator[slice]:
        """Yield the rows in parts whose products with the coefficients are small."""
        step = SMALL_PRODUCT // self.mixture.factor.size // _PART_STEP * _PART_STEP
        if step < _FEWEST_PART_ROWS:
            step = self.rows
        for first in range(0, self.rows, step):
            yield slice(first, first + step)

    def _write_entries(self) -> None:
        """Write the features of the centred rows."""
        quadratic = self.mixture.features
        entries = quadratic.entries_of(self.features)
        if self._scaling.ndim == 1:
            np.multiply(self._centred.T, self._scaling[:, None], out=entries)
        else:
            np.matmul(self._scaling.T, self._centred.T, out=entries)
        quadratic.fill(self.features)
        if self.incomplete is not None:
            # the other features of centred rows of zeros are zeros
            self.features[-1, self.incomplete.places] = 0

    def _write_complete(self, out: NDArray[Any]) -> None:
        """Write the log joint densities of rows without missing entries."""
        for part in self._parts():
            np.matmul(self.features[:, part].T, self.mixture.factor, out=out[part])

    def _add_incomplete(self, posterior: NDArray[Any], sums: FloatArray) -> None:
        """Add the expected features of rows with missing entries."""
        rows = self.incomplete
        if rows is not None:
            sums += self.mixture.completed_features(rows, posterior[rows.places])


class WideTile(OwnCovarianceTile):
    """Log joint densities of a few rows with many features.

    Beyond a few tens of features, the features of order two no longer fit the caches of a
    processor: writing and reading them takes longer than the arithmetic. Two products for each
    component then take less time, although they have more operations. A product with the inverse of
    a triangular root takes half as long as a triangular solve.

    Attributes
    ----------
    mixture : OwnCovarianceDensities
        Mixture with full covariances.
    features : (rows, d) array
        After `write_features`: the entries in the frame. Those of a row with missing entries are
        zeros.
    """

    def __init__(self, mixture: OwnCovarianceDensities, rows: int, work: Workspace) -> None:
        super().__init__(mixture, rows, work)
        self._means = mixture.means.astype(mixture.dtype)
        (self._multiply,) = get_blas_funcs(("trmm",), (mixture.factor,))

    def _write_entries(self) -> None:
        """Write the centred rows in the frame."""
        if self._scaling.ndim == 1:
            np.multiply(self._centred, self._scaling, out=self.features)
        else:
            np.matmul(self._centred, self._scaling, out=self.features)

    def _write_complete(self, out: NDArray[Any]) -> None:
        """Write the log joint densities of rows without missing entries."""
        for component, inverse in enumerate(self.mixture.factor):
            np.subtract(self.features, self._means[component], out=self._centred)
            # to BLAS, C-contiguous arrays are transposed ones, which it multiplies in place
            whitened = self._multiply(1.0, inverse.T, self._centred.T, trans_a=1, overwrite_b=1)
            squares = np.einsum("ir,ir->r", whitened, whitened)
            out[:, component] = self.mixture.log_maxima[component] - 0.5 * squares

    def add_sums(self, posterior: NDArray[Any], sums: FloatArray, work: Workspace) -> None:
        """Add the sums as `OwnCovarianceTile.add_sums` does, component by component."""
        complete = posterior
        if self.incomplete is not None:
            complete = posterior.copy()
            complete[self.incomplete.places] = 0
        weighted, products = work.take_all(self.mixture.sum_arrays(self.rows))
        n_quadratic = self.mixture.features.n_quadratic
        for component in range(complete.shape[1]):
            shares = complete[:, component]
            # posterior probabilities below the rounding of the largest one change no sum
            rows = np.flatnonzero(shares > np.finfo(shares.dtype).eps * shares.max(initial=0.0))
            if not rows.size:
                continue
            chosen, scaled = self._centred[: rows.size], weighted[: rows.size]
            np.take(self.features, rows, axis=0, out=chosen, mode="clip")
            np.multiply(chosen, shares[rows, None], out=scaled, casting="same_kind")
            np.matmul(scaled.T, chosen, out=products)
            _add_upper(products, sums[:n_quadratic, component])
        sums[n_quadratic:-1] += self.features.T @ complete
        sums[-1] += complete.sum(axis=0, dtype=np.float64)
        self._add_incomplete(posterior, sums)


def _reciprocals(variances: FloatArray) -> FloatArray:
    """Return the precisions of variances, or raise a ParameterError."""
    if not np.all(variances > 0):
        raise ParameterError(
            "variances of a Gaussian mixture must be positive; use a larger reg_covar"
        )
    return np.asarray(1 / variances)


def inverse_roots(covariances: FloatArray) -> FloatArray:
    """Return inverses of the lower triangular roots of covariances.

    Parameters
    ----------
    covariances : (k, d, d) float64 array
        Positive definite matrices.

    Raises
    ------
    ParameterError
        When a matrix is not positive definite.
    """
    try:
        roots = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the covariances of a Gaussian mixture must be positive definite; use a larger "
            "reg_covar"
        ) from None
    # the transposed root is upper triangular, and in the order of LAPACK
    return np.array([dtrtri(root.T)[0].T for root in roots])


@row_loop
def _add_upper(products: NDArray[Any], out: FloatArray) -> None:
    """Add the upper triangle of a symmetric matrix, row by row, to a vector."""
    place = 0
    for i in range(products.shape[0]):
        for j in range(i, products.shape[0]):
            out[place] += products[i, j]
            place += 1
