"""Landmarks: the few points at which kernels are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.clustering import kmeans


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Distinct points that stand for a sample.

    Attributes
    ----------
    points : (p, d) float64 array
        Sorted by their first coordinate, then by the others.
    note : str or None
        Why there are fewer points than were asked for.
    """

    points: NDArray[np.float64]
    note: str | None = None


def uniform_landmarks(sample: NDArray[Any], count: int, random_state: int) -> Landmarks:
    """Choose distinct rows of the sample at random.

    Parameters
    ----------
    sample : (n, d) array
        The rows of one view.
    count : int
        How many landmarks are wanted.
    random_state : int

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
    sample: NDArray[Any], count: int, scale: NDArray[np.float64], random_state: int
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
    rows = _checked(sample, count)
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= count:
        return Landmarks(distinct, _note(len(distinct), count))
    centres = np.unique(
        kmeans(rows / scale, count, random_state, n_starts=1).centres * scale, axis=0
    )
    return Landmarks(centres, _note(len(centres), count))


def _checked(sample: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return the sample as rows of float64."""
    rows = np.asarray(sample, np.float64)
    if count < 1:
        raise ParameterError(f"at least one landmark is needed, got {count}")
    if rows.ndim != 2 or not rows.size:
        raise DataError(
            f"landmarks are chosen among the rows of a sample (rows, features), got {rows.shape}"
        )
    return rows


def _note(found: int, wanted: int) -> str | None:
    """Say why there are fewer landmarks than wanted."""
    if found == wanted:
        return None
    return f"{found} landmarks in place of {wanted}: the sample has no more distinct values"
