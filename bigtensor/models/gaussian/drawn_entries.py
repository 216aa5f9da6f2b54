"""Rows of a sample whose missing entries are drawn from a Gaussian distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.statistics.gaussian.incomplete_rows import (
    CompletedSums,
    IncompleteRows,
    completed_sums,
)

_ITERATIONS = (4, 300)
_OPERATIONS = 8_000_000_000
"""Fewest and most EM steps, and operations of all, about eight seconds."""

ROUND_OFF_VARIANCE = 1e-6
"""Least variance of a coordinate given the others in the moments of missing entries."""

_SETTLED = 1e-3
"""Change of means and covariances, in units of the coordinates, that ends the steps of one
Gaussian."""


def drawn_rows(values: FloatArray, weight: FloatArray, random_state: int) -> FloatArray:
    """Return rows whose missing entries are drawn from one Gaussian given the other ones.

    Parameters
    ----------
    values : (n, m) float64 array
        Rows in coordinates of mean zero and variance one, NaN where they are missing.
    weight : (n,) float64 array
        Weights of the rows.
    random_state : int
        Seed of the draws.
    """
    if not np.isnan(values).any():
        return values
    mean, covariance = _gaussian_of(values, weight)
    component = np.zeros(len(values), np.intp)
    rng = np.random.default_rng(random_state)
    return drawn_by_component(values, component, mean[None], covariance[None], weight, rng)


def drawn_by_component(
    values: FloatArray,
    component: NDArray[np.intp],
    means: FloatArray,
    covariances: FloatArray,
    weight: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return rows whose missing entries are drawn from the Gaussian component of every row.

    Parameters
    ----------
    values : (n, m) float64 array
        Rows. NaN is missing.
    component : (n,) integer array
        Component of every row.
    means : (k, m) float64 array
        Of the components.
    covariances : (k, m, m) float64 array
        Of the components.
    weight : (n,) float64 array
        Weights of the rows.
    rng : Generator
        Makes the draws.
    """
    gaps = np.isnan(values)
    # draws of several missing entries follow the content of their columns, not the positions
    columns = content_order_of_columns(np.where(gaps, 0.0, values), weight)
    filled, gaps = values[:, columns], gaps[:, columns]
    for k in range(len(means)):
        rows = np.flatnonzero(component == k)
        own = filled[rows]
        _fill(own, gaps[rows], means[k, columns], covariances[k][np.ix_(columns, columns)], rng)
        filled[rows] = own
    return filled[:, np.argsort(columns)]


def most_iterations(incomplete: IncompleteRows, n_components: int) -> int:
    """Return how many steps over rows with missing entries are affordable.

    Parameters
    ----------
    incomplete : IncompleteRows
        Rows with missing entries, most of which have other ones missing than the rows before.
    n_components : int
        Number of components.
    """
    rows, m = incomplete.entries.shape
    missing = int(np.count_nonzero(~incomplete.present)) * m**2
    operations = n_components * (4 * missing + 3 * rows * m**2)
    return int(np.clip(_OPERATIONS // operations, *_ITERATIONS))


def complete_sums(values: FloatArray, weighted: FloatArray) -> CompletedSums:
    """Return the weighted sums of rows without missing entries in every component.

    Parameters
    ----------
    values : (n, m) float64 array
        Rows.
    weighted : (n, k) float64 array
        Weight of every row in every component.
    """
    second = np.stack([(values.T * column) @ values for column in weighted.T])
    return CompletedSums(weighted.sum(axis=0), weighted.T @ values, second)


def expected_sums(
    means: FloatArray,
    covariances: FloatArray,
    values: FloatArray,
    incomplete: IncompleteRows | None,
    weighted: FloatArray,
) -> CompletedSums:
    """Return the sums of rows whose missing entries have their moments under the components.

    Parameters
    ----------
    means : (k, m) float64 array
        Of the components.
    covariances : (k, m, m) float64 array
        Of the components.
    values : (n, m) float64 array
        Rows. NaN is missing.
    incomplete : IncompleteRows, optional
        The rows that miss an entry, if there are any.
    weighted : (n, k) float64 array
        Weight of every row in every component.
    """
    if incomplete is None:
        return complete_sums(values, weighted)
    is_complete = np.ones(len(values), bool)
    is_complete[incomplete.places] = False
    complete = complete_sums(values[is_complete], weighted[is_complete])
    others = completed_sums(incomplete, weighted[incomplete.places], means, covariances)
    return CompletedSums(
        complete.counts + others.counts,
        complete.sums + others.sums,
        complete.second_moments + others.second_moments,
    )


def _gaussian_of(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of rows with missing entries, by expectation maximisation."""
    m = values.shape[1]
    mean, covariance = np.zeros(m), np.eye(m)
    incomplete = IncompleteRows.from_rows(values)
    most = 0 if incomplete is None else most_iterations(incomplete, 1)
    for _ in range(most):
        before = mean, covariance
        sums = expected_sums(mean[None], covariance[None], values, incomplete, weight[:, None])
        mean = sums.sums[0] / sums.counts[0]
        covariance = sums.second_moments[0] / sums.counts[0] - np.outer(mean, mean)
        covariance[np.diag_indices(m)] += ROUND_OFF_VARIANCE
        moves = (
            np.abs(now - old).max() for now, old in zip((mean, covariance), before, strict=True)
        )
        if max(moves) < _SETTLED:
            break
    return mean, covariance


def _fill(
    filled: FloatArray,
    missing: NDArray[np.bool_],
    mean: FloatArray,
    covariance: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Draw missing entries from a Gaussian distribution given the other ones, in place."""
    patterns, of_row, counts = np.unique(missing, axis=0, return_inverse=True, return_counts=True)
    # NumPy 2.0 gives a column
    order = np.argsort(of_row.ravel(), kind="stable")
    for gap, rows in zip(patterns, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        if not gap.any():
            continue
        present = ~gap
        slopes = np.linalg.solve(
            covariance[np.ix_(present, present)], covariance[np.ix_(present, gap)]
        )
        rest = covariance[np.ix_(gap, gap)] - covariance[np.ix_(gap, present)] @ slopes
        noise = rng.standard_normal((len(rows), int(gap.sum()))) @ np.linalg.cholesky(rest).T
        centre = mean[gap] + (filled[np.ix_(rows, present)] - mean[present]) @ slopes
        filled[np.ix_(rows, gap)] = centre + noise
