"""Independent components of whitened rows: axes, orthogonal updates, norms of mixing columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import DataError, IdentifiabilityError, Setting

RANK_CUT = 1e-10
"""Eigenvalue of a correlation matrix, relative to the largest, below which it is zero."""

LEAST_EIGENVALUE = 1e-6
"""Eigenvalue of a Gram matrix, relative to the largest, below which singular values are needed."""

_LEAST_RIDGE = 1e-10
"""Ridge with which the normal equations have a Cholesky factor."""

_NOISE_RIDGE = 1e-6
"""Penalty on noise where sources explain the covariance as well."""


class PrincipalAxes(NamedTuple):
    """Whitening along the largest principal axes of features, standardised or as they are.

    Attributes
    ----------
    whitening : (d, q) float64 array
        W with ``W.T @ covariance @ W = I``.
    unwhitening : (d, q) float64 array
        U with ``U.T @ W = I``. The covariance on the axes is ``U @ U.T``.
    eigenvalues : (d,) float64 array
        Of the correlation matrix, or of the covariance; descending.
    rank : int
        Number of eigenvalues that are not zero, of which q are used.
    scales : (d,) float64 array
        Standard deviations of the features; one for a constant feature, and for features as they
        are.
    varying : (d,) bool array
        False for constant features, which have no part in any axis.
    """

    whitening: FloatArray
    unwhitening: FloatArray
    eigenvalues: FloatArray
    rank: int
    scales: FloatArray
    varying: NDArray[np.bool_]

    @property
    def condition(self) -> float:
        """Ratio of the largest to the smallest standard deviation along the axes."""
        used = self.eigenvalues[: self.whitening.shape[1]]
        return float(np.sqrt(used[0] / used[-1]))

    def largest(self, n_axes: int) -> PrincipalAxes:
        """Return the first axes alone, along which standardised features vary most.

        Parameters
        ----------
        n_axes : int
            Number of axes to keep.

        Raises
        ------
        IdentifiabilityError
            When there are fewer.
        """
        if n_axes > self.rank:
            raise IdentifiabilityError(
                f"all rows vary along {self.rank} axes and the sample along {n_axes}: use fewer "
                "components (" + Setting("n_components", self.rank) + ")"
            )
        return self._replace(
            whitening=self.whitening[:, :n_axes], unwhitening=self.unwhitening[:, :n_axes]
        )

    def within(self, rank: int) -> PrincipalAxes:
        """Return the axes with at most a rank that is known otherwise."""
        if rank >= self.rank:
            return self
        return self.largest(rank)._replace(rank=rank)

    def of_features(self, positions: Sequence[int] | IndexArray) -> PrincipalAxes:
        """Return the axes of features in another order.

        Parameters
        ----------
        positions : sequence of int
            Position of every feature in the present order.
        """
        return self._replace(
            whitening=self.whitening[positions],
            unwhitening=self.unwhitening[positions],
            scales=self.scales[positions],
            varying=self.varying[positions],
        )


def principal_axes(covariance: FloatArray, least_variances: FloatArray) -> PrincipalAxes:
    """Return the whitening of a covariance along all axes that are not rounding.

    Units and order of the features do not matter.

    Parameters
    ----------
    covariance : (d, d) float64 array
        Covariance of the features.
    least_variances : (d,) float64 array
        Variances that rounding alone may give a feature.

    Raises
    ------
    DataError
        When all features are constant.
    """
    variances = np.diag(covariance)
    varying = variances > least_variances
    if not varying.any():
        raise DataError("all features are constant, so that they have no sources")
    scales = np.where(varying, np.sqrt(np.where(varying, variances, 1.0)), 1.0)
    correlation = np.where(np.outer(varying, varying), covariance, 0.0) / np.outer(scales, scales)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = float((least_variances / scales**2)[varying].max()) * len(variances)
    rank = int(np.count_nonzero(values > max(RANK_CUT * values[0], rounding)))
    roots = np.sqrt(values[:rank])
    axes = _signed(np.where(varying[:, None], vectors[:, :rank], 0.0))
    return PrincipalAxes(
        axes / roots / scales[:, None],
        axes * roots * scales[:, None],
        values,
        rank,
        scales,
        varying,
    )


def _signed(axes: FloatArray) -> FloatArray:
    """Return axes with signs that do not depend on the order of the features."""
    return np.asarray(axes * np.where((axes**3).sum(axis=0) < 0, -1.0, 1.0))


def unscaled_axes(covariance: FloatArray, cut: float) -> PrincipalAxes:
    """Return the whitening of a covariance along its eigenvectors: features keep their units.

    Parameters
    ----------
    covariance : (d, d) float64 array
        Covariance of the features.
    cut : float
        Eigenvalue, relative to the largest, below which it is zero.

    Raises
    ------
    DataError
        When all features are constant.
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0:
        raise DataError("all features are constant, so that they have no sources")
    rank = int(np.count_nonzero(values > cut * values[0]))
    roots, axes = np.sqrt(values[:rank]), _signed(vectors[:, :rank])
    scales, varying = np.ones(len(values)), np.diag(covariance) > 0
    return PrincipalAxes(axes / roots, axes * roots, values, rank, scales, varying)


def symmetric_orthogonalisation(matrix: FloatArray) -> FloatArray:
    """Return the orthonormal columns that are nearest to the columns of a matrix.

    Parameters
    ----------
    matrix : (..., q, k) array
        With at most q columns.
    """
    values, vectors = np.linalg.eigh(matrix.mT @ matrix)
    if (values[..., 0] > LEAST_EIGENVALUE * values[..., -1]).all():
        # a quarter of the time of singular values
        return np.asarray(matrix @ ((vectors / np.sqrt(values)[..., None, :]) @ vectors.mT))
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)


def mean_turn(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return the mean sine of the angle between unit columns, whatever their signs.

    Parameters
    ----------
    before, after : (..., q, k) arrays
        Unit columns.
    """
    cosines = np.minimum(np.abs((before * after).sum(axis=-2)), 1.0)
    return np.asarray(np.sqrt(1 - np.square(cosines)).mean(axis=-1))


def part_of_turn(before: FloatArray, after: FloatArray, part: float | FloatArray) -> FloatArray:
    """Return orthonormal columns on the way from some to others, whatever their signs.

    Parameters
    ----------
    before, after : (..., q, k) arrays
        Orthonormal columns.
    part : float or (...) array
        Above 0; one leads to the others.
    """
    if np.all(part == 1):
        return after
    signs = np.where((before * after).sum(axis=-2, keepdims=True) < 0, -1.0, 1.0)
    share = np.asarray(part)[..., None, None]
    return symmetric_orthogonalisation(before + share * (after * signs - before))


def squared_lengths(columns: FloatArray, covariance: FloatArray) -> FloatArray:
    r"""Return the squared lengths of mixing columns whose directions are known.

    The covariance is :math:`\sum_j s_j u_j u_j^T + \operatorname{diag}(v)` with unit columns u and
    noise of variances v, independent between features; s and v are not negative. Where sources and
    noise explain it equally well, there is no noise.

    Parameters
    ----------
    columns : (d, k) array
        Unit columns.
    covariance : (d, d) array
        Covariance of the features.

    Returns
    -------
    (k,) float64 array
        The squared lengths s; zero for a column without a part in the covariance.
    """
    k, d = columns.shape[1], len(columns)
    squares = np.square(columns)
    # normal equations of the model, in s and v
    gram = np.empty((k + d, k + d))
    gram[:k, :k] = np.square(columns.T @ columns)
    gram[:k, k:], gram[k:, :k] = squares.T, squares
    gram[k:, k:] = np.eye(d) * (1 + _NOISE_RIDGE)
    gram += _LEAST_RIDGE * np.eye(k + d)
    penalty = np.concatenate([np.zeros(k), np.full(d, _NOISE_RIDGE)])
    right = np.concatenate([((covariance @ columns) * columns).sum(axis=0), np.diag(covariance)])
    root = np.linalg.cholesky(gram)
    solution, _ = nnls(root.T, solve_triangular(root, right - penalty, lower=True))
    return np.asarray(solution[:k])
