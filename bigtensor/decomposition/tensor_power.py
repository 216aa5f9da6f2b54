"""Orthogonal decomposition of a symmetric tensor by the robust power method with deflation."""

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.solution import OrthogonalDecomposition, ordered_decomposition
from bigtensor.errors import ParameterError

_SETTLED = 1e-6
"""Largest move of a vector in the last step of an iteration that has converged."""


def tensor_power(
    tensor: FloatArray,
    *,
    random_state: int = 0,
    n_starts: int | None = None,
    n_steps: int = 60,
) -> OrthogonalDecomposition:
    r"""Find one component after the other as the best fixed point of v -> T(I, v, v) / norm.

    From every random unit initialisation `n_steps` steps are taken; the end point with the largest
    T(v, v, v) is polished by as many steps again, and its term is subtracted before the next
    component is sought (Anandkumar et al. 2014, algorithm 1).

    Parameters
    ----------
    tensor : ndarray of shape (k, k, k)
        Symmetric in all three modes.
    random_state : int
        Seed of the initialisations.
    n_starts : int, optional
        Initialisations for each component; max(30, 10 k) by default.
    n_steps : int
        Steps from each initialisation, and again of the best.

    Returns
    -------
    OrthogonalDecomposition
        Eigenvalues are those of the deflated tensors, >= 0 and in descending order; vectors are
        unit vectors, orthogonal only as far as the tensor is orthogonally decomposable.

    Raises
    ------
    ParameterError
        If the tensor is not k x k x k, or there is no initialisation or no step.
    """
    if tensor.ndim != 3 or len(set(tensor.shape)) != 1:
        raise ParameterError(f"a tensor of shape (k, k, k) is needed, got {tensor.shape}")
    size = len(tensor)
    starts = max(30, 10 * size) if n_starts is None else n_starts
    if starts < 1 or n_steps < 1:
        raise ParameterError(f"n_starts and n_steps must be positive, got {starts} and {n_steps}")
    random = np.random.default_rng(random_state)
    deflated = np.array(tensor, dtype=np.float64)
    values, vectors, last_move = np.empty(size), np.empty((size, size)), 0.0
    for h in range(size):
        ends, _ = _iterate(deflated, _unit_columns(random.standard_normal((size, starts))), n_steps)
        best = int(np.argmax(_values_at(deflated, ends)))
        vector, move = _iterate(deflated, ends[:, [best]], n_steps)
        values[h], vectors[:, h] = _values_at(deflated, vector)[0], vector[:, 0]
        deflated -= values[h] * np.einsum("i,j,k->ijk", vector[:, 0], vector[:, 0], vector[:, 0])
        last_move = max(last_move, move)
    return ordered_decomposition(
        tensor, values, vectors, iterations=2 * n_steps, converged=last_move < _SETTLED
    )


def _iterate(tensor: FloatArray, vectors: FloatArray, n_steps: int) -> tuple[FloatArray, float]:
    """Power steps of all columns at once, and how far the last step moved the first column."""
    previous = vectors
    for _ in range(n_steps):
        previous, vectors = vectors, _unit_columns(_contract_twice(tensor, vectors), vectors)
    return vectors, float(np.linalg.norm(vectors[:, 0] - previous[:, 0]))


def _contract_twice(tensor: FloatArray, vectors: FloatArray) -> FloatArray:
    """T(I, v, v) for every column v."""
    once = np.tensordot(tensor, vectors, axes=(2, 0))
    twice: FloatArray = np.einsum("ijl,jl->il", once, vectors)
    return twice


def _values_at(tensor: FloatArray, vectors: FloatArray) -> FloatArray:
    """T(v, v, v) for every column v."""
    values: FloatArray = np.sum(_contract_twice(tensor, vectors) * vectors, axis=0)
    return values


def _unit_columns(columns: FloatArray, otherwise: FloatArray | None = None) -> FloatArray:
    """Columns of length one; a zero column (nothing left to find) becomes its alternative."""
    lengths = np.linalg.norm(columns, axis=0)
    if otherwise is None:
        otherwise = columns
    scaled: FloatArray = np.where(
        lengths > 0, columns / np.where(lengths > 0, lengths, 1.0), otherwise
    )
    return scaled
