"""Map of the sampled rows in two dimensions: UMAP if it is installed, or principal components."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from warnings import catch_warnings, simplefilter

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Group, Section, Words
from bigtensor.models.words.report_figures import Scatter
from bigtensor.models.words.sampled_rows import LabelledRows

MOST_UMAP_ROWS = 2_000
"""Rows of a map by UMAP, whose time grows with their number. Compilation takes as long."""

CORE = (0.01, 0.99)
"""Quantiles of a feature that are scaled to 0 and 1. Values beyond them are cut off."""


def embedding_section(level: LabelLevel, rows: LabelledRows) -> list[Section]:
    """Return a map of the sampled rows.

    The map is UMAP (McInnes, Healy and Melville 2018) of at most `MOST_UMAP_ROWS` rows if
    umap-learn is installed, or else the first two principal components.

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
    umap = optional_umap()
    label = rows.label
    if umap is None:
        places, shares = principal_components(scaled)
        axes = _axis_name("first", shares[0]), _axis_name("second", shares[1])
        method = "principal components"
    else:
        chosen = np.linspace(0, len(scaled) - 1, min(len(scaled), MOST_UMAP_ROWS)).astype(int)
        method = f"UMAP of {len(chosen):,} rows"
        label, places, axes = label[chosen], umap(scaled[chosen]), ("UMAP 1", "UMAP 2")
    figure = Scatter(
        f"Map of the sampled rows by {level.name} ({method})",
        places[:, 0],
        places[:, 1],
        label,
        level.count,
        axes,
        label_names=level.given_names,
    )
    named = "name or number" if level.has_names else "number"
    lead = (
        "Every point is a sampled row. Rows with similar features are close to each other. "
        f"The map is made by {method}. "
        f"The {named} of a {level.name} stands at the medians of its rows. Features are scaled so "
        "that their 1 % and 99 % quantiles are 0 and 1. "
        + ("Distances between groups of points mean little. " if umap else "")
        + f"Two dimensions do not show all differences: {level.name}s that overlap here may be "
        "apart in single features."
    )
    blocks = (Words(lead), Group((figure,), layout="map"))
    return [Section("map", "Map of the rows", blocks, "Map")]


def optional_umap() -> Callable[[FloatArray], FloatArray] | None:
    """Return the function that maps rows by UMAP, or None if umap-learn is not installed."""
    try:
        with catch_warnings():
            # umap-learn warns of what it could do with other packages
            simplefilter("ignore", ImportWarning)
            umap = import_module("umap").UMAP
    except ImportError:
        return None

    def places(scaled: FloatArray) -> FloatArray:
        """Map rows. The same rows give the same map, on one thread."""
        neighbours = min(15, len(scaled) - 1)
        mapping = umap(neighbours, n_epochs=200, init="pca", random_state=0, n_jobs=1)
        return np.asarray(mapping.fit_transform(scaled), np.float64)

    return places


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
