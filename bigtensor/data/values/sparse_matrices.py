"""Checks of sparse matrices from other libraries, and sums of repeated entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.data.values.checked_casts import first_outside

if TYPE_CHECKING:
    from scipy.sparse import coo_array, coo_matrix, csr_matrix


class ScipyMatrix(Protocol):
    """Sparse matrix or array of SciPy, of any format."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    def tocsr(self) -> csr_array | csr_matrix:
        """Return the matrix in CSR."""


def is_scipy_matrix(data: object) -> TypeGuard[ScipyMatrix]:
    """Return True for a sparse matrix or array of SciPy."""
    return hasattr(data, "tocsr")


def check_csr(matrix: csr_array | csr_matrix) -> None:
    """Refuse a sparse matrix whose pointers or indices are out of range.

    SciPy reads and writes outside its memory with such a matrix. Its own check skips
    the order of the pointers if the last one is 0.

    Parameters
    ----------
    matrix : CSR matrix
        SciPy matrix or array, for example of rows from a file.

    Raises
    ------
    ValueError
        When a pointer or an index is out of its range.
    """
    _check_pointers(matrix, int(matrix.shape[0]))
    matrix.check_format(full_check=True)


def checked_csr(matrix: Any) -> csr_array:
    """Return a SciPy matrix of any format as CSR, after a check of its pointers and indices.

    Repeated entries are added up, see `with_summed_duplicates`.

    Parameters
    ----------
    matrix : sparse matrix
        SciPy matrix or array.

    Returns
    -------
    (n, V) CSR array
        It may share memory with the matrix, which is not modified.

    Raises
    ------
    ValueError
        When parts of the matrix contradict each other. SciPy would read and write outside its
        memory while it converts the matrix.
    """
    matrix = _with_numbers(matrix)
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            major, block = (1 if matrix.format == "csc" else 0), getattr(matrix, "blocksize", (1,))
            _check_pointers(matrix, int(matrix.shape[major]) // int(block[0]))
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            _check_coordinates(matrix)
            # the conversion to CSR adds up repeated entries in the type of the matrix
            wide = matrix.astype(_type_of_sums(matrix.data))
            return _narrowed(csr_array(wide), np.dtype(matrix.dtype))
        return with_summed_duplicates(csr_array(matrix))
    except (IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"parts of the sparse matrix do not fit together: {error}") from error


def _check_pointers(matrix: csr_array | csr_matrix, major: int) -> None:
    """Refuse pointers that do not ascend from 0 to at most the number of entries.

    `major` is the number of rows, or of columns of a CSC matrix.
    """
    pointers = matrix.indptr
    whole = pointers.dtype.kind in "iu" and len(pointers) == major + 1
    ascending = whole and pointers[0] == 0 and not np.any(np.diff(pointers.astype(np.int64)) < 0)
    if not ascending or pointers[-1] > len(matrix.indices):
        raise ValueError(
            f"indptr of the sparse matrix is not an ascending list of {major + 1:,} integers "
            f"from 0 to at most {len(matrix.indices):,}"
        )


def _check_coordinates(matrix: coo_array | coo_matrix) -> None:
    """Refuse coordinates outside of a matrix in COO format."""
    places = matrix.row, matrix.col
    if {len(part) for part in places} != {len(matrix.data)}:
        raise ValueError("row, col and data of the sparse matrix differ in length")
    for name, part, length in zip(("row", "col"), places, matrix.shape, strict=True):
        if len(part) and not 0 <= part.min() <= part.max() < length:
            raise ValueError(
                f"{name} of the sparse matrix has an entry outside 0 to {length - 1:,}"
            )


def with_summed_duplicates(matrix: csr_array) -> csr_array:
    """Return rows whose repeated entries are added up, without an overflow of a narrow type.

    Parameters
    ----------
    matrix : (n, V) CSR array
        Not modified.

    Returns
    -------
    (n, V) CSR array
        The matrix itself where nothing repeats and columns ascend. Otherwise a copy, of the
        type of the matrix if it holds all sums, else of int64 or float64. Booleans are uint8.
    """
    matrix = _with_numbers(matrix)
    if matrix.has_canonical_format:
        return matrix
    summed = matrix.astype(_type_of_sums(matrix.data))
    summed.sum_duplicates()
    return _narrowed(summed, np.dtype(matrix.dtype))


def _with_numbers(matrix: Any) -> Any:
    """Return a matrix of booleans as one of numbers: kernels have no booleans to count."""
    return matrix.astype(np.uint8) if matrix.dtype == bool else matrix


def _narrowed(sums: csr_array, dtype: np.dtype[Any]) -> csr_array:
    """Return sums in a type if it holds all of them. Otherwise their type stays."""
    fits = first_outside(sums.data, dtype) is None
    return sums.astype(dtype, copy=False) if fits else sums


def _type_of_sums(values: NDArray[Any]) -> np.dtype[Any]:
    """Return a type that holds the sum of any of the values."""
    if values.dtype.kind not in "biu":
        return np.dtype(np.float64) if values.dtype.kind == "f" else values.dtype
    largest = max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0
    return np.dtype(np.int64 if largest * values.size < 2**63 else np.float64)
