"""Orthogonal decomposition of a symmetric tensor by Jacobi rotations of its slices."""

import numpy as np
import numpy.typing as npt

from bigtensor.decomposition.solution import (
    FloatArray,
    OrthogonalDecomposition,
    ordered_decomposition,
)
from bigtensor.errors import ParameterError


def joint_diagonalisation(
    tensor: FloatArray, *, max_sweeps: int = 30, tolerance: float = 1e-8
) -> OrthogonalDecomposition:
    r"""Rotate all k slices of a symmetric tensor at once until they are as diagonal as can be.

    The slices of :math:`\sum_h \lambda_h v_h^{\otimes 3}` share the eigenvectors v. Each rotation
    is the best one of its plane for all slices together (Cardoso and Souloumiac 1996); the planes
    of one round are disjoint and are rotated at once. The result is deterministic, and with noise
    it uses all slices evenly, unlike an eigendecomposition of one random combination of them.

    Parameters
    ----------
    tensor : ndarray of shape (k, k, k)
        Symmetric in all three modes.
    max_sweeps : int
        Most visits to each plane.
    tolerance : float
        Largest sine of a rotation in the last sweep.

    Returns
    -------
    OrthogonalDecomposition
        Eigenvalues are T(v, v, v) >= 0 in descending order; vectors are orthonormal.

    Raises
    ------
    ParameterError
        If the tensor is not k x k x k.
    """
    if tensor.ndim != 3 or len(set(tensor.shape)) != 1:
        raise ParameterError(f"a tensor of shape (k, k, k) is needed, got {tensor.shape}")
    size = len(tensor)
    rounds = _disjoint_pairs(size)
    slices = np.array(tensor, dtype=np.float64)
    rotation = np.eye(size)
    negligible = (np.finfo(np.float64).eps * float(np.linalg.norm(tensor))) ** 2
    sweep, converged = 0, not rounds
    while not converged and sweep < max_sweeps:
        largest = 0.0
        for p, q in rounds:
            angles = _best_angles(slices, p, q, negligible)
            plane = _plane_rotations(size, p, q, angles)
            slices = plane.T @ slices @ plane
            rotation = rotation @ plane
            largest = max(largest, float(np.abs(np.sin(angles)).max()))
        sweep += 1
        converged = largest <= tolerance
    values = np.einsum("ijk,ih,jh,kh->h", tensor, rotation, rotation, rotation, optimize=True)
    return ordered_decomposition(tensor, values, rotation, iterations=sweep, converged=converged)


def _disjoint_pairs(size: int) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """All planes of `size` axes in rounds of disjoint pairs, by the circle method."""
    if size < 2:
        return []
    players = list(range(size + size % 2))
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        meetings = zip(players[:half], reversed(players[half:]), strict=True)
        pairs = np.array([sorted(pair) for pair in meetings if max(pair) < size], dtype=np.intp)
        rounds.append((pairs[:, 0], pairs[:, 1]))
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _best_angles(
    slices: FloatArray,
    p: npt.NDArray[np.intp],
    q: npt.NDArray[np.intp],
    negligible: float,
) -> FloatArray:
    """Angle of each plane (p, q) that moves most of its off-diagonal to the diagonal."""
    difference = slices[:, p, p] - slices[:, q, q]
    off_diagonal = 2.0 * slices[:, p, q]
    square_difference = np.sum(difference**2, axis=0)
    square_off_diagonal = np.sum(off_diagonal**2, axis=0)
    across = 2.0 * np.sum(difference * off_diagonal, axis=0)
    # The quarter of the full angle, not the half of atan2(y, x + hypot(x, y)): that form returns
    # zero at the saddle y = 0 > x, where the best rotation is 45 degrees.
    angles = np.arctan2(across, square_difference - square_off_diagonal) / 4.0
    # A plane that holds nothing but rounding errors has no best angle and would never settle.
    return np.where(square_difference + square_off_diagonal > negligible, angles, 0.0)


def _plane_rotations(
    size: int, p: npt.NDArray[np.intp], q: npt.NDArray[np.intp], angles: FloatArray
) -> FloatArray:
    """One orthogonal matrix that rotates every plane (p, q) by its angle."""
    rotation = np.eye(size)
    rotation[p, p] = rotation[q, q] = np.cos(angles)
    rotation[p, q] = -np.sin(angles)
    rotation[q, p] = np.sin(angles)
    return rotation
