"""Rank of recorded values, which are rounded to multiples of a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import PrincipalAxes

MOST_ROUNDING = 1e-3
"""Share of the variance that rounding makes, above which values are counts or classes instead."""

FACTOR = 3.0
"""Variance along an axis, relative to that of rounding, up to which there is nothing else."""

_MOST_ROWS = 5_000
_LEAST_GAPS = 10
_TOLERANCE = 0.05
"""Distance of a gap from a multiple of the step, relative to the step, that is rounding."""


def rank_beyond_rounding(axes: PrincipalAxes, values: NDArray[np.floating]) -> int:
    """Return the number of largest axes along which rows vary by more than rounding.

    Rounding to multiples of a step adds errors of the variance ``step**2 / 12``. A feature that
    others determine, such as a lead that is the difference of two leads, differs from them by these
    errors alone.

    Parameters
    ----------
    axes : PrincipalAxes
        All axes of standardised features.
    values : (n, d) array
        Rows of a sample.
    """
    thinned = values[:: max(1, len(values) // _MOST_ROWS)]
    steps = np.array([recorded_step(column) for column in thinned.T])
    shares = np.square(steps / axes.scales) / 12
    shares[shares > MOST_ROUNDING] = 0.0
    if not shares.any():
        return axes.rank
    directions = axes.whitening * axes.scales[:, None]
    # a unit vector times the root of its eigenvalue, which is the variance along it
    rounding = (np.square(directions) * shares[:, None]).sum(axis=0)
    return max(1, int(np.count_nonzero(rounding * FACTOR < 1)))


def recorded_step(values: NDArray[np.floating]) -> float:
    """Return the step of which all differences of values are multiples, or 0.

    Parameters
    ----------
    values : (n,) array
        Values of a feature.
    """
    distinct = np.unique(values[np.isfinite(values)]).astype(np.float64)
    gaps = np.diff(distinct)
    # rounding of floating-point numbers, of which gaps are differences
    rounding = 2 * float(np.finfo(values.dtype).eps) * float(np.abs(distinct).max(initial=0.0))
    if len(gaps) < _LEAST_GAPS or gaps.min() <= rounding / _TOLERANCE:
        return 0.0
    step = float(gaps[gaps <= 1.5 * gaps.min()].mean())
    multiples: FloatArray = gaps / step
    return step if (np.abs(multiples - np.round(multiples)) <= 2 * _TOLERANCE).all() else 0.0
