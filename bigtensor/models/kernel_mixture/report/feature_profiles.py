"""Profiles of every feature: a density for each component, its mean and spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.settings import DELTA

FINE_POINTS = 1024
"""Points between the farthest values of the components, on which tails are looked for."""

SHOWN_POINTS = 320
"""Points of a density as it is drawn."""

TAIL = 5e-4
"""Part of the mixture that is left out at either end of a drawn density."""

FAR = 6.0
"""Standard deviations around its mean beyond which a component is not looked at."""

BOX = 0.4
"""Half the width of the box of a category, in distances between neighbouring codes."""


@dataclass(frozen=True, eq=False)
class FeatureProfile:
    """One feature as the components see it.

    Attributes
    ----------
    feature : str
        Name of the feature.
    view : str
        Name of its view.
    points : (g,) float64 array
        Ascending, in the units of the data.
    density : (g, k) float64 array
        Density of every component, one over the units of the data.
    mean, sd : (k,) float64 arrays
        Conditional mean and standard deviation of every component.
    categorical : bool, default False
        True if values are codes of categories. Probabilities are then drawn as boxes of that mass.
    """

    feature: str
    view: str
    points: FloatArray
    density: FloatArray
    mean: FloatArray
    sd: FloatArray
    categorical: bool = False


def feature_profiles(model: DescribedKernelMixture) -> tuple[FeatureProfile, ...]:
    """Describe every feature of a fitted model, view by view.

    A feature that is a view by itself has the density of the model. A feature of a wider view has
    the marginal density, estimated from the rows that the model keeps of that view: a histogram
    smoothed by a Gaussian kernel of width ``0.9 sd n^(-1/5)`` with n the effective number of rows
    of the component (Silverman 1986, sec. 3.4.2).

    Parameters
    ----------
    model : fitted model
        With ``views_``, ``weights_``, ``component_density`` and ``expectation``.
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
        All features of the components.
    weights : (k,) array
        Mixing weights.

    Returns
    -------
    (features, k) float64 array
        Zero at the overall mean.
    """
    means = np.stack([profile.mean for profile in profiles])
    sds = np.stack([profile.sd for profile in profiles])
    overall = (means @ weights)[:, None]
    # the law of total variance: spread within the components and between them
    variance = (sds**2 + (means - overall) ** 2) @ weights
    return np.asarray((means - overall) / np.sqrt(variance)[:, None])


def overlaps(model: DescribedKernelMixture, profiles: tuple[FeatureProfile, ...]) -> FloatArray:
    r"""Return how much any two components resemble each other, from 0 (apart) to 1 (the same).

    The affinity :math:`\int \sqrt{p_a p_b}` (Bhattacharyya 1943); of independent views it is the
    product over the views. For a view of several features it is a mean over the rows that the
    model keeps of the view, :math:`E[\sqrt{p_a p_b} / p]` with p the density of the mixture.

    Parameters
    ----------
    model : fitted model
        Fitted model of the components.
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
    return to_one(root.T @ root)


def _sampled_affinities(model: DescribedKernelMixture, view: str) -> FloatArray:
    """Return the affinities of the components in a view of several features."""
    weights = np.asarray(model.weights_, np.float64)
    affinities = np.empty((len(weights), len(weights)))
    roots: list[FloatArray] = []

    def ratios(component: int, rows: NDArray[Any]) -> FloatArray:
        # the rows are the same every time, and k numbers a row are held instead of k^2
        if not roots:
            density = np.asarray(model.component_density(view, rows), np.float64)
            roots.append(np.sqrt(density / (density @ weights)[:, None]))
        return np.asarray(roots[0] * roots[0][:, component, None])

    for component in range(len(weights)):
        affinities[component] = weights @ model.expectation(view, partial(ratios, component))
    return to_one(affinities)


def to_one(products: FloatArray) -> FloatArray:
    """Scale sums of products of square roots so that all have affinity one with themselves."""
    norm = np.sqrt(np.maximum(np.diag(products), np.finfo(np.float64).tiny))
    scaled: FloatArray = np.minimum(products / np.outer(norm, norm), 1.0)
    np.fill_diagonal(scaled, 1.0)
    return scaled


def _profile(
    model: DescribedKernelMixture, view: str, column: int | None, feature: str
) -> FeatureProfile:
    """Describe one feature; a column is given for a feature of a wider view."""

    def values(rows: NDArray[Any]) -> FloatArray:
        return np.asarray(rows if column is None else rows[:, column], np.float64)

    weights = np.asarray(model.weights_, np.float64)
    mean = np.asarray(model.expectation(view, values), np.float64)
    centre = float(mean @ weights)
    # the square is taken around a centre: far from zero it would lose all digits
    square = np.asarray(model.expectation(view, lambda rows: (values(rows) - centre) ** 2))
    sd = np.sqrt(np.maximum(square - (mean - centre) ** 2, np.finfo(np.float64).tiny))
    plain = FeatureProfile(feature, view, np.empty(0), np.empty((0, len(mean))), mean, sd)
    if column is None and is_categorical(model, view):
        return _boxes(model, plain)
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
    return _as_drawn(replace(plain, points=points, density=density), weights)


def is_categorical(model: DescribedKernelMixture, view: str) -> bool:
    """Return True if a view of a model holds codes of categories."""
    kernels: dict[str, str] = model.diagnostics_.get("kernels", {})
    return kernels.get(view) == DELTA


def _boxes(model: DescribedKernelMixture, profile: FeatureProfile) -> FeatureProfile:
    """Describe categories: a box around every code that occurs, as large as its probability."""
    unique_codes: list[FloatArray] = []

    def remembered(rows: NDArray[Any]) -> FloatArray:
        unique_codes.append(np.unique(rows))
        return np.asarray(rows, np.float64)

    model.expectation(profile.view, remembered)
    codes = unique_codes[0]
    probability = np.asarray(model.component_density(profile.view, codes), np.float64)
    half = BOX * float(np.diff(codes).min() if len(codes) > 1 else 1.0)
    points = (codes[:, None] + [-half, -half, half, half]).ravel()
    density = np.repeat(probability / (2 * half), 4, axis=0)
    density[::4] = density[3::4] = 0.0
    ends = ((1, 1), (0, 0))
    points = np.pad(points, 1, constant_values=(points[0] - half, points[-1] + half))
    return replace(profile, points=points, density=np.pad(density, ends), categorical=True)


def _indicators(values: FloatArray, edges: FloatArray) -> NDArray[np.float32]:
    """Return ``(n, bins)`` ones where a value falls; values outside fall nowhere."""
    inside = np.flatnonzero((values >= edges[0]) & (values < edges[-1]))
    indicators = np.zeros((len(values), len(edges) - 1), np.float32)
    indicators[inside, np.searchsorted(edges, values[inside], side="right") - 1] = 1.0
    return indicators


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
