"""Order of rows by their content, which does not depend on their positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.features.category_order import category_places, recoded
from bigtensor.features.column_order import content_order_of_columns, towards_their_tails
from bigtensor.purpose_seeds import purpose_sequence


def content_order_of_rows(
    values: NDArray[np.number],
    weight: FloatArray | None = None,
    categorical: tuple[int, ...] = (),
) -> IndexArray:
    """Return the positions of rows in an order that depends on their content alone.

    Random numbers that follow this order, such as folds, are the same for any order of the rows and
    of the columns, any units and signs, and any codes of categories. Rows of equal values are
    neighbours, by their weights; otherwise the order is a random one, so that the first rows
    represent all of them.

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
    codes = _canonical_codes(values[:, categorical], weights)
    measured = np.delete(values, categorical, axis=1)
    number = np.zeros(len(values), np.int64)
    # categories decide last: those of equal frequencies can have either place
    for column in (*_by_content(measured, weights), *_by_content(codes, weights)):
        value = np.unique(column, return_inverse=True)[1]
        number = np.unique(number * len(values) + value, return_inverse=True)[1]
        if number.max() == len(values) - 1:
            break
    # of its own seed: a fold that is permuted by the same one would be rows of similar values
    random = np.random.default_rng(purpose_sequence(0, "order of rows"))
    return np.lexsort((weights, random.permutation(number.max() + 1)[number]))


def _by_content(values: NDArray[np.number], weight: FloatArray) -> list[NDArray[np.number]]:
    """Return columns in the order of their content, without missing entries."""
    if not values.shape[1]:
        return []
    missing = np.isnan(values)
    if missing.any():
        count = np.maximum(1, len(values) - missing.sum(axis=0))
        mean = np.where(missing, 0, values).sum(axis=0) / count
        values = np.where(missing, mean, values)
    columns = content_order_of_columns(values, weight)
    return list(towards_their_tails(values, weight)[:, columns].T)


def _canonical_codes(values: NDArray[np.number], weight: FloatArray) -> NDArray[np.int64]:
    """Return codes of categories that are places, which no names and codes change."""
    codes = np.full(values.shape, -1, np.int64)
    for column, own in zip(values.T, codes.T, strict=True):
        # neither NaN nor negative; codes may be far larger than their number
        present = column >= 0
        own[present] = np.unique(column[present], return_inverse=True)[1]
    sizes = codes.max(axis=0, initial=-1) + 1
    return recoded(codes, category_places(codes, sizes.tolist(), weight))
