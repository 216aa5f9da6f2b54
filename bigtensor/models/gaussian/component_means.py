"""Picture of the means of Gaussian components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.descending_order import largest_in_place
from bigtensor.models.words.report_blocks import Section, Words
from bigtensor.models.words.report_figures import Heatmap

MOST_LINES = 60
"""Features that the picture shows; of more, those that differ most between components."""


def means_section(
    means: NDArray[np.float64],
    names: Sequence[str],
    weights: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> Section:
    """Return a heatmap of the means by feature, in standard deviations within components.

    Parameters
    ----------
    means : (d, k) float64 array
        Means of the components.
    names : sequence of str
        Of the features.
    weights : (k,) float64 array
        Mixing weights.
    variances : (d,) float64 array
        Of the rows within components.
    """
    scaled = (means - (means @ weights)[:, None]) / np.sqrt(variances)[:, None]
    spread = np.square(scaled) @ weights
    chosen = largest_in_place(spread, MOST_LINES)
    words = (
        "Difference of every mean from the mean of all rows, in standard deviations of the rows "
        "within components."
    )
    if len(chosen) < len(names):
        words += f" Shown are the {len(chosen)} of {len(names):,} features that differ most."
    heatmap = Heatmap(
        "Means of the components",
        scaled[chosen],
        tuple(names[line] for line in chosen),
        tuple(str(component) for component in range(means.shape[1])),
        "standard deviations",
        float(np.abs(scaled[chosen]).max()) or 1.0,
        diverging=True,
        decimals=2,
    )
    return Section("means", "Means of the components", (Words(words), heatmap), "Means")
