"""What a fitted model says of every feature: a density for each component, its mean and spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FINE_POINTS = 1024
"""Points between the farthest values of the components, on which tails are looked for."""

SHOWN_POINTS = 320
"""Points of a density as it is drawn."""

TAIL = 5e-4
"""Part of the mixture that is left out at either end of a drawn density."""

FAR = 6.0
"""Standard deviations around its mean beyond which a component is not looked at."""


@dataclass(frozen=True, eq=False)
class FeatureProfile:
    """One feature as the components see it.

    Attributes
    ----------
    feature : str
    view : str
    points : (g,) float64 array
        Ascending, in the units of the data.
    density : (g, k) float64 array
        Density of every component, one over the units of the data.
    mean, sd : (k,) float64 arrays
        Conditional mean and standard deviation of every component.
    """

    feature: str
    view: str
    points: FloatArray
    density: FloatArray
    mean: FloatArray
    sd: FloatArray


def feature_profiles(model: Any) -> tuple[FeatureProfile, ...]:
    """Describe every feature of a fitted model, view by view.

    A feature that is a view by itself has the density of the model. A feature of a wider view has
    the marginal density, estimated from the rows that the model keeps of that view: a histogram
    smoothed by a Gaussian kernel of width ``0.9 sd n^(-1/5)`` with n the effective number of rows
    of the component (Silverman 1986, sec. 3.4.2).

    Parameters
    ----------
    model : fitted model
        With ``views_``, ``weights_``, ``component_density`` and ``expectation``.

    Returns
    -------
    tuple of FeatureProfile
    """
    return tuple(
        _profile(model, view, column if len(members) > 1 else None, feature)
        for view, members in model.views_.features
        for column, feature in enumerate(members)
    )


def standardised_means(profiles: tuple[FeatureProfile, ...], weights: FloatArray) -> FloatArray:
    """Return how far every component's mean is from the overall one, in overall deviations.

    Parameters
    ----------
    profiles : tuple of FeatureProfile
    weights : (k,) array
        Mixing weights.

    Returns
    -------
    (features, k) float64 array
    """
    means = np.stack([profile.mean for profile in profiles])
    sds = np.stack([profile.sd for profile in profiles])
    overall = (means @ weights)[:, None]
    # the law of total variance: spread within the components and between them
    variance = (sds**2 + (means - overall) ** 2) @ weights
    return np.asarray((means - overall) / np.sqrt(variance)[:, None])


def overlaps(profiles: tuple[FeatureProfile, ...]) -> FloatArray:
    r"""Return how much any two components resemble each other, from 0 (apart) to 1 (the same).

    The affinity :math:`\int \sqrt{p_a p_b}` (Bhattacharyya 1943) of independent views is the
    product of the affinities of the views. For a view of several features the least affinity of
    its features stands in, which is an upper bound.

    Parameters
    ----------
    profiles : tuple of FeatureProfile

    Returns
    -------
    (k, k) float64 array
        Symmetric, ones on the diagonal.
    """
    k = len(profiles[0].mean)
    by_view: dict[str, FloatArray] = {}
    for profile in profiles:
        root = np.sqrt(profile.density)
        norm = np.maximum(np.sqrt((root**2).sum(axis=0)), np.finfo(np.float64).tiny)
        affinity = (root / norm).T @ (root / norm)
        least = by_view.get(profile.view, np.ones((k, k)))
        by_view[profile.view] = np.minimum(least, affinity)
    product = np.prod(list(by_view.values()), axis=0)
    np.fill_diagonal(product, 1.0)
    return np.asarray(product)


def _profile(model: Any, view: str, column: int | None, feature: str) -> FeatureProfile:
    """Describe one feature; a column is given for a feature of a wider view."""

    def values(rows: NDArray[Any]) -> FloatArray:
        return np.asarray(rows if column is None else rows[:, column], np.float64)

    weights = np.asarray(model.weights_, np.float64)
    mean = np.asarray(model.expectation(view, values), np.float64)
    centre = float(mean @ weights)
    # the square is taken around a centre: far from zero it would lose all digits
    square = np.asarray(model.expectation(view, lambda rows: (values(rows) - centre) ** 2))
    sd = np.sqrt(np.maximum(square - (mean - centre) ** 2, np.finfo(np.float64).tiny))
    low, high = float((mean - FAR * sd).min()), float((mean + FAR * sd).max())
    if column is None:
        points = np.linspace(low, high, FINE_POINTS)
        density = np.asarray(model.component_density(view, points), np.float64)
    else:
        edges = np.linspace(low, high, FINE_POINTS // 4 + 1)
        points = (edges[:-1] + edges[1:]) / 2
        shares = model.expectation(view, lambda rows: _indicators(values(rows), edges))
        rows = weights * model.diagnostics_["sample_rows"]
        density = _smoothed(np.asarray(shares).T, points, 0.9 * sd * np.maximum(rows, 2) ** -0.2)
    return _as_drawn(FeatureProfile(feature, view, points, density, mean, sd), weights)


def _indicators(values: FloatArray, edges: FloatArray) -> NDArray[np.float32]:
    """Return ``(n, bins)`` ones where a value falls; values outside fall nowhere."""
    inside = np.flatnonzero((values >= edges[0]) & (values < edges[-1]))
    found = np.zeros((len(values), len(edges) - 1), np.float32)
    found[inside, np.searchsorted(edges, values[inside], side="right") - 1] = 1.0
    return found


def _smoothed(shares: FloatArray, points: FloatArray, widths: FloatArray) -> FloatArray:
    """Spread the shares of the bins by a Gaussian kernel, of another width in each column."""
    step = points[1] - points[0]
    distance = points[:, None] - points
    columns = []
    for share, width in zip(shares.T, np.maximum(widths, step / 2), strict=True):
        kernel = np.exp(-0.5 * (distance / width) ** 2)
        columns.append(kernel @ share / (width * np.sqrt(2 * np.pi)))
    return np.stack(columns, axis=1)


def _as_drawn(profile: FeatureProfile, weights: FloatArray) -> FeatureProfile:
    """Keep the range that holds nearly all of the mixture, on as many points as are drawn."""
    mixture = np.cumsum(profile.density @ weights)
    mixture /= mixture[-1]
    first, last = np.searchsorted(mixture, [TAIL, 1 - TAIL])
    start, stop = max(first - 1, 0), min(last + 1, len(mixture) - 1)
    points = np.linspace(profile.points[start], profile.points[stop], SHOWN_POINTS)
    columns = [np.interp(points, profile.points, column) for column in profile.density.T]
    return replace(profile, points=points, density=np.stack(columns, axis=1))
