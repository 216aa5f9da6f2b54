"""Spherical Gaussians by the method of moments: Hsu and Kakade 2013.

*Learning mixtures of spherical Gaussians: moment methods and spectral decompositions*, sec. 2.
The views are the coordinates of one vector; a component has one variance in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bigtensor.decomposition.joint_diagonalisation import joint_diagonalisation
from bigtensor.decomposition.whitening import whiten

FloatArray = NDArray[np.float64]

LEAST_VARIANCE = 1e-3
"""Of a component, as a part of the variance of the whole."""


class RawMoments(NamedTuple):
    """What the method needs of the rows, about any origin.

    Attributes
    ----------
    mean : (d,) array
    second : (d, d) array
        Mean of ``x x'``.
    third : (d, d, d) array
        Mean of ``x (x) x (x) x``.
    """

    mean: FloatArray
    second: FloatArray
    third: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> RawMoments:
        """Return the moments of rows."""
        n = len(rows)
        third = np.einsum("ia,ib,ic->abc", rows, rows, rows, optimize=True) / n
        return cls(rows.mean(axis=0), rows.T @ rows / n, third)


class SphericalMixture(NamedTuple):
    """Weights (k,), means (k, d) and variances (k,)."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray


def spherical_mixture(moments: RawMoments, n_components: int) -> SphericalMixture:
    """Return the mixture of k <= d spherical Gaussians with these moments.

    The mean variance is the least eigenvalue of the covariance, along v. Of the moments without
    it, ``M1 = sum_h w_h var_h m_h``, ``M2 = sum_h w_h m_h m_h'`` and ``M3 = sum_h w_h m_h^(x3)``
    (sec. 2), M3 is whitened by M2 and decomposed.
    """
    mean, second, third = moments
    d = len(mean)
    values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
    variance, v = values[0], vectors[:, 0]
    # E[x (v'(x - mean))^2], written out in raw moments
    offset = v @ mean
    first = third @ v @ v - 2.0 * offset * (second @ v) + offset**2 * mean
    noise = np.einsum("a,bc->abc", first, np.eye(d))
    third = third - noise - noise.transpose(1, 0, 2) - noise.transpose(1, 2, 0)
    white = whiten(second - variance * np.eye(d), n_components)
    W = white.matrix
    core = np.einsum("abc,ai,bj,ck->ijk", third, W, W, W, optimize=True)
    parts = joint_diagonalisation(core)
    eigenvalues = np.maximum(parts.eigenvalues, 1e-3)
    weights = eigenvalues**-2
    means = (white.unwhitening @ parts.vectors * eigenvalues).T
    products = np.linalg.lstsq((weights[:, None] * means).T, first, rcond=None)[0]
    variances = np.maximum(products, LEAST_VARIANCE * np.trace(second) / d)
    return SphericalMixture(weights / weights.sum(), means, variances)


def spherical_spectral_densities(
    values: NDArray[Any], n_components: int, grids: Sequence[FloatArray]
) -> list[FloatArray] | None:
    """Fit spherical Gaussians; return the component densities of every column.

    None for more components than columns: their means are linearly dependent, and the method does
    not apply. The origin is moved along the direction without spread between the means, in which
    all means then agree: they are linearly independent as soon as they are affinely independent.
    """
    rows = np.asarray(values, np.float64)
    if n_components > rows.shape[1]:
        return None
    spread, directions = np.linalg.eigh(np.cov(rows.T))
    origin = rows.mean(axis=0) - np.sqrt(spread[-1]) * directions[:, 0]
    mixture = spherical_mixture(RawMoments.of(rows - origin), n_components)
    deviations = np.sqrt(mixture.variances)
    return [
        np.asarray(stats.norm.pdf(grid[:, None], mixture.means[:, view] + origin[view], deviations))
        for view, grid in enumerate(grids)
    ]
