"""Features of one-dimensional views from tables: a polynomial on every interval of a grid.

Features of a view of one coordinate are smooth functions of one number. Looking them up costs the
same whatever the number of landmarks, and is closer to the exact features than float32 kernels
are: the terms of a projection are large and cancel, and a table holds their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.kernels import GaussianKernel
from bigtensor.features.maps import FeatureMap
from bigtensor.features.nystroem import Nystroem

RESULT_BYTES = 60 * 1024
"""Largest result that SciPy is asked to allocate again and again.

When a Dask worker fixes the trim threshold of the C library, an array of 64 kB or more is given
back to the system when it is freed, and every fresh page costs as much as ten rows of lookups.
"""

TERMS = 4
"""Coefficients of a polynomial: those of a cubic."""

INTERVALS = 6
"""Intervals of a bandwidth."""

REACH = 8.0
"""Bandwidths from the outermost landmarks to where the features count as zero."""

MOST_NBYTES = 2**21
"""Largest table of a view: tables are sent to the workers."""


@dataclass(frozen=True, eq=False)
class InterpolatedFeatures:
    """The sum of the features of one-dimensional views, from tables.

    Parameters
    ----------
    low : (views,) float64 array
        The middle of the first interval of every view, in the units of the data.
    step : (views,) float64 array
        The lengths of the intervals, positive.
    counts : tuple of int
        The number of intervals of every view.
    coefficients : (sum(counts) * TERMS, q) float32 array
        Of the polynomials in the distance from the middle of an interval, in steps: ascending
        powers, interval after interval, view after view.
    """

    low: NDArray[np.float64]
    step: NDArray[np.float64]
    counts: tuple[int, ...]
    coefficients: NDArray[np.float32]
    constants: tuple[NDArray[np.float64], ...] = field(init=False, repr=False)
    terms: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        counts = np.array(self.counts, np.float64)
        first = np.cumsum(counts) - counts
        columns = (self.low, 1 / self.step, counts - 1, first)
        terms = np.arange(len(self.coefficients), dtype=np.int32).reshape(-1, TERMS)
        object.__setattr__(self, "constants", tuple(column[:, None] for column in columns))
        object.__setattr__(self, "terms", terms)

    @classmethod
    def stack(cls, parts: Sequence[InterpolatedFeatures]) -> InterpolatedFeatures:
        """Return the sum of the features of views that were tabulated one by one."""
        return cls(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.step for part in parts]),
            tuple(count for part in parts for count in part.counts),
            np.concatenate([part.coefficients for part in parts]),
        )

    def evaluate(
        self, values: Sequence[NDArray[Any]], out: NDArray[np.float32], work: Scratch, *, add: bool
    ) -> None:
        """Write the features of a block, or add them to what is there.

        Values beyond the grid, infinities included, have features zero; NaN gives NaN.

        Parameters
        ----------
        values : sequence of (rows, 1) arrays
            One for every view.
        out : (rows, q) float32 array
            The transpose of a ``(q, rows)`` buffer is fastest.
        work : Scratch
        add : bool
        """
        rows = len(values[0])
        points, shares = self._locate(values, work)
        n_points, q = self.coefficients.shape
        step = max(1, RESULT_BYTES // (self.coefficients.itemsize * q))
        for start in range(0, rows, step):
            part = slice(start, min(start + step, rows))
            matrix, target = interpolation_matrix(points[part], shares[part], n_points), out[part].T
            # the product has no name, so that it is freed before the next one is made
            if add:
                np.add(target, (matrix @ self.coefficients).T, out=target)
            else:
                np.copyto(target, (matrix @ self.coefficients).T)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that `evaluate` takes for a block of ``rows`` rows."""
        views = len(self.counts)
        return {
            "interpolation.position": ((views, rows), "float64"),
            "interpolation.interval": ((views, rows), "float64"),
            "interpolation.distance": ((views, rows), "float32"),
            "interpolation.intervals": ((rows, views), "intp"),
            "interpolation.points": ((rows, views, TERMS), "int32"),
            "interpolation.shares": ((rows, views, TERMS), "float32"),
        }

    def _locate(
        self, values: Sequence[NDArray[Any]], work: Scratch
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the rows of `coefficients` and their factors, the powers of the distance."""
        position, interval, distance, intervals, points, shares = (
            work.take(name, shape, dtype)
            for name, (shape, dtype) in self.work_arrays(len(values[0])).items()
        )
        low, scale, last, first = self.constants
        for row, view in zip(position, values, strict=True):
            np.copyto(row, view[:, 0])
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(position, low, out=position)
            np.multiply(position, scale, out=position)
            np.maximum(position, 0, out=position)
            np.minimum(position, last, out=position)
            np.rint(position, out=interval)
            np.subtract(position, interval, out=position)
            np.copyto(distance, position, casting="same_kind")
            np.add(interval, first, out=interval)
            np.copyto(intervals.T, interval, casting="unsafe")
        # NaN has become any integer: the first interval is as good, with a distance of NaN
        np.take(self.terms, intervals, axis=0, out=points, mode="clip")
        shares[:, :, 0] = 1
        np.positive(distance, out=shares[:, :, 1].T)
        for term in range(2, TERMS):
            np.multiply(distance, shares[:, :, term - 1].T, out=shares[:, :, term].T)
        return points, shares


def tabulate(feature_map: FeatureMap) -> InterpolatedFeatures | None:
    """Return the table of a map, or None where its features have to be computed.

    Tables are for Gaussian kernels of one coordinate in float32. The polynomials agree with the
    exact features at the Chebyshev points of every interval, which makes the error of a cubic
    ``|f''''| h^4 / 3072`` for intervals of length h.

    Parameters
    ----------
    feature_map : FeatureMap

    Returns
    -------
    InterpolatedFeatures, optional
        None for other maps, and where the table would be larger than `MOST_NBYTES` because the
        landmarks lie many bandwidths apart.
    """
    if (
        not isinstance(feature_map, Nystroem)
        or not isinstance(feature_map.kernel, GaussianKernel)
        or feature_map.n_inputs != 1
        or feature_map.dtype != "float32"
    ):
        return None
    kernel, landmarks = feature_map.kernel, feature_map.landmarks
    bandwidth = float(kernel.bandwidth[0])
    low, high = landmarks.min() - REACH * bandwidth, landmarks.max() + REACH * bandwidth
    step, q = bandwidth / INTERVALS, feature_map.n_features
    # written so that it also holds for a range that is not finite
    if not (high - low) / step * TERMS * q * np.dtype("float32").itemsize <= MOST_NBYTES:
        return None
    middles = np.arange(int(np.ceil((high - low) / step)) + 1)
    nodes = 0.5 * np.polynomial.chebyshev.chebpts1(TERMS)
    points = low + step * (middles[:, None] + nodes)
    exact = kernel.evaluate(points.reshape(-1, 1), landmarks) @ feature_map.projection
    to_powers = np.linalg.inv(np.vander(nodes, TERMS, increasing=True))
    coefficients = to_powers @ exact.reshape(len(middles), TERMS, q)
    coefficients[[0, -1]] = 0
    return InterpolatedFeatures(
        np.array([low]),
        np.array([step]),
        (len(middles),),
        coefficients.reshape(-1, q).astype(np.float32),
    )


def interpolation_matrix(
    points: NDArray[np.int32], shares: NDArray[Any], n_points: int
) -> csr_array[Any]:
    """Return the sparse matrix of an interpolation; it shares the memory of the arguments.

    Its product with tables interpolates; the product of its transpose with weights is their
    binning.

    Parameters
    ----------
    points : (rows, views, neighbours) int32 array
        Rows of the tables.
    shares : (rows, views, neighbours) array
        Their weights, best of the dtype of the tables.
    n_points : int
        The number of rows of the tables.

    Returns
    -------
    (rows, n_points) CSR array
    """
    rows, views, neighbours = points.shape
    # a copy shares all arrays, and takes a tenth of the time of the constructor
    matrix = copy(_empty_matrix(rows, views * neighbours, n_points))
    matrix.indices = points.reshape(-1)
    matrix.data = shares.reshape(-1)
    return matrix


@lru_cache(maxsize=64)
def _empty_matrix(rows: int, entries: int, n_points: int) -> csr_array[Any]:
    """Return a matrix with as many entries in every row, which are still to be set."""
    matrix = csr_array((rows, n_points))
    matrix.indptr = np.arange(0, entries * rows + 1, entries, dtype=np.int32)
    return matrix
