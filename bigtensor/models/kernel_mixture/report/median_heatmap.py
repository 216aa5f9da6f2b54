"""Heatmap of the medians of all features by component, or population."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.cluster.hierarchy

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.models.kernel_mixture.report.feature_profiles import FeatureProfile
from bigtensor.models.kernel_mixture.report.levels import Levels
from bigtensor.models.words.report_figures import Heatmap

SCALED_QUANTILES = (0.01, 0.99)
"""Quantiles of a feature with the palest and the strongest colour. Outliers are beyond them."""


def median_heatmap(levels: Levels) -> Heatmap:
    """Return a heatmap of the medians of all features, scaled from 0 to 1 in every feature.

    0 and 1 are the 1 % and the 99 % quantile of the feature in the mixture. Neighbouring rows and
    columns are similar, by average linkage with optimal leaf ordering (Bar-Joseph et al. 2001).

    Parameters
    ----------
    levels : Levels
        Components, or populations, that the report shows.
    """
    shown = levels.shown
    medians, scaled = scaled_medians(shown.profiles, shown.weights)
    rows, columns = similar_order(scaled), similar_order(scaled.T)
    names = levels.labels.numbered_names
    return Heatmap(
        f"Median of every feature in every {shown.name}, scaled from 0 to 1",
        scaled[np.ix_(rows, columns)],
        tuple(names[row] for row in rows),
        tuple(shown.features[column] for column in columns),
        "median, scaled from 0 to 1",
        numbers=medians[np.ix_(rows, columns)],
    )


def scaled_medians(
    profiles: Sequence[FeatureProfile], weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the median of every feature in every component, or population, also scaled.

    Parameters
    ----------
    profiles : sequence of FeatureProfile
        All features.
    weights : (k,) float64 array
        Mixing weights.

    Returns
    -------
    medians : (k, features) float64 array
        In the units of the data.
    scaled : (k, features) float64 array
        Between 0 and 1, the 1 % and the 99 % quantile of the mixture.
    """
    medians = np.stack([quantiles(one.points, one.density, 0.5) for one in profiles], axis=1)
    mixtures = [(one.density @ weights)[:, None] for one in profiles]
    low, high = (
        np.concatenate(
            [quantiles(one.points, p, q) for one, p in zip(profiles, mixtures, strict=True)]
        )
        for q in SCALED_QUANTILES
    )
    spread = np.where(high > low, high - low, 1.0)
    return medians, np.clip((medians - low) / spread, 0.0, 1.0)


def quantiles(points: FloatArray, density: FloatArray, level: float) -> FloatArray:
    """Return a quantile of densities on evenly spaced points.

    Parameters
    ----------
    points : (g,) float64 array
        Ascending.
    density : (g, k) float64 array
        Not negative.
    level : float
        Between 0 and 1.

    Returns
    -------
    (k,) float64 array
        Quantiles in the units of the points.
    """
    cumulative = np.cumsum(density, axis=0)
    cumulative /= np.maximum(cumulative[-1], np.finfo(np.float64).tiny)
    return np.array([np.interp(level, column, points) for column in cumulative.T])


def similar_order(rows: FloatArray) -> IntArray:
    """Return an order of rows in which similar rows are neighbours.

    Parameters
    ----------
    rows : (n, d) float64 array
        Rows to compare.

    Returns
    -------
    (n,) integer array
        Positions of the rows.
    """
    if len(rows) < 3:
        return np.arange(len(rows))
    tree = scipy.cluster.hierarchy.linkage(rows, "average", optimal_ordering=True)
    return np.asarray(scipy.cluster.hierarchy.leaves_list(tree), np.int64)
