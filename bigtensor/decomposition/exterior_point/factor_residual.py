"""Squared residual of a projected tensor from a sum of rank-one terms, and its gradients."""

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.discrete.discrete_core import ByView
from bigtensor.features.row_loops import row_loop


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
        The same, view by view.
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
        # directions that a view does not have are zeros
        directions = max(tensor.shape)
        self._tensor = np.zeros((directions, directions, directions))
        self._tensor[tuple(map(slice, tensor.shape))] = tensor
        self._starts = np.cumsum([0, *map(len, bases)])
        self._slices = list(map(slice, self._starts[:-1], self._starts[1:]))
        self._bases = np.zeros((self._starts[-1], directions))
        for of_view, basis in zip(self._slices, bases, strict=True):
            self._bases[of_view, : basis.shape[1]] = basis

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
        k = rows.shape[1]
        terms, grams = np.empty(2), np.empty((3, k, k))
        gradients = np.empty_like(rows)
        _write_residual(
            rows, self._starts, self._bases, self._tensor, with_gradients, terms, grams, gradients
        )
        value = self.square_norm / 2.0 - float(terms[0]) + float(terms[1]) / 2.0
        first, second, third = (gradients[of_view] for of_view in self._slices)
        return FactorGradients(value, gradients, (first, second, third), grams)


@row_loop
def _write_residual(
    factors: FloatArray,
    starts: IntArray,
    bases: FloatArray,
    tensor: FloatArray,
    with_gradients: bool,
    terms: FloatArray,
    grams: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write the terms of the squared residual, and the gradients of half of it.

    The lines of all views lie one below the other in ``factors`` and ``gradients``, (rows, k), and
    in ``bases``, (rows, r). ``starts`` holds the first line of every view and the number of lines.
    ``terms`` receives the inner product of the model and the tensor, and the squared norm of the
    model. ``grams`` receives the inner products of the columns of every factor. Gradients are
    written only ``with_gradients``.
    """
    directions, k = tensor.shape[0], factors.shape[1]
    projected = np.zeros((3, directions, k))
    products = np.zeros((3, directions, k))
    for view in range(3):
        for g in range(k):
            for h in range(k):
                grams[view, g, h] = 0
        for row in range(starts[view], starts[view + 1]):
            for d in range(directions):
                for h in range(k):
                    projected[view, d, h] += bases[row, d] * factors[row, h]
            for g in range(k):
                for h in range(k):
                    grams[view, g, h] += factors[row, g] * factors[row, h]
    first, second, third = projected[0], projected[1], projected[2]
    pair, partial, others = np.empty(k), np.empty(k), np.empty((k, k))
    for i in range(directions):
        for j in range(directions):
            for h in range(k):
                pair[h] = first[i, h] * second[j, h]
                partial[h] = 0
            for m in range(directions):
                for h in range(k):
                    products[2, m, h] += tensor[i, j, m] * pair[h]
                    partial[h] += tensor[i, j, m] * third[m, h]
            for h in range(k):
                products[0, i, h] += partial[h] * second[j, h]
                products[1, j, h] += partial[h] * first[i, h]
    terms[0] = terms[1] = 0
    for m in range(directions):
        for h in range(k):
            terms[0] += products[2, m, h] * third[m, h]
    for g in range(k):
        for h in range(k):
            terms[1] += grams[0, g, h] * grams[1, g, h] * grams[2, g, h]
    if not with_gradients:
        return
    for view in range(3):
        # entry by entry, because Numba takes half a second for a product of arrays
        for g in range(k):
            for h in range(k):
                others[g, h] = grams[(view + 1) % 3, g, h] * grams[(view + 2) % 3, g, h]
        for row in range(starts[view], starts[view + 1]):
            for h in range(k):
                gradients[row, h] = 0
            for g in range(k):
                for h in range(k):
                    gradients[row, h] += factors[row, g] * others[g, h]
            for d in range(directions):
                for h in range(k):
                    gradients[row, h] -= bases[row, d] * products[view, d, h]
