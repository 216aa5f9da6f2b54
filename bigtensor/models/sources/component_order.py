"""Order of components, and sign of each component, which independent sources leave open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import descending_order


def component_order_and_signs(
    correlations: FloatArray, kurtosis: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the order of components by descending absolute kurtosis, and their signs.

    A component correlates positively with the feature that it correlates with most.

    Parameters
    ----------
    correlations : (d, k) array
        Of features and sources.
    kurtosis : (k,) array
        Excess kurtosis of the sources.

    Returns
    -------
    order : (k,) integer array
        Components to sort columns by.
    signs : (k,) float64 array
        1 or -1 for each of the sorted columns.
    """
    order = descending_order(np.abs(kurtosis))
    sorted_columns = correlations[:, order]
    largest = np.argmax(np.abs(sorted_columns), axis=0)
    signs = np.where(sorted_columns[largest, np.arange(len(order))] < 0, -1.0, 1.0)
    return order, signs
