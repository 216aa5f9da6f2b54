"""Sums of products of three groups of features over the rows of a block, by matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from bigtensor.array_types import FloatArray, FloatingArray
from bigtensor.features.buffers import SMALL_PRODUCT, padded_width

_SMALL_AREA = 1_200
"""Entries of a result up to which OpenBLAS copies no operand of a small product ``A B'``."""

_PRODUCT_BYTES = 1 << 20
"""Largest buffer of products of two features: it stays near the processor."""


def products_shape(
    sizes: tuple[int, int, int], rows: int, dtype: DTypeLike
) -> tuple[int, int, int]:
    """Return how many slices, and rows of data, of products of two features to make at once.

    Parameters
    ----------
    sizes : tuple of int
        Lengths of the features of the three groups.
    rows : int
        Rows of a block.
    dtype : data type of the features
        Type of the products.
    """
    first, second, third = sizes
    width = padded_width(rows)
    area = second * third
    slices = _PRODUCT_BYTES // (second * width * np.dtype(dtype).itemsize)
    if area <= _SMALL_AREA:
        parts = -(-area * width // SMALL_PRODUCT)
        width = padded_width(-(-width // parts))
        slices = min(slices, _SMALL_AREA // area, SMALL_PRODUCT // (area * width))
    parts = -(-first // max(1, min(slices, first)))
    return -(-first // parts), second, width


def add_triple_products(
    total: FloatArray,
    first: FloatingArray,
    second: FloatingArray,
    third: FloatingArray,
    products: FloatingArray,
    sums: FloatingArray,
    exact: FloatArray,
) -> None:
    """Add the triple moment of one block: products of two groups against the third.

    Parameters
    ----------
    total : (q1, q2, q3) float64 array
        The moment of the block is added to it.
    first, second, third : (q, n) arrays
        One column a row of data; weights are in one of them.
    products : array of the shape `products_shape`
        Buffer of the products of two groups.
    sums : array
        At least as long as ``total``.
    exact : float64 array
        At least as long as ``total``.
    """
    block = sums[: total.size].reshape(total.shape)
    step, size, columns = products.shape
    for start in range(0, first.shape[1], columns):
        window = slice(start, min(start + columns, first.shape[1]))
        length = window.stop - start
        for a in range(0, len(first), step):
            count = min(step, len(first) - a)
            flat = products.reshape(-1)[: count * size * length].reshape(count * size, length)
            np.multiply(
                first[a : a + count, None, window],
                second[:, window],
                out=flat.reshape(count, size, length),
            )
            np.matmul(flat, third[:, window].T, out=block[a : a + count].reshape(len(flat), -1))
        add_in_float64(total, block, exact)


def add_in_float64(total: FloatArray, block: FloatingArray, exact: FloatArray) -> None:
    """Add the sums of one block, without the buffers that NumPy takes to add two dtypes.

    Parameters
    ----------
    total : float64 array
        Is added to.
    block : array of the same shape
        Sums of the block.
    exact : float64 array
        At least as long.
    """
    converted = exact[: block.size].reshape(block.shape)
    np.copyto(converted, block)
    np.add(total, converted, out=total)
