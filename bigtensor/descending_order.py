"""Order of components and of lines by descending weight, in which ties keep their order."""

import numpy as np
import numpy.typing as npt

from bigtensor.array_types import IndexArray


def descending_order(weights: npt.ArrayLike) -> IndexArray:
    """Return the positions of weights in descending order; equal ones keep their order."""
    return np.argsort(-np.asarray(weights), kind="stable")


def largest_in_place(weights: npt.ArrayLike, count: int) -> IndexArray:
    """Return the positions of the largest weights, ascending: at most `count` of them."""
    return np.sort(descending_order(weights)[:count])
