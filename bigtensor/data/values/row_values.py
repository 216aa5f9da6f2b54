"""Operations that dense rows and rows in CSR have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bigtensor.data.values.plain_arrays import converted, native, native_dtype, without_mask

Rows = TypeVar("Rows", NDArray[Any], csr_array)
"""Values of consecutive rows: dense, or sparse in CSR."""


def laid_out(values: Rows, order: Sequence[int], read_as: np.dtype[Any] | None = None) -> Rows:
    """Return rows with some of their columns, in an order, as computations want them.

    Parameters
    ----------
    values : (rows, features) array or CSR array
        Rows with all columns.
    order : sequence of int
        Columns. If these are all columns as they are, dense rows are not copied.
    read_as : dtype, optional
        Type to convert dense rows to; None keeps the type.

    Returns
    -------
    (rows, len(order)) array or CSR array
        Dense rows are aligned, in native byte order, and without a mask. The columns of CSR rows
        ascend.
    """
    as_they_are = tuple(order) == tuple(range(values.shape[1]))
    if isinstance(values, csr_array):
        if not as_they_are:
            values = values[:, list(order)]
            values.sort_indices()
        compressed: csr_array = values.astype(native_dtype(values.dtype), copy=False)
        return compressed
    if read_as is not None:
        # before the mask goes, because masked integers are NaN among floats
        values = converted(values, read_as)
    values = without_mask(values)
    values = values if as_they_are else np.take(values, order, axis=1)
    if isinstance(values, np.ndarray):
        # rows that came in a message may lie at any byte: other code, and other last bits
        values = np.require(native(values), requirements="A")
    return values


def joined(first: Rows, second: Rows) -> Rows:
    """Return rows one after the other: arrays along their first axis, or CSR arrays."""
    if isinstance(first, csr_array):
        return vstack([first, second], format="csr")
    return np.concatenate([first, second])
