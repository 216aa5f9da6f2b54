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


def overlaps(model: Any, profiles: tuple[FeatureProfile, ...]) -> FloatArray:
    r"""Return how much any two components resemble each other, from 0 (apart) to 1 (the same).

    The affinity :math:`\int \sqrt{p_a p_b}` (Bhattacharyya 1943); of independent views it is the
    product over the views. For a view of several features it is a mean over the rows that the
    model keeps of the view, :math:`E[\sqrt{p_a p_b} / p]` with p the density of the mixture.

    Parameters
    ----------
    model : fitted model
    profiles : tuple of FeatureProfile
        Those of the model.

    Returns
    -------
    (k, k) float64 array
        Symmetric, ones on the diagonal.
    """
    widths = {view: len(members) for view, members in model.views_.features}
    narrow = [_affinities(one.density) for one in profiles if widths[one.view] == 1]
    wide = [_sampled_affinities(model, view) for view, width in widths.items() if width > 1]
    return np.asarray(np.prod([*narrow, *wide], axis=0))


def _affinities(density: FloatArray) -> FloatArray:
    """Return the affinities of densities on a grid of evenly spaced points."""
    root = np.sqrt(density)
    return _to_one(root.T @ root)


def _sampled_affinities(model: Any, view: str) -> FloatArray:
    """Return the affinities of the components in a view of several features."""
    weights = np.asarray(model.weights_, np.float64)
    k = len(weights)
    first, second = np.triu_indices(k)

    def ratios(rows: NDArray[Any]) -> FloatArray:
        density = np.asarray(model.component_density(view, rows), np.float64)
        root = np.sqrt(density / (density @ weights)[:, None])
        return np.asarray(root[:, first] * root[:, second])

    found = np.zeros((k, k))
    found[first, second] = found[second, first] = weights @ model.expectation(view, ratios)
    return _to_one(found)


def _to_one(products: FloatArray) -> FloatArray:
    """Scale products of square roots so that every component has affinity one with itself."""
    norm = np.sqrt(np.maximum(np.diag(products), np.finfo(np.float64).tiny))
    scaled: FloatArray = np.minimum(products / np.outer(norm, norm), 1.0)
    np.fill_diagonal(scaled, 1.0)
    return scaled


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
