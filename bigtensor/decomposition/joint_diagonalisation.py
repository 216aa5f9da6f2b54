"""Orthogonal decomposition of a symmetric tensor by Jacobi rotations of its slices."""

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.solution import OrthogonalDecomposition, ordered_decomposition
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import row_loop


def joint_diagonalisation(
    tensor: FloatArray,
    *,
    start: FloatArray | None = None,
    max_sweeps: int = 30,
    tolerance: float = 1e-8,
) -> OrthogonalDecomposition:
    r"""Rotate all k slices of a symmetric tensor at once until they are as diagonal as can be.

    The slices of :math:`\sum_h \lambda_h v_h^{\otimes 3}` share the eigenvectors v. Each rotation
    is the best one of its plane for all slices together (Cardoso and Souloumiac 1996). The planes
    are visited in rounds of disjoint ones, which do not change each other's angle. The result is
    deterministic, and with noise it uses all slices evenly, unlike an eigendecomposition of one
    random combination of them.

    Parameters
    ----------
    tensor : ndarray of shape (k, k, k)
        Symmetric in all three modes.
    start : (k, k) float64 array, optional
        Orthonormal columns near the vectors, such as those of a similar tensor: fewer sweeps.
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
    planes = _planes(size)
    slices = np.array(np.moveaxis(tensor, 0, -1), dtype=np.float64, order="C")
    rotation = np.eye(size)
    if start is not None:
        rotation = np.array(start, dtype=np.float64)
        slices = _along(_along(slices, start), start)
    negligible = (np.finfo(np.float64).eps * float(np.linalg.norm(tensor))) ** 2
    largest_sine = np.zeros(1)
    sweep, converged = 0, not len(planes)
    while not converged and sweep < max_sweeps:
        _rotate_planes(planes, negligible, slices, rotation, largest_sine)
        sweep += 1
        converged = bool(largest_sine[0] <= tolerance)
    values = np.einsum("ijk,ih,jh,kh->h", tensor, rotation, rotation, rotation, optimize=True)
    return ordered_decomposition(tensor, values, rotation, iterations=sweep, converged=converged)


def _along(slices: FloatArray, columns: FloatArray) -> FloatArray:
    """Return a tensor with its first mode contracted with columns and put second."""
    return np.ascontiguousarray(np.tensordot(columns, slices, (0, 0)).transpose(1, 0, 2))


def _planes(size: int) -> IndexArray:
    """All planes (p, q) of `size` axes in rounds of disjoint ones, by the circle method."""
    players = list(range(size + size % 2))
    planes = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        meetings = zip(players[:half], reversed(players[half:]), strict=True)
        planes += [sorted(pair) for pair in meetings if max(pair) < size]
        players = [players[0], players[-1], *players[1:-1]]
    return np.array(planes, dtype=np.intp).reshape(-1, 2)


@row_loop
def _rotate_planes(
    planes: IndexArray,
    negligible: float,
    slices: FloatArray,
    rotation: FloatArray,
    largest_sine: FloatArray,
) -> None:
    """Rotate all slices in one plane after the other, by its best angle.

    Slice i is ``slices[:, :, i]``, so that an entry of all slices is one run of memory. The slices
    and ``rotation`` are rotated in place, and ``largest_sine`` receives the largest sine of an
    angle. If the squared entries of a plane sum to less than ``negligible``, it holds nothing but
    rounding errors. Such a plane has no best angle and would never settle.
    """
    size = slices.shape[0]
    largest_sine[0] = 0
    for plane in range(planes.shape[0]):
        p, q = planes[plane, 0], planes[plane, 1]
        square_difference, square_off_diagonal, across = 0.0, 0.0, 0.0
        for i in range(size):
            difference = slices[p, p, i] - slices[q, q, i]
            off_diagonal = 2 * slices[p, q, i]
            square_difference += difference**2
            square_off_diagonal += off_diagonal**2
            across += 2 * difference * off_diagonal
        if not square_difference + square_off_diagonal > negligible:
            continue
        # The quarter of the full angle, not the half of atan2(y, x + hypot(x, y)): that form
        # returns zero at the saddle y = 0 > x, where the best rotation is 45 degrees.
        angle = np.arctan2(across, square_difference - square_off_diagonal) / 4
        cosine, sine = np.cos(angle), np.sin(angle)
        largest_sine[0] = max(largest_sine[0], abs(sine))
        for j in range(size):
            left, right = rotation[j, p], rotation[j, q]
            rotation[j, p] = cosine * left + sine * right
            rotation[j, q] = cosine * right - sine * left
        for j in range(size):
            for i in range(size):
                left, right = slices[j, p, i], slices[j, q, i]
                slices[j, p, i] = cosine * left + sine * right
                slices[j, q, i] = cosine * right - sine * left
        for j in range(size):
            for i in range(size):
                upper, lower = slices[p, j, i], slices[q, j, i]
                slices[p, j, i] = cosine * upper + sine * lower
                slices[q, j, i] = cosine * lower - sine * upper
