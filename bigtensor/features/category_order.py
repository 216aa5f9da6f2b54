"""Order of categories by their content, which does not depend on their names and codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray

_DIGITS = 9
"""Decimals that shares are rounded to, so that the order of summation has no effect."""


def places_by_content(figures: FloatArray) -> IntArray:
    """Return the place of every category, the one with the largest first figure first.

    Parameters
    ----------
    figures : (categories, m) float64 array
        Shares of the rows, or means of them. Later ones decide between categories whose earlier
        ones are equal. Categories that are equal in all of them keep the order of their codes.
    """
    order = np.lexsort(-np.round(figures, _DIGITS).T[::-1])
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def category_places(
    codes: NDArray[np.integer[Any]], sizes: Sequence[int], weight: FloatArray
) -> list[IntArray]:
    """Return the places of the categories of every column, the most frequent one first.

    Random numbers that follow these places are the same for any names and codes of categories.

    Parameters
    ----------
    codes : (n, d) integer array
        Codes of the rows; -1 is a missing one.
    sizes : sequence of int
        Number of categories of every column.
    weight : (n,) float64 array
        Weights of the rows.

    Returns
    -------
    list of (categories,) int64 arrays
        Of every column.
    """
    share = weight / weight.sum()
    by_column = [_summed(column, share, size) for column, size in zip(codes.T, sizes, strict=True)]
    frequency = np.empty(codes.shape)
    for j, (column, shares) in enumerate(zip(codes.T, by_column, strict=True)):
        # a missing code adds nothing, whatever its place
        frequency[:, j] = np.append(shares, 0.0)[column]
    total = frequency.sum(axis=1)
    places = []
    for j, (column, shares) in enumerate(zip(codes.T, by_column, strict=True)):
        # equally frequent categories differ in the categories of the other columns
        others = total - frequency[:, j]
        further = [_summed(column, share * others**power, len(shares)) for power in (1, 2)]
        places.append(places_by_content(np.stack([shares, *further], axis=1)))
    return places


def sequence_places(codes: NDArray[np.integer[Any]], size: int, weight: FloatArray) -> IntArray:
    """Return the places of the categories of consecutive codes, the most frequent one first.

    Equally frequent categories differ in how often they come again, and in the codes before and
    after them.

    Parameters
    ----------
    codes : (windows, 3) integer array
        Three consecutive codes; -1 is a missing one.
    size : int
        Number of categories.
    weight : (windows,) float64 array
        Weights of the windows.
    """
    share = weight / weight.sum()
    before, middle, after = codes.T
    frequency = _summed(middle, share, size)
    of_code = np.append(frequency, 0.0)
    values = (share, share * (middle == after), share * of_code[before], share * of_code[after])
    return places_by_content(np.stack([_summed(middle, own, size) for own in values], axis=1))


def recoded(codes: NDArray[Any], places: Sequence[IntArray]) -> NDArray[Any]:
    """Return codes with every category at its place.

    Parameters
    ----------
    codes : (n, d) integer array
        Codes of the rows; -1 is a missing one, and remains.
    places : sequence of (categories,) int64 arrays
        Of every column.
    """
    at_places = np.empty(codes.shape, codes.dtype)
    for j, (column, own) in enumerate(zip(codes.T, places, strict=True)):
        at_places[:, j] = np.append(own, -1)[column]
    return at_places


def _summed(codes: NDArray[np.integer[Any]], values: FloatArray, size: int) -> FloatArray:
    """Return the sum of the values of the rows of every category."""
    present = codes >= 0
    return np.asarray(np.bincount(codes[present], values[present], size), np.float64)
