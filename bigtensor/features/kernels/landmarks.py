"""Landmarks: the few points at which kernels are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.clustering import kmeans, plus_plus_rows
from bigtensor.features.kernels.incomplete_cholesky import incomplete_cholesky
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.features.kernels.nystroem import eigenvalue_cut, nystroem_root

METHODS = ("kmeans", "kmeans++", "uniform", "cholesky")
"""How landmarks are chosen; see `choose_landmarks`."""

_FEWEST = 25
"""The first number of landmarks that is tried for a tolerance."""

_TILE_ROWS = 2048
"""Rows whose features are in memory at once."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Distinct points that stand for a sample.

    Attributes
    ----------
    points : (p, d) float64 array
        Sorted by their first coordinate, then by the others.
    note : str or None
        Why there are fewer points than were asked for, or that the tolerance was not met.
    trace_error : float
        What the Nystroem approximation from the points leaves of the trace of the sample's kernel
        matrix K, relative: ``tr(K - K~) / tr(K)`` between 0 and 1; NaN without a kernel.
    tolerance : float or None
        The trace error that was asked for.
    """

    points: FloatArray
    note: str | None = None
    trace_error: float = np.nan
    tolerance: float | None = None

    @property
    def tolerance_met(self) -> bool:
        """True if the trace error is at most the tolerance, or there is no tolerance."""
        return self.tolerance is None or self.trace_error <= self.tolerance


def choose_landmarks(
    method: str,
    values: NDArray[Any],
    n_landmarks: int,
    within_sd: FloatArray,
    kernel: Kernel,
    random_state: int,
    tolerance: float | None = None,
) -> Landmarks:
    """Choose the landmarks of one view, and measure the trace error of their kernel.

    Parameters
    ----------
    method : {"kmeans", "kmeans++", "uniform", "cholesky"}
        Centres of k-means clusters; the rows that its seeding chooses; rows at random; or rows by
        randomly pivoted Cholesky, which alone looks at the kernel.
    values : (n0, d) array
        The rows of one view in the sample.
    n_landmarks : int
        How many landmarks are wanted; the most, when a tolerance is given.
    within_sd : (d,) float64 array
        Lengths by which the coordinates are divided before they are compared: the spread of the
        features inside components. Read by ``"kmeans"`` and ``"kmeans++"``.
    kernel : Kernel
        Of width d.
    random_state : int
        Seed of the random numbers.
    tolerance : float, optional
        Take as few landmarks as leave a relative trace error of at most this: for ``"cholesky"``
        the first count that does, for the others the first of 25, 50, 100, ...

    Returns
    -------
    Landmarks
        Fewer than ``n_landmarks`` when the sample has fewer distinct rows, or when the tolerance is
        met.

    Raises
    ------
    ParameterError
        When there is no such method, ``n_landmarks`` is less than one, or the tolerance does not
        lie between 0 and 1.
    DataError
        When the sample is empty, or the kernel is zero on it.

    References
    ----------
    Zhang and Kwok (2010), "Clustered Nyström method for large scale manifold learning"; Arthur and
    Vassilvitskii (2007); Chen, Epperly, Tropp and Webber (2023).
    """
    if method not in METHODS:
        raise ParameterError(
            f"landmarks are chosen by {', '.join(map(repr, METHODS))}, got {method!r}"
        )
    if tolerance is not None and not 0 < tolerance < 1:
        raise ParameterError(
            f"the tolerance of landmarks is a relative trace error between 0 and 1, got {tolerance}"
        )
    rows = _checked(values, n_landmarks)
    if method == "cholesky":
        landmarks = _cholesky_landmarks(rows, n_landmarks, kernel, random_state, tolerance)
    else:
        for count in _counts(n_landmarks, tolerance):
            landmarks = _landmarks_without_kernel(method, rows, count, within_sd, random_state)
            error = trace_error(rows, landmarks.points, kernel)
            landmarks = replace(landmarks, trace_error=error, tolerance=tolerance)
            if len(landmarks.points) < count or (tolerance is not None and landmarks.tolerance_met):
                break
    if landmarks.tolerance_met:
        return landmarks
    missed = (
        f"{len(landmarks.points)} landmarks leave a relative trace error of "
        f"{landmarks.trace_error:.2g}, above the tolerance of {tolerance:g}: allow more "
        "landmarks or use a wider kernel"
    )
    return replace(landmarks, note="; ".join(filter(None, [landmarks.note, missed])))


def trace_error(sample: NDArray[Any], points: FloatArray, kernel: Kernel) -> float:
    """Return the relative trace error of the Nystroem approximation of a sample's kernel matrix.

    Parameters
    ----------
    sample : (n0, d) array
        Rows of one view.
    points : (p, d) float64 array
        The landmarks.
    kernel : Kernel
        Kernel of width d.

    Returns
    -------
    float
        ``tr(K - K_nL K_LL^+ K_Ln) / tr(K)``, between 0 and 1, from n0 x p values of the kernel.

    Raises
    ------
    DataError
        When the kernel is zero at all landmarks or on all of the sample.
    """
    root = nystroem_root(kernel.gram(points), eigenvalue_cut("float64"))
    trace = float(kernel.diagonal(sample).sum())
    if not trace > 0:
        raise DataError(
            f"the kernel of {len(sample)} rows with themselves is zero in sum; use another kernel"
        )
    explained = 0.0
    for start in range(0, len(sample), _TILE_ROWS):
        features = kernel.evaluate(sample[start : start + _TILE_ROWS], points) @ root
        explained += float(np.einsum("ij,ij->", features, features))
    return min(max(1 - explained / trace, 0.0), 1.0)


def uniform_landmarks(sample: NDArray[Any], count: int, random_state: int) -> Landmarks:
    """Choose distinct rows of the sample at random.

    Parameters
    ----------
    sample : (n, d) array
        The rows of one view.
    count : int
        How many landmarks are wanted.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    Landmarks
        Fewer than ``count`` when the sample has fewer distinct rows.

    Raises
    ------
    ParameterError, DataError
        When ``count`` is less than one, or the sample is empty.
    """
    rows = _checked(sample, count)
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    shuffled = rows[rng.permutation(len(rows))]
    distinct, first = np.unique(shuffled, axis=0, return_index=True)
    if len(distinct) <= count:
        return Landmarks(distinct, _note(len(distinct), count))
    return Landmarks(np.unique(shuffled[np.sort(first)[:count]], axis=0))


def kmeans_landmarks(
    sample: NDArray[Any], count: int, scale: FloatArray, random_state: int
) -> Landmarks:
    """Choose the centres of k-means clusters, which cover a sample better than its rows do.

    Parameters
    ----------
    sample : (n, d) array
        The rows of one view.
    count : int
        How many landmarks are wanted.
    scale : (d,) float64 array
        Lengths by which the coordinates are divided before they are compared, for example the
        bandwidth.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    Landmarks
        Fewer than ``count`` when the sample has fewer distinct rows.

    Raises
    ------
    ParameterError, DataError
        When ``count`` is less than one, or the sample is empty.

    References
    ----------
    Zhang and Kwok (2010), "Clustered Nyström method for large scale manifold learning".
    """

    def centres(rows: FloatArray) -> FloatArray:
        return kmeans(rows / scale, count, random_state, n_starts=1).centres * scale

    return _distinct_landmarks(sample, count, centres)


def plus_plus_landmarks(
    sample: NDArray[Any], count: int, scale: FloatArray, random_state: int
) -> Landmarks:
    """Choose distinct rows that lie far from each other: the seeding of k-means++ alone.

    Parameters
    ----------
    sample : (n, d) array
        The rows of one view.
    count : int
        How many landmarks are wanted.
    scale : (d,) float64 array
        Lengths by which the coordinates are divided before they are compared.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    Landmarks
        Fewer than ``count`` when the sample has fewer distinct rows.

    Raises
    ------
    ParameterError, DataError
        When ``count`` is less than one, or the sample is empty.

    References
    ----------
    Arthur and Vassilvitskii (2007), "k-means++: the advantages of careful seeding".
    """

    def seeds(rows: FloatArray) -> FloatArray:
        return rows[plus_plus_rows(rows / scale, count, random_state)]

    return _distinct_landmarks(sample, count, seeds)


def _distinct_landmarks(
    sample: NDArray[Any], count: int, choose: Callable[[FloatArray], FloatArray]
) -> Landmarks:
    """Return chosen points, or the distinct rows of a sample that has no more of them."""
    rows = _checked(sample, count)
    points = _distinct(rows)
    if len(points) > count:
        points = np.unique(choose(rows), axis=0)
    return Landmarks(points, _note(len(points), count))


def _distinct(rows: FloatArray) -> FloatArray:
    """Return the distinct rows in ascending order."""
    if rows.shape[1] == 1:
        # numbers are sorted in a hundredth of the time of rows of one number
        return np.asarray(np.unique(rows[:, 0])[:, None])
    return np.asarray(np.unique(rows, axis=0))


def _landmarks_without_kernel(
    method: str,
    rows: FloatArray,
    count: int,
    scale: FloatArray,
    random_state: int,
) -> Landmarks:
    """Choose a given number of landmarks by a method that does not look at the kernel."""
    if method == "uniform":
        return uniform_landmarks(rows, count, random_state)
    if method == "kmeans++":
        return plus_plus_landmarks(rows, count, scale, random_state)
    return kmeans_landmarks(rows, count, scale, random_state)


def _cholesky_landmarks(
    rows: FloatArray,
    count: int,
    kernel: Kernel,
    random_state: int,
    tolerance: float | None,
) -> Landmarks:
    """Choose the pivots of an incomplete Cholesky factorisation."""
    factorisation = incomplete_cholesky(rows, kernel, count, random_state, tolerance or 0.0)
    points = np.unique(rows[factorisation.pivots], axis=0)
    error = float(factorisation.trace_errors[-1])
    chosen = Landmarks(points, trace_error=error, tolerance=tolerance)
    if len(points) == count or (tolerance is not None and chosen.tolerance_met):
        return chosen
    note = f"{len(points)} landmarks in place of {count}: they reproduce the kernel of the sample"
    return replace(chosen, note=note)


def _counts(most: int, tolerance: float | None) -> Iterator[int]:
    """Yield the numbers of landmarks to try, ascending."""
    count = _FEWEST
    while tolerance is not None and count < most:
        yield count
        count *= 2
    yield most


def _checked(sample: NDArray[Any], count: int) -> FloatArray:
    """Return the sample as rows of float64."""
    rows = np.asarray(sample, np.float64)
    if count < 1:
        raise ParameterError(f"at least one landmark is needed, got {count}")
    if rows.ndim != 2 or not rows.size:
        raise DataError(
            f"landmarks are chosen among the rows of a sample (rows, features), got {rows.shape}"
        )
    return rows


def _note(n_landmarks: int, n_requested: int) -> str | None:
    """Say why there are fewer landmarks than requested."""
    if n_landmarks == n_requested:
        return None
    return (
        f"the sample has fewer distinct values than {n_requested} landmarks, the points that "
        "densities are made from, so all values are landmarks"
    )
