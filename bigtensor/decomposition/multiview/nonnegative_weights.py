"""Component weights from first moments by nonnegative least squares."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from bigtensor.array_types import FloatArray
from bigtensor.errors import IdentifiabilityError, ParameterError

SUM_ROW = 10.0
"""Weight of the equation "the weights sum to one" against unit-norm first moments."""

WEIGHT_FLOOR = 1e-3
"""Smallest weight, as a part of 1/k: a component is never lost for good."""


def nonnegative_weights(
    first_moments: Sequence[FloatArray], means: Sequence[FloatArray]
) -> FloatArray:
    r"""Weights that mix the component means of all views into the overall means.

    Solves :math:`E[y_t] = M_t \pi` over all views t, each divided by the norm of its first moment,
    together with ten times :math:`\sum_h \pi_h = 1`, for :math:`\pi \geq 0`. The inverse squared
    eigenvalues of the decomposition estimate the same weights but do not sum to one.

    Parameters
    ----------
    first_moments : sequence of ndarrays of shape (q_t,)
        Overall mean of each view.
    means : sequence of ndarrays of shape (q_t, k)
        Component means of each view.

    Returns
    -------
    ndarray of shape (k,)
        At least about 1e-3 / k each, summing to one.

    Raises
    ------
    ParameterError
        If there is no view, or the shapes do not fit together.
    IdentifiabilityError
        If the best nonnegative weights are all zero.
    """
    if not means or len(first_moments) != len(means):
        raise ParameterError(
            f"as many first moments as views are needed, got {len(first_moments)} and {len(means)}"
        )
    size = means[0].shape[1]
    rows, values = [np.full((1, size), SUM_ROW)], [np.array([SUM_ROW])]
    for moment, mean in zip(first_moments, means, strict=True):
        if mean.shape != (len(moment), size):
            raise ParameterError(
                f"component means of shape {(len(moment), size)} are needed, got {mean.shape}"
            )
        norm = float(np.linalg.norm(moment)) or 1.0
        rows.append(mean / norm)
        values.append(moment / norm)
    solution, _ = nnls(np.vstack(rows), np.concatenate(values))
    if not solution.sum() > 0:
        raise IdentifiabilityError(
            "no positive combination of the component means comes near the overall means: use "
            "fewer components or more rows"
        )
    weights = np.maximum(solution / solution.sum(), WEIGHT_FLOOR / size)
    normalised: FloatArray = weights / weights.sum()
    return normalised
