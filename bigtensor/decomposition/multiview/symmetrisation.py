"""Symmetric moments from moments of different views."""

from collections.abc import Mapping
from itertools import permutations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.subspaces import GROUPS


def symmetrise(tensor: FloatArray) -> FloatArray:
    """Mean over all permutations of the modes (six, for a third-order tensor).

    The mean over the cyclic permutations alone is not symmetric.

    Parameters
    ----------
    tensor : ndarray of shape (r, ..., r)
        Tensor of any order whose modes have one length.
    """
    orders = list(permutations(range(tensor.ndim)))
    total = np.zeros_like(tensor)
    for order in orders:
        total += tensor.transpose(order)
    total /= len(orders)
    return total


def multiply_modes(
    tensor: FloatArray, first: FloatArray, second: FloatArray, third: FloatArray
) -> FloatArray:
    """Contract mode i of a third-order tensor with the rows of the i-th matrix.

    Parameters
    ----------
    tensor : ndarray of shape (a, b, c)
        Third-order tensor.
    first, second, third : ndarrays of shape (a, i), (b, j) and (c, l)
        Matrices of the three modes.

    Returns
    -------
    ndarray of shape (i, j, l)
        Contracted tensor.
    """
    step = np.tensordot(tensor, third, axes=(2, 0))
    step = np.tensordot(step, second, axes=(1, 0))
    return np.ascontiguousarray(np.tensordot(step, first, axes=(0, 0)).transpose(2, 1, 0))


def symmetrise_on_target(
    pairs: Mapping[tuple[int, int], FloatArray], triple: FloatArray, target: int
) -> tuple[FloatArray, FloatArray]:
    r"""Express pair and triple moments of three views in the coordinates of one of them.

    For target 2 (the third view) this is :math:`P = S_{21} S_{01}^{-1} S_{02}` and
    :math:`T = S \times_0 (S_{21} S_{01}^{-1}) \times_1 (S_{20} S_{10}^{-1})`, which in the
    population are :math:`\sum_h \pi_h m_h m_h'` and
    :math:`\sum_h \pi_h m_h \otimes m_h \otimes m_h` (Anandkumar et al. 2014, theorem 3.6). Both
    are made exactly symmetric.

    Parameters
    ----------
    pairs : mapping of (a, b) to ndarray of shape (k, k)
        Uncentred cross moments of all six ordered pairs of views.
    triple : ndarray of shape (k, k, k)
        Uncentred triple moment.
    target : int
        The view whose coordinates are used: 0, 1 or 2.

    Returns
    -------
    pair : ndarray of shape (k, k)
        Symmetric pair moment P.
    third : ndarray of shape (k, k, k)
        Symmetric triple moment T.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the cross moment of the two other views is singular.
    """
    a, b = (group for group in GROUPS if group != target)
    from_a = _right_divide(pairs[target, b], pairs[a, b])
    from_b = _right_divide(pairs[target, a], pairs[b, a])
    maps = {a: from_a.T, b: from_b.T, target: np.eye(len(from_a))}
    return symmetrise(from_a @ pairs[a, target]), symmetrise(
        multiply_modes(triple, maps[0], maps[1], maps[2])
    )


def _right_divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """``numerator @ inv(denominator)``."""
    return np.asarray(np.linalg.solve(denominator.T, numerator.T).T, dtype=np.float64)
