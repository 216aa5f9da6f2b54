"""Features of one-dimensional views from tables: a polynomial on every interval of a grid.

Features of a view of one coordinate are smooth functions of one number. Looking them up costs the
same whatever the number of landmarks, and is closer to the exact features than float32 kernels
are: the terms of a projection are large and cancel, and a table holds their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.maps import FeatureMap
from bigtensor.features.row_loops import row_loop

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

    low: FloatArray
    step: FloatArray
    counts: tuple[int, ...]
    coefficients: NDArray[np.float32]

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
        """Write the features of a block, or add them to `out`.

        Values beyond the grid, infinities included, have features zero; NaN gives NaN.

        Parameters
        ----------
        values : sequence of (rows, 1) arrays
            One for every view.
        out : (rows, q) float32 array
            The transpose of a ``(q, rows)`` buffer is fastest.
        work : Scratch
            Buffers that are reused from block to block.
        add : bool
            If True, add to `out`, otherwise overwrite it.
        """
        position, interval, distance, features = work.take_all(self.work_arrays(len(values[0])))
        for row, view in zip(position, values, strict=True):
            np.copyto(row, view[:, 0])
        counts = np.array(self.counts, np.int64)
        locate_intervals(position, self.low, self.step, counts, interval, distance)
        features.fill(0)
        polynomials = self.coefficients.reshape(-1, TERMS, features.shape[1])
        add_polynomials(interval, distance, polynomials, features)
        if add:
            np.add(out, features, out=out)
        else:
            np.copyto(out, features)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that `evaluate` takes for a block of ``rows`` rows."""
        shape = len(self.counts), rows
        return {
            "interpolation.position": (shape, "float64"),
            "interpolation.interval": (shape, "int32"),
            "interpolation.distance": (shape, "float32"),
            "interpolation.features": ((rows, self.coefficients.shape[1]), "float32"),
        }


def tabulate(feature_map: FeatureMap) -> InterpolatedFeatures | None:
    """Return the table of a map, or None where its features have to be computed.

    Tables are for Gaussian kernels of one coordinate in float32. The polynomials agree with the
    exact features at the Chebyshev points of every interval, which makes the error of a cubic
    ``|f''''| h^4 / 3072`` for intervals of length h.

    Parameters
    ----------
    feature_map : FeatureMap
        Map of one view.

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


@row_loop
def locate_intervals(
    values: FloatArray,
    low: FloatArray,
    step: FloatArray,
    counts: IntArray,
    interval: NDArray[np.int32],
    distance: NDArray[np.float32],
) -> None:
    """Write the interval of every value, and the distance from its middle in steps.

    Parameters
    ----------
    values : (views, rows) float64 array
        Values of every view.
    low, step : (views,) float64 arrays
        Middle of the first interval and length of an interval, of every view.
    counts : (views,) int64 array
        The number of intervals of every view.
    interval : (views, rows) int32 array
        Receives positions among the intervals of all views, the first one of the view for NaN.
    distance : (views, rows) float32 array
        Receives NaN for NaN.
    """
    first = 0
    for view in range(values.shape[0]):
        scale, last = 1 / step[view], counts[view] - 1.0
        for row in range(values.shape[1]):
            position = (values[view, row] - low[view]) * scale
            # comparisons with NaN are false, which keeps it
            position = 0.0 if position < 0 else position
            position = last if position > last else position
            middle = np.rint(position)
            distance[view, row] = position - middle
            interval[view, row] = first + np.int32(middle if middle >= 0 else 0.0)
        first += counts[view]


@row_loop
def add_polynomials(
    interval: NDArray[np.int32],
    distance: NDArray[np.float32],
    polynomials: NDArray[np.float32],
    features: NDArray[np.float32],
) -> None:
    """Add the cubic of every row's interval in every view.

    Parameters
    ----------
    interval : (views, rows) int32 array
        Position of the interval among the intervals of all views.
    distance : (views, rows) float32 array
        Distance from the middle of the interval, in steps.
    polynomials : (intervals, TERMS, q) float32 array
        Coefficients of the features by powers of the distance.
    features : (rows, q) float32 array
        The cubics are added to it.
    """
    for view in range(interval.shape[0]):
        for row in range(interval.shape[1]):
            c = polynomials[interval[view, row]]
            x = distance[view, row]
            of_row = features[row]
            for j in range(of_row.size):
                of_row[j] += c[0, j] + x * (c[1, j] + x * (c[2, j] + x * c[3, j]))
