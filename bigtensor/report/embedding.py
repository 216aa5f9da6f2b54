"""Map of the sampled rows in two dimensions."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Group, Section, Words
from bigtensor.models.words.report_figures import Scatter
from bigtensor.models.words.sampled_rows import LabelledRows

CORE = (0.01, 0.99)
"""Quantiles of a feature that are scaled to 0 and 1. Values beyond them are cut off."""


def embedding_section(level: LabelLevel, rows: LabelledRows) -> list[Section]:
    """Return a map of the sampled rows by their first two principal components.

    Parameters
    ----------
    level : LabelLevel
        Level of the labels.
    rows : LabelledRows
        Sample of labelled rows.

    Returns
    -------
    list of Section
        Empty for fewer than three features that vary, which other figures show whole, and for codes
        of categories, between which there is no distance.
    """
    if rows.samples is not None and rows.samples.kind != "measured":
        return []
    scaled = scaled_features(np.asarray(rows.values, np.float64))
    if scaled.shape[1] < 3 or len(scaled) < 3:
        return []
    places, shares = principal_components(scaled)
    figure = Scatter(
        f"Map of the sampled rows by {level.name}",
        places[:, 0],
        places[:, 1],
        rows.label,
        level.count,
        (_axis_name("first", shares[0]), _axis_name("second", shares[1])),
    )
    lead = (
        "Every point is a sampled row. Rows with similar features are close to each other. "
        f"A number stands at the medians of its {level.name}. Features are scaled so that their "
        "1 % and 99 % quantiles are 0 and 1. Two dimensions do not show all differences: "
        f"{level.name}s that overlap here may be apart in single features."
    )
    blocks = (Words(lead), Group((figure,), layout="map"))
    return [Section("map", "Map of the rows", blocks, "Map")]


def _axis_name(number: str, share: float) -> str:
    """Return the name of a principal component with its share of the variance."""
    return f"{number} principal component ({100 * share:.0f} %)"


def scaled_features(values: FloatArray) -> FloatArray:
    """Return the features that vary, scaled so that the quantiles `CORE` are 0 and 1.

    Parameters
    ----------
    values : (n, d) float64 array
        Rows without missing values.

    Returns
    -------
    (n, m) float64 array
        Between 0 and 1.
    """
    low, high = np.quantile(values, CORE, axis=0)
    varies = high > low
    scaled = (values[:, varies] - low[varies]) / (high - low)[varies]
    return np.asarray(np.clip(scaled, 0.0, 1.0))


def principal_components(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first two principal components of rows, and their shares of the variance.

    The largest loading of a component is positive.

    Parameters
    ----------
    values : (n, d) float64 array
        Rows of at least two features.

    Returns
    -------
    components : (n, 2) float64 array
        Coordinates of the rows.
    shares : (2,) float64 array
        Shares of the total variance, descending.
    """
    centred = values - values.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    first = vectors[:, [-1, -2]]
    largest = np.abs(first).argmax(axis=0)
    first = first * np.sign(first[largest, [0, 1]])
    total = max(float(variances.sum()), float(np.finfo(np.float64).tiny))
    return centred @ first, variances[[-1, -2]] / total
