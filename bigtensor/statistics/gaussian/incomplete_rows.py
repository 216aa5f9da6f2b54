"""Rows with missing entries under Gaussian components: marginal densities and completed sums.

The E step of a row uses the marginal density of its seen entries. In the sums of the M step, the
missing entries are replaced by their conditional moments in every component (Little and Rubin 2019,
"Statistical Analysis with Missing Data", section 11.2; Ghahramani and Jordan 1994, "Supervised
learning from incomplete data via an EM approach", section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.features.row_loops import reducing_row_loop, row_loop

_LOG_TWO_PI = float(np.log(2 * np.pi))

_BYTES_AT_ONCE = 2 * 1024**2
"""Matrices of patterns of missing entries that are in memory at once."""

_NEGLIGIBLE = 1e-18
"""Weight of a row in a component that is lost in the rounding of a sum."""


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Rows with missing entries, those with the same missing entries one after the other.

    Attributes
    ----------
    places : (m,) intp array
        Positions of the rows where they come from.
    entries : (m, d) float64 array
        The rows. NaN is missing.
    present : (patterns, d) bool array
        Entries that the rows of a pattern have.
    starts : (patterns + 1,) intp array
        First row of every pattern, and the number of rows.
    """

    places: IndexArray
    entries: FloatArray
    present: NDArray[np.bool_]
    starts: IndexArray

    @classmethod
    def from_rows(cls, rows: NDArray[np.floating]) -> IncompleteRows | None:
        """Return the rows ``(n, d)`` that have a NaN; None if there are none."""
        missing = np.isnan(rows)
        places = np.flatnonzero(missing.any(axis=1))
        if not places.size:
            return None
        patterns = np.ascontiguousarray(np.packbits(missing[places], axis=1))
        # words of bytes are sorted faster than rows of numbers
        words = patterns.view(f"S{patterns.shape[1]}").ravel()
        order = np.argsort(words, kind="stable")
        begins = np.flatnonzero(words[order][1:] != words[order][:-1]) + 1
        starts = np.concatenate([[0], begins, [len(order)]]).astype(np.intp)
        places = places[order]
        return cls(
            places,
            np.ascontiguousarray(rows[places], np.float64),
            ~missing[places[starts[:-1]]],
            starts,
        )

    @property
    def present_by_row(self) -> IndexArray:
        """Number of seen entries of every row: ``(m,)``."""
        return np.repeat(np.count_nonzero(self.present, axis=1), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class CompletedSums:
    """Sums of weights times rows, whose missing entries have their conditional moments.

    Attributes
    ----------
    counts : (k,) float64 array
        Sums of the weights.
    sums : (k, d) float64 array
        Sums of rows.
    second_moments : (k, d, d) or (k, d) float64 array
        Sums of products of two entries, or of squares.
    """

    counts: FloatArray
    sums: FloatArray
    second_moments: FloatArray


def log_densities(
    rows: IncompleteRows, means: FloatArray, covariances: FloatArray
) -> NDArray[np.float64]:
    """Return the log densities of the seen entries of rows in every component, in nats: ``(m, k)``.

    Parameters
    ----------
    rows : IncompleteRows
        Rows with missing entries.
    means : (k, d) float64 array
        Means.
    covariances : (k, d, d) or (k, d) float64 array
        Full matrices, positive definite, or variances.
    """
    out = np.zeros((len(rows.places), len(means)))
    if covariances.ndim == 3:
        for starts, present, swept, log_determinants in _swept(rows, np.linalg.inv(covariances)):
            _write_full(rows.entries, starts, present, means, swept, log_determinants, out)
    else:
        _write_diagonal(rows.entries, means, 1 / covariances, np.log(covariances), out)
    return out - 0.5 * _LOG_TWO_PI * rows.present_by_row[:, None]


def completed_sums(
    rows: IncompleteRows, posterior: FloatArray, means: FloatArray, covariances: FloatArray
) -> CompletedSums:
    """Return the expected sums of complete rows, given their seen entries.

    Parameters
    ----------
    rows : IncompleteRows
        Rows with missing entries.
    posterior : (m, k) float64 array
        Weights of the rows in every component, not negative.
    means : (k, d) float64 array
        Means.
    covariances : (k, d, d) or (k, d) float64 array
        Full matrices, positive definite, or variances.
    """
    counts = posterior.sum(axis=0)
    first, second = np.zeros(means.shape), np.zeros(covariances.shape)
    if covariances.ndim < 3:
        _add_diagonal(rows.entries, posterior, means, covariances, first, second)
        mixed = 2 * first * means
        squares = means * means
    else:
        for starts, present, swept, _ in _swept(rows, np.linalg.inv(covariances)):
            _add_full(rows.entries, starts, present, posterior, means, swept, first, second)
        mixed = first[:, :, None] * means[:, None, :]
        mixed = mixed + mixed.transpose(0, 2, 1)
        squares = means[:, :, None] * means[:, None, :]
    # moments about the means of the components become moments about zero
    second += mixed + squares * counts.reshape(-1, *[1] * (squares.ndim - 1))
    return CompletedSums(counts, first + counts[:, None] * means, second)


def _swept(
    rows: IncompleteRows, precisions: NDArray[np.floating]
) -> Iterator[tuple[IndexArray, NDArray[np.bool_], FloatArray, FloatArray]]:
    """Yield precisions in which the missing entries are swept, for a few patterns at once.

    Sweeping (Goodnight 1979, "A tutorial on the SWEEP operator") replaces a precision matrix by
    the precision of the seen entries, the slopes of the missing ones on the seen ones with the
    opposite sign, and the conditional covariance of the missing ones with the opposite sign.

    Yields
    ------
    starts : (p + 1,) intp array
        First row of every pattern, and the row after the last one.
    present : (p, d) bool array
        Entries that the rows of a pattern have.
    swept : (p, k, d, d) float64 array
        Swept precisions of every component.
    log_determinants : (p, k) float64 array
        Of the precisions of the seen entries.
    """
    k, d = precisions.shape[:2]
    whole = np.linalg.slogdet(precisions)[1]
    at_once = max(1, _BYTES_AT_ONCE // (8 * k * d * d))
    for start in range(0, len(rows.present), at_once):
        present = rows.present[start : start + at_once]
        swept = np.repeat(precisions[None], len(present), axis=0)
        log_determinants = np.repeat(whole[None], len(present), axis=0)
        _sweep(present, swept, log_determinants)
        yield rows.starts[start : start + len(present) + 1], present, swept, log_determinants


def completed_rows(
    rows: NDArray[np.floating], mean: FloatArray, covariance: FloatArray
) -> NDArray[np.float64]:
    """Return rows with conditional means under one Gaussian in place of missing entries.

    Parameters
    ----------
    rows : (n, d) array
        NaN is missing.
    mean : (d,) float64 array
        Mean of the Gaussian.
    covariance : (d, d) or (d,) float64 array
        Its covariance, positive definite, or variances.
    """
    complete = np.array(rows, np.float64)
    incomplete = IncompleteRows.from_rows(rows)
    if incomplete is None:
        return complete
    for present, (start, stop) in zip(incomplete.present, pairwise(incomplete.starts), strict=True):
        filled = np.broadcast_to(mean[~present], (stop - start, int((~present).sum())))
        if covariance.ndim == 2 and present.any():
            of_seen = covariance[present]
            slopes = np.linalg.solve(of_seen[:, present], of_seen[:, ~present])
            filled = filled + (incomplete.entries[start:stop, present] - mean[present]) @ slopes
        complete[np.ix_(incomplete.places[start:stop], ~present)] = filled
    return complete


@row_loop
def _sweep(present: NDArray[np.bool_], swept: FloatArray, log_determinants: FloatArray) -> None:
    """Sweep the missing entries of every pattern in symmetric matrices, in place."""
    patterns, k, d = swept.shape[:3]
    line = np.empty(d)
    for pattern in range(patterns):
        for h in range(k):
            for pivot in range(d):
                if present[pattern, pivot]:
                    continue
                inverse = 1 / swept[pattern, h, pivot, pivot]
                log_determinants[pattern, h] += np.log(inverse)
                for j in range(d):
                    line[j] = swept[pattern, h, pivot, j]
                for i in range(d):
                    factor = line[i] * inverse
                    for j in range(d):
                        swept[pattern, h, i, j] -= factor * line[j]
                for j in range(d):
                    swept[pattern, h, pivot, j] = line[j] * inverse
                    swept[pattern, h, j, pivot] = line[j] * inverse
                swept[pattern, h, pivot, pivot] = -inverse


@reducing_row_loop
def _write_full(
    entries: FloatArray,
    starts: IndexArray,
    present: NDArray[np.bool_],
    means: FloatArray,
    swept: FloatArray,
    log_determinants: FloatArray,
    out: FloatArray,
) -> None:
    """Write the log densities of the rows of some patterns, without the constant."""
    patterns, k, d = swept.shape[:3]
    apart = np.empty(d)
    for pattern in range(patterns):
        for row in range(starts[pattern], starts[pattern + 1]):
            for h in range(k):
                for i in range(d):
                    is_seen = present[pattern, i]
                    apart[i] = entries[row, i] - means[h, i] if is_seen else 0.0
                square = 0.0
                for i in range(d):
                    product = 0.0
                    for j in range(d):
                        product += swept[pattern, h, i, j] * apart[j]
                    square += apart[i] * product
                out[row, h] = 0.5 * (log_determinants[pattern, h] - square)


@reducing_row_loop
def _add_full(
    entries: FloatArray,
    starts: IndexArray,
    present: NDArray[np.bool_],
    posterior: FloatArray,
    means: FloatArray,
    swept: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Add the expected moments of the rows of some patterns about the means of the components."""
    patterns, k, d = swept.shape[:3]
    apart, expected = np.empty(d), np.empty(d)
    for pattern in range(patterns):
        for h in range(k):
            count = 0.0
            for row in range(starts[pattern], starts[pattern + 1]):
                weight = posterior[row, h]
                if weight < _NEGLIGIBLE:
                    continue
                count += weight
                for i in range(d):
                    is_seen = present[pattern, i]
                    apart[i] = entries[row, i] - means[h, i] if is_seen else 0.0
                for i in range(d):
                    slope = 0.0
                    if not present[pattern, i]:
                        for j in range(d):
                            slope += swept[pattern, h, i, j] * apart[j]
                    expected[i] = apart[i] - slope
                for i in range(d):
                    part = weight * expected[i]
                    first[h, i] += part
                    for j in range(d):
                        second[h, i, j] += part * expected[j]
            for i in range(d):
                for j in range(d):
                    if not (present[pattern, i] or present[pattern, j]):
                        second[h, i, j] -= count * swept[pattern, h, i, j]


@row_loop
def _write_diagonal(
    entries: FloatArray,
    means: FloatArray,
    precisions: FloatArray,
    log_variances: FloatArray,
    out: FloatArray,
) -> None:
    """Write the log densities of independent entries, without the constant."""
    for row in range(entries.shape[0]):
        for i in range(entries.shape[1]):
            entry = entries[row, i]
            if not np.isnan(entry):
                for h in range(means.shape[0]):
                    apart = entry - means[h, i]
                    out[row, h] -= 0.5 * (apart * apart * precisions[h, i] + log_variances[h, i])


@row_loop
def _add_diagonal(
    entries: FloatArray,
    posterior: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Add the expected moments of independent entries about the means of the components."""
    for row in range(entries.shape[0]):
        for h in range(means.shape[0]):
            weight = posterior[row, h]
            for i in range(entries.shape[1]):
                apart = entries[row, i] - means[h, i]
                if np.isnan(apart):
                    second[h, i] += weight * variances[h, i]
                else:
                    first[h, i] += weight * apart
                    second[h, i] += weight * apart * apart
