"""Order of rows by their content, which does not depend on their positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.features.category_order import category_places, recoded
from bigtensor.features.column_order import content_order_and_signs
from bigtensor.purpose_seeds import purpose_sequence


def content_order_of_rows(
    values: NDArray[np.number],
    weight: FloatArray | None = None,
    categorical: tuple[int, ...] = (),
) -> IndexArray:
    """Return the positions of rows in an order that depends on their content alone.

    Random numbers that follow this order, such as folds, are the same for any order of the rows and
    of the columns. Units, signs and codes of categories do not matter either, unless columns are so
    symmetric that either sign, or either of two codes, could come first. Rounding to float32 moves
    only rows whose values it makes equal. Rows of equal values are neighbours, by their weights.
    The distinct rows are shuffled by a fixed seed, so that the first rows represent all of them.

    Parameters
    ----------
    values : (n, d) array
        Rows. Missing entries are NaN, and negative codes.
    weight : (n,) float64 array, optional
        Weights of the rows; None stands for ones.
    categorical : tuple of int
        Columns of codes.

    Returns
    -------
    (n,) integer array
        A permutation.
    """
    weights = np.ones(len(values)) if weight is None else weight
    if not values.size or not weights.any():
        return np.arange(len(values))
    group = np.zeros(len(values), np.int64)
    for column in _columns_by_content(values, weights, categorical):
        value = np.unique(column, return_inverse=True)[1]
        group = np.unique(group * len(values) + value, return_inverse=True)[1]
        if group.max() == len(values) - 1:
            break
    # of its own seed: a fold that is permuted by the same one would be rows of similar values
    random = np.random.default_rng(purpose_sequence(0, "order of rows"))
    return np.lexsort((weights, random.permutation(group.max() + 1)[group]))


def _columns_by_content(
    values: NDArray[np.number], weight: FloatArray, categorical: tuple[int, ...]
) -> Iterator[NDArray[np.number]]:
    """Return columns in the order of their content. Columns of categories come last."""
    measured = np.delete(values, categorical, axis=1) if categorical else values
    for part in (measured, _codes_by_frequency(values[:, categorical], weight)):
        if part.shape[1]:
            columns, signs = content_order_and_signs(part, weight)
            yield from (signs[column] * part[:, column] for column in columns)


def _codes_by_frequency(values: NDArray[np.number], weight: FloatArray) -> NDArray[np.int64]:
    """Return codes by the frequency of the categories, whatever the codes of the data."""
    codes = np.full(values.shape, -1, np.int64)
    for column, own in zip(values.T, codes.T, strict=True):
        # neither NaN nor negative; codes may be far larger than their number
        present = column >= 0
        own[present] = np.unique(column[present], return_inverse=True)[1]
    sizes = codes.max(axis=0, initial=-1) + 1
    return recoded(codes, category_places(codes, sizes.tolist(), weight))
