"""Coordinates in which moments become (nearly) orthonormal."""

from typing import NamedTuple

import numpy as np

from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import IdentifiabilityError, ParameterError

PAIR_FLOOR = 1e-3
"""Smallest eigenvalue of a whitened pair moment, relative to the largest: below it is noise."""

SECOND_MOMENT_FLOOR = 1e-9
"""Smallest eigenvalue of a second moment, relative to the largest: it only guards a division."""


class Whitening(NamedTuple):
    """Whitening of a symmetric pair moment of which k signed eigenpairs are kept.

    Attributes
    ----------
    matrix : ndarray of shape (r, k)
        W with ``W' P W = I`` on the kept eigenpairs that reach the floor.
    unwhitening : ndarray of shape (r, k)
        B, the transposed pseudo-inverse of W, with ``B' W = I``.
    eigenvalues : ndarray of shape (k,)
        The k algebraically largest eigenvalues, descending, before the floor.
    """

    matrix: FloatArray
    unwhitening: FloatArray
    eigenvalues: FloatArray

    @property
    def n_floored(self) -> int:
        """Number of eigenvalues that were raised to the floor."""
        return int(np.count_nonzero(self.eigenvalues < PAIR_FLOOR * self.eigenvalues[0]))


def whiten(pair: FloatArray, n_components: int) -> Whitening:
    """Whitening by the k largest signed eigenpairs, floored at 1e-3 of the largest.

    Signs matter: a pair moment has nonnegative eigenvalues in the population, so a negative one is
    noise however large it is, while the squared problem would keep it.

    Parameters
    ----------
    pair : ndarray of shape (r, r)
        Symmetric pair moment.
    n_components : int
        Number of eigenpairs k to keep.

    Returns
    -------
    Whitening

    Raises
    ------
    ParameterError
        If `n_components` is not between 1 and r.
    IdentifiabilityError
        If no eigenvalue is positive.
    """
    if not 1 <= n_components <= len(pair):
        raise ParameterError(
            f"n_components must be between 1 and the {len(pair)} features, got {n_components}"
        )
    values, vectors = np.linalg.eigh(pair)
    values, vectors = values[::-1][:n_components].copy(), vectors[:, ::-1][:, :n_components]
    if not values[0] > 0:
        raise IdentifiabilityError(
            f"the pair moment has no positive eigenvalue (largest {values[0]:.3g}), so nothing "
            "connects the views: use more rows, other views or fewer components"
        )
    roots = np.sqrt(np.maximum(values, PAIR_FLOOR * values[0]))
    return Whitening(vectors / roots, vectors * roots, values)


class SquareRoots(NamedTuple):
    """Symmetric square root of a second moment, and its inverse.

    Attributes
    ----------
    root : ndarray of shape (r, r)
    inverse : ndarray of shape (r, r)
        The exact inverse of `root`.
    condition : float
        Largest eigenvalue of the second moment over the smallest, after the floor.
    """

    root: FloatArray
    inverse: FloatArray
    condition: float


def square_roots(second: FloatArray) -> SquareRoots:
    """Symmetric roots of a second moment, eigenvalues floored at 1e-9 of the largest.

    Parameters
    ----------
    second : ndarray of shape (r, r)
        Symmetric positive semidefinite.

    Returns
    -------
    SquareRoots

    Raises
    ------
    IdentifiabilityError
        If no eigenvalue is positive.
    """
    values, vectors = np.linalg.eigh(second)
    if not values[-1] > 0:
        raise IdentifiabilityError(
            f"the second moment has no positive eigenvalue (largest {values[-1]:.3g}): the "
            "features of the view are all zero; check the view for constant or missing values"
        )
    floored = np.maximum(values, SECOND_MOMENT_FLOOR * values[-1])
    roots = np.sqrt(floored)
    return SquareRoots(
        root=(vectors * roots) @ vectors.T,
        inverse=(vectors / roots) @ vectors.T,
        condition=float(floored[-1] / floored[0]),
    )
