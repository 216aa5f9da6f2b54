"""Features of order two, in which Gaussian log densities are linear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import row_loop

OWN_COVARIANCE_TYPES = ("full", "diag", "spherical")
"""Types of covariances that every component has for itself."""


@dataclass(frozen=True)
class QuadraticFeatures:
    """Features ``phi(x)`` of a row, so that Gaussian log densities are ``phi(x) @ w``.

    ``full`` has all products of two entries, ``diag`` the squares, and ``spherical`` the squared
    length. The entries and a one follow.

    Parameters
    ----------
    covariance_type : {"full", "diag", "spherical"}
        Type of the covariances.
    n_features : int
        Number of entries of a row, d.

    Raises
    ------
    ParameterError
        When the type is another one.
    """

    covariance_type: str
    n_features: int

    def __post_init__(self) -> None:
        if self.covariance_type not in OWN_COVARIANCE_TYPES:
            raise ParameterError(
                f"the covariance type {self.covariance_type!r} is not one of "
                f"{', '.join(OWN_COVARIANCE_TYPES)}"
            )

    @property
    def n_quadratic(self) -> int:
        """Number of quadratic features."""
        d = self.n_features
        return {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[self.covariance_type]

    @property
    def width(self) -> int:
        """Number of features, D."""
        return self.n_quadratic + self.n_features + 1

    def fill(self, features: NDArray[Any]) -> None:
        """Write the quadratic features and ones, beside entries that are there already.

        Every feature of all rows is contiguous, so that a product of two entries is one vector
        operation.

        Parameters
        ----------
        features : (D, n) array
            C-contiguous, with the entries of the rows, one after the other, in ``entries_of``.
        """
        entries = self.entries_of(features)
        fills = {"full": _fill_full, "diag": _fill_diagonal, "spherical": _fill_spherical}
        fills[self.covariance_type](entries, features)
        features[-1] = 1

    def entries_of(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return the part of ``(D, n)`` features that are the entries of the rows: ``(d, n)``."""
        return features[self.n_quadratic : -1]

    def coefficients(
        self, log_maxima: FloatArray, means: FloatArray, precisions: FloatArray
    ) -> FloatArray:
        """Return the coefficients of ``log w + log N(x)``, without ``-d log(2 pi) / 2``.

        Parameters
        ----------
        log_maxima : (k,) float64 array
            Values at the means: logarithms of the mixing weights, plus half the logarithms of the
            determinants of the precisions.
        means : (k, d) float64 array
            Means.
        precisions : (k, d, d), (k, d) or (k,) float64 array
            Inverse covariances, positive definite.

        Returns
        -------
        (D, k) float64 array
            One column for each component.
        """
        if self.covariance_type == "full":
            upper, lower = _upper_triangle(self.n_features)
            quadratic = -precisions[:, upper, lower] * np.where(upper == lower, 0.5, 1.0)
            linear = np.einsum("hij,hj->hi", precisions, means)
        elif self.covariance_type == "diag":
            quadratic, linear = -0.5 * precisions, precisions * means
        else:
            quadratic, linear = -0.5 * precisions[:, None], precisions[:, None] * means
        constant = log_maxima - 0.5 * np.einsum("hi,hi->h", linear, means)
        return np.ascontiguousarray(
            np.concatenate([quadratic, linear, constant[:, None]], axis=1).T
        )

    def sums_of(
        self, counts: FloatArray, sums: FloatArray, second_moments: FloatArray
    ) -> FloatArray:
        """Return sums of the features, from sums by component.

        Parameters
        ----------
        counts : (k,) float64 array
            Sums of the weights.
        sums : (k, d) float64 array
            Sums of the entries.
        second_moments : (k, d, d), (k, d) or (k,) float64 array
            Sums of products of two entries, of squares, or of squared lengths.

        Returns
        -------
        (D, k) float64 array
            One column for each component.
        """
        if self.covariance_type == "full":
            quadratic = second_moments[:, *_upper_triangle(self.n_features)].T
        else:
            quadratic = second_moments.T.reshape(self.n_quadratic, -1)
        return np.concatenate([quadratic, sums.T, counts[None]])

    def second_moments(self, sums: FloatArray) -> FloatArray:
        """Return sums of the quadratic features in the shape of covariances.

        Parameters
        ----------
        sums : (D, k) float64 array
            Sums of features.

        Returns
        -------
        (k, d, d), (k, d) or (k,) float64 array
            ``sum x x'``, ``sum x_i^2``, or ``sum |x|^2``.
        """
        quadratic = sums[: self.n_quadratic].T
        if self.covariance_type == "spherical":
            return quadratic[:, 0].copy()
        if self.covariance_type == "diag":
            return quadratic.copy()
        upper, lower = _upper_triangle(self.n_features)
        moments = np.empty((len(quadratic), self.n_features, self.n_features))
        moments[:, upper, lower] = quadratic
        moments[:, lower, upper] = quadratic
        return moments


@lru_cache(maxsize=8)
def _upper_triangle(n_features: int) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns of the upper triangle of a matrix, which are not to be changed.

    To make them takes a tenth of the time of an EM iteration over a few hundred rows.
    """
    rows, columns = np.triu_indices(n_features)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


@row_loop
def _fill_full(entries: NDArray[Any], out: NDArray[Any]) -> None:
    """Write products of two entries."""
    place = 0
    for i in range(entries.shape[0]):
        for j in range(i, entries.shape[0]):
            first, second, product = entries[i], entries[j], out[place]
            for row in range(first.size):
                product[row] = first[row] * second[row]
            place += 1


@row_loop
def _fill_diagonal(entries: NDArray[Any], out: NDArray[Any]) -> None:
    """Write squares."""
    for i in range(entries.shape[0]):
        entry, square = entries[i], out[i]
        for row in range(entry.size):
            square[row] = entry[row] * entry[row]


@row_loop
def _fill_spherical(entries: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the squared length."""
    length = out[0]
    length[:] = 0
    for i in range(entries.shape[0]):
        entry = entries[i]
        for row in range(entry.size):
            length[row] += entry[row] * entry[row]
