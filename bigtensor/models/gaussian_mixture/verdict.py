"""Judgement of a fitted Gaussian mixture: what should worry, in words."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bigtensor.errors import ConditioningWarning, Setting
from bigtensor.models.gaussian_components import GaussianComponents
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.outlier_words import outlier_words
from bigtensor.models.script import Solved

FEW_ROWS = 2.0
"""A component of fewer rows is not told from a single row."""

ALIKE = 0.1
"""Distance of two means, in standard deviations of the noise, below which they are one."""


def judged(
    components: GaussianComponents, settings: GaussianSettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution without empty components, with the verdict on it, and warn of a fault.

    Parameters
    ----------
    components : GaussianComponents
    settings : GaussianSettings
    diagnostics : dict
    """
    filled = components.weights * settings.rows >= FEW_ROWS
    if filled.any() and not filled.all() and not components.names:
        components = _of(filled, components)
    k = components.n_components
    faults = [
        *_fewer(k, settings.n_components),
        *_alike(components),
        *outlier_words(diagnostics["rows_out_of_reach"], settings.rows),
    ]
    sentences = faults or [f"{k} component{'s' * (k > 1)}, no two alike and none almost empty."]
    for sentence in faults:
        warnings.warn(sentence, ConditioningWarning, stacklevel=6)
    verdict = {"good": not faults, "sentences": sentences}
    return Solved(components, {**diagnostics, "n_components": k, "verdict": verdict})


def _of(filled: NDArray[np.bool_], components: GaussianComponents) -> GaussianComponents:
    """Return the components that have rows; those of the others belong to the nearest mean.

    The covariance grows by them. Without that, rows of a rare feature would have densities of
    nearly zero, because a component of their own had left no variance of the feature.
    """
    points = components.mixture().factor[:-1].T.astype(np.float64)
    weights, means = components.weights[filled], components.means[filled]
    nearest = cdist(points[~filled], points[filled]).argmin(axis=1)
    moved = components.means[~filled] - means[nearest]
    spread = (moved.T * components.weights[~filled]) @ moved
    of_columns = components.covariance.ndim == 1
    added = np.full(len(spread), np.trace(spread) / len(spread)) if of_columns else spread
    np.add.at(weights, nearest, components.weights[~filled])
    return replace(
        components,
        weights=weights / weights.sum(),
        means=means,
        covariance=components.covariance + added,
    )


def _fewer(found: int, asked: int) -> list[str]:
    """Return a sentence on components that were asked for and have no rows."""
    if found >= asked:
        return []
    return [
        f"{asked - found} of the {asked} components asked for have hardly any row, and only "
        f"{found} are returned. Use fewer components (" + Setting("n_components", found) + ")."
    ]


def _alike(components: GaussianComponents) -> list[str]:
    """Return a sentence on the two nearest components, if they are one."""
    if components.n_components < 2:
        return []
    points = components.mixture().factor[:-1].T.astype(np.float64)
    squares = np.square(points).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0)
    np.fill_diagonal(distances, np.inf)
    a, b = np.unravel_index(np.argmin(distances), distances.shape)
    nearest = float(np.sqrt(distances[a, b]))
    if nearest >= ALIKE:
        return []
    return [
        f"Components {min(a, b)} and {max(a, b)} are {nearest:.2f} standard deviations apart. Use "
        "fewer components (" + Setting("n_components") + ")."
    ]
