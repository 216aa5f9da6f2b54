"""Squared residual of a projected tensor from a sum of rank-one terms, and its gradients."""

from dataclasses import dataclass

import numpy as np

from bigtensor.decomposition.discrete_core import ByView, by_view
from bigtensor.decomposition.solution import FloatArray


@dataclass(frozen=True, eq=False)
class FactorGradients:
    """Half the squared residual at three factors, with its gradients.

    Attributes
    ----------
    value : float
    gradients : tuple of three ndarrays of shape (n_t, k)
        Derivatives by the entries of the factors.
    grams : tuple of three ndarrays of shape (k, k)
        Inner products of the columns of every factor, for step sizes.
    """

    value: float
    gradients: ByView
    grams: ByView


class FactorResidual:
    r"""Half the squared distance of a tensor from :math:`\sum_r A_r \otimes B_r \otimes C_r`.

    The tensor is given by its coordinates in three orthonormal bases, and the model is never
    formed: its norm and its inner product with the tensor follow from k x k and r x r x r arrays.
    The columns carry the weights of the terms. A model with other parameters maps them to the
    three factors, and maps the gradients of the factors back by the chain rule.

    Parameters
    ----------
    tensor : ndarray of shape (r_1, r_2, r_3)
    bases : tuple of three ndarrays of shape (n_t, r_t)
        Orthonormal columns.
    """

    def __init__(self, tensor: FloatArray, bases: ByView) -> None:
        size_1, size_2, size_3 = tensor.shape
        self.bases = bases
        self.square_norm = float(np.vdot(tensor, tensor))
        self._shape = size_1, size_2
        self._rows = np.ascontiguousarray(tensor).reshape(size_1 * size_2, size_3)
        self._transposed = np.ascontiguousarray(self._rows.T)

    def value(self, factors: ByView) -> float:
        """Half the squared residual."""
        first, second, third = self._projected(factors)
        grams = self._grams(factors)
        inner = float(np.vdot(self._third_product(first, second), third))
        return self._value(inner, grams)

    def gradients(self, factors: ByView) -> FactorGradients:
        """Half the squared residual, and its derivatives by the entries of the factors."""
        first, second, third = self._projected(factors)
        grams = self._grams(factors)
        product = self._third_product(first, second)
        # half of the work of the first two modes is the same
        partial = (self._rows @ third).reshape(*self._shape, -1)
        products = (
            np.einsum("ijr,jr->ir", partial, second),
            np.einsum("ijr,ir->jr", partial, first),
            product,
        )
        others = (grams[1] * grams[2], grams[0] * grams[2], grams[0] * grams[1])
        return FactorGradients(
            self._value(float(np.vdot(product, third)), grams),
            by_view(lambda t: factors[t] @ others[t] - self.bases[t] @ products[t]),
            grams,
        )

    def relative(self, factors: ByView) -> float:
        """Norm of the residual, relative to the norm of the tensor."""
        return float(np.sqrt(max(2.0 * self.value(factors) / self.square_norm, 0.0)))

    def _projected(self, factors: ByView) -> ByView:
        """Coordinates of the factors in the bases."""
        return by_view(lambda t: self.bases[t].T @ factors[t])

    def _third_product(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Tensor contracted with the columns of the first two factors, in pairs."""
        product: FloatArray = self._transposed @ (first[:, None, :] * second).reshape(
            -1, first.shape[1]
        )
        return product

    @staticmethod
    def _grams(factors: ByView) -> ByView:
        """Inner products of the columns of every factor."""
        return by_view(lambda t: factors[t].T @ factors[t])

    def _value(self, inner: float, grams: ByView) -> float:
        """Half the squared residual from its three terms."""
        model = float(np.vdot(grams[0] * grams[1], grams[2]))
        return self.square_norm / 2.0 - inner + model / 2.0
