"""Faults that mixtures of Gaussian components share, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.models.gaussian.fitted_components import GaussianComponents

HEAVY_TAILS = 20.0
"""Excess kurtosis of the lengths of residuals that is told."""

LEAST_PART = 0.05
"""Entry of a unit vector, above which its feature is part of a linear dependence."""

_TWICE = (1.7, 2.4)
_SAME = 0.3
_LEAST_PEERS = 5


def noise_ratio(components: GaussianComponents) -> float | None:
    """Return the length of the noise of a row over the typical distance of a mean from the centre.

    Lengths are of features in units of their noise, so that they do not depend on the units of the
    data. Features without noise and the same mean in all components do not count. None for a
    single component.
    """
    weights = components.weights / components.weights.sum()
    deviations = components.means - weights @ components.means
    between = weights @ np.square(deviations)
    covariance = components.covariance
    within = covariance if covariance.ndim == 1 else np.diagonal(covariance)
    varying = (between > 0) | (within > 0)
    with np.errstate(divide="ignore"):
        signal = float((between[varying] / within[varying]).sum())
    return float(np.sqrt(np.count_nonzero(varying) / signal)) if signal > 0 else None


def noise_in_words(diagnostics: dict[str, Any]) -> str:
    """Return a sentence on the noise and the rows of a component.

    Parameters
    ----------
    diagnostics : dict
        With ``noise_ratio`` and ``rows_a_component``.
    """
    words = f"There are {diagnostics['rows_a_component']:,.0f} rows for each that was asked for"
    if diagnostics["noise_ratio"] is not None:
        words += (
            f", and the noise is {diagnostics['noise_ratio']:.1f} times as long as a typical mean"
        )
    return words + "."


def dependent_parts(covariance: FloatArray, floor: float) -> IndexArray:
    """Return the places of features that depend linearly on each other.

    Parameters
    ----------
    covariance : (d, d) float64 array
        Covariance within components, relative to the variances of all rows.
    floor : float
        Largest eigenvalue that shows a dependence.
    """
    values, vectors = np.linalg.eigh(covariance)
    parts: IndexArray = np.flatnonzero((np.abs(vectors[:, values <= floor]) > LEAST_PART).any(1))
    return parts


def doubled_weights(weights: NDArray[np.float64]) -> list[str]:
    """Return a sentence on components of twice the weight of all others."""
    low, high = (times * float(np.median(weights)) for times in _TWICE)
    double = (weights >= low) & (weights <= high)
    others, number = weights[~double], int(double.sum())
    if not number or len(others) < max(_LEAST_PEERS, 3 * number):
        return []
    if np.subtract(*np.quantile(others, [0.9, 0.1])) > _SAME * np.median(others):
        return []
    whose = f"{number} components have" if number > 1 else "1 component has"
    return [
        f"{whose} twice the weight of the others, which are equal: each may be two whose means are "
        "too near to be told apart. Look at the rows, or use more of them."
    ]


def heavy_tails(kurtosis: float | None) -> list[str]:
    """Return a sentence on noise with heavy tails.

    Parameters
    ----------
    kurtosis : float, optional
        Excess kurtosis of the lengths of residuals; None where no sample tells it.
    """
    if kurtosis is None or kurtosis < HEAVY_TAILS:
        return []
    return [
        f"The noise has heavy tails (excess kurtosis of the residual lengths {kurtosis:.0f}): rows "
        "far out move the means. Clip or transform the features, for example by arcsinh."
    ]
