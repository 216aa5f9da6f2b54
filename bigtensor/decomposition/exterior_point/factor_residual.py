"""Squared residual of a projected tensor from a sum of rank-one terms, and its gradients."""

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.discrete.discrete_core import ByView

ROUNDING = 1e-15
"""Rounding error of a value, relative to the squared norm of the tensor that it is a part of."""


@dataclass(frozen=True, eq=False)
class FactorGradients:
    """Half the squared residual at three factors, with its gradients.

    Attributes
    ----------
    value : float
        Half the squared residual.
    rows : ndarray of shape (n_1 + n_2 + n_3, k)
        Derivatives by the entries of the factors, which lie one below the other.
    gradients : tuple of three ndarrays of shape (n_t, k)
        ``rows``, view by view.
    grams : ndarray of shape (3, k, k)
        Inner products of the columns of every factor, for step sizes.
    """

    value: float
    rows: FloatArray
    gradients: ByView
    grams: FloatArray


class FactorResidual:
    r"""Half the squared distance of a tensor from :math:`\sum_r A_r \otimes B_r \otimes C_r`.

    The tensor is given by its coordinates in three orthonormal bases, and the model is never
    formed: its norm and its inner product with the tensor follow from k x k and r x r x r arrays.
    The columns carry the weights of the terms. A model with other parameters maps them to the
    three factors, and maps the gradients of the factors back by the chain rule.

    Parameters
    ----------
    tensor : ndarray of shape (r_1, r_2, r_3)
        Coordinates of the tensor in the bases.
    bases : tuple of three ndarrays of shape (n_t, r_t)
        Orthonormal columns.
    """

    def __init__(self, tensor: FloatArray, bases: ByView) -> None:
        self.bases = bases
        self.square_norm = float(np.vdot(tensor, tensor))
        self._tensor = np.ascontiguousarray(tensor, np.float64)
        starts = np.cumsum([0, *map(len, bases)])
        self._slices = list(map(slice, starts[:-1], starts[1:]))

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return ROUNDING * self.square_norm

    def value(self, factors: ByView) -> float:
        """Half the squared residual."""
        return self._computed(np.concatenate(factors), with_gradients=False).value

    def gradients(self, factors: ByView) -> FactorGradients:
        """Half the squared residual, and its derivatives by the entries of the factors."""
        return self._computed(np.concatenate(factors), with_gradients=True)

    def value_of_rows(self, rows: FloatArray) -> float:
        """Half the squared residual of factors that lie one below the other."""
        return self._computed(rows, with_gradients=False).value

    def gradients_of_rows(self, rows: FloatArray) -> FactorGradients:
        """Half the squared residual and derivatives, of factors one below the other."""
        return self._computed(rows, with_gradients=True)

    def relative(self, factors: ByView) -> float:
        """Norm of the residual, relative to the norm of the tensor."""
        return float(np.sqrt(max(2.0 * self.value(factors) / self.square_norm, 0.0)))

    def _computed(self, rows: FloatArray, *, with_gradients: bool) -> FactorGradients:
        """Half the squared residual, with gradients that mean nothing where none are wanted."""
        parts = [rows[of_view] for of_view in self._slices]
        grams = np.array([part.T @ part for part in parts])
        first, second, third = (
            basis.T @ part for basis, part in zip(self.bases, parts, strict=True)
        )
        k, (sizes, last) = rows.shape[1], (self._tensor.shape[:2], self._tensor.shape[2])
        unfolded = self._tensor.reshape(-1, last)
        # the tensor with the third factor, (r_1, r_2, k)
        partial = (unfolded @ third).reshape(*sizes, k)
        products = [np.einsum("ijh,jh->ih", partial, second)]
        inner, square = np.vdot(first, products[0]), (grams[0] * grams[1] * grams[2]).sum()
        value = self.square_norm / 2.0 - float(inner) + float(square) / 2.0
        gradients = np.empty_like(rows)
        if with_gradients:
            products += [
                np.einsum("ijh,ih->jh", partial, first),
                unfolded.T @ (first[:, None] * second).reshape(-1, k),
            ]
            for view, (of_view, part) in enumerate(zip(self._slices, parts, strict=True)):
                others = grams[(view + 1) % 3] * grams[(view + 2) % 3]
                np.matmul(part, others, out=gradients[of_view])
                gradients[of_view] -= self.bases[view] @ products[view]
        by_view = gradients[self._slices[0]], gradients[self._slices[1]], gradients[self._slices[2]]
        return FactorGradients(value, gradients, by_view, grams)
