"""Tensors of three factors that are formed on the driver, whole or projected to few directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Factors


def explicit_contraction(tensor: FloatArray, columns: Factors) -> Factors:
    """Return the contraction of a tensor of known entries with columns.

    Parameters
    ----------
    tensor : (q1, q2, q3) array
        All entries of the tensor.
    columns : tuple of three (q_m, L) arrays
        Columns of the three modes.
    """
    first, second, third = columns
    q1, q2, q3 = tensor.shape
    n_columns = first.shape[1]
    by_third = (tensor.reshape(q1 * q2, q3) @ third).reshape(q1, q2, n_columns)
    by_first = (first.T @ tensor.reshape(q1, q2 * q3)).reshape(n_columns, q2, q3)
    return (
        np.einsum("ijz,jz->iz", by_third, second),
        np.einsum("ijz,iz->jz", by_third, first),
        np.matmul(second.T[:, None, :], by_first)[:, 0].T,
    )


@dataclass(frozen=True, eq=False)
class ProjectedTensor:
    """A tensor of three factors within a subspace of every factor.

    Attributes
    ----------
    entries : (q1, q2, q3) float64 array
        In the coordinates of the bases.
    bases : tuple of three (d_m, q_m) float64 arrays, optional
        Orthonormal columns; None stands for the whole of every factor.
    """

    entries: FloatArray
    bases: Factors | None = None

    def contract(self, columns: Factors) -> Factors:
        """Return the contraction with whole columns; see `terms.Contract`."""
        if self.bases is None:
            return explicit_contraction(self.entries, columns)
        inner = tuple(basis.T @ factor for basis, factor in zip(self.bases, columns, strict=True))
        return self._lifted(explicit_contraction(self.entries, inner))

    def _lifted(self, columns: Factors) -> Factors:
        """Return whole columns."""
        if self.bases is None:
            return columns
        return tuple(basis @ factor for basis, factor in zip(self.bases, columns, strict=True))


def extended(basis: FloatArray, constant: float) -> FloatArray:
    """Return a basis of features with a constant before them, and one column that is always one.

    Parameters
    ----------
    basis : (d + 1, q) array
        Columns over the constant, which comes first, and the features.
    constant : float
        The constant feature.

    Returns
    -------
    (d + 1, q + 1) array
        The column of the constant first.
    """
    ones = np.zeros((len(basis), 1))
    ones[0] = 1 / constant
    return np.hstack([ones, basis])
