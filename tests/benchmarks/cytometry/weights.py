"""Weights of samples against their gated shares, beside counted labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor import KernelMixture
from tests.benchmarks.annotation import annotate_by_majority
from tests.benchmarks.cytometry.cells import Labels
from tests.benchmarks.tables import Row, bars

TOLERANCE = 0.0005
"""Estimated weights may be so much farther off than counted labels: half of the third decimal."""

PARTS = 6
"""Groups of different composition that cells are put into."""

FILES = "files"
OTHER_PARTS = "parts of other composition"

Distances = tuple[float, float]
"""Of estimated weights and of counted labels to the shares of the classes."""


def tilted(classes: Labels, parts: int, rng: np.random.Generator) -> Labels:
    """Put rows into parts of very different composition."""
    shares = rng.dirichlet(np.full(parts, 0.5), size=classes.max() + 1)
    drawn = rng.uniform(size=len(classes))
    part = (drawn[:, None] > shares.cumsum(axis=1)[classes]).sum(axis=1)
    return np.asarray(part.clip(0, parts - 1))


def distances(
    model: KernelMixture, data: Any, classes: Labels, group: Labels, label: Labels
) -> Distances:
    """Return the distances of `weights_by` and of counted labels to the shares of the classes.

    Total variation, mean over groups. A label stands for the class that most of its rows have.

    Parameters
    ----------
    model : KernelMixture
    data : (rows, features) array or DataArray
    classes, group, label : (rows,) integer arrays
        Rows with a negative group are left out of every count.
    """
    table = model.weights_by(data, group)
    by, level = table["weight"].dims
    order = np.argsort(table[by].to_numpy().astype(int))
    kept, k = group >= 0, table.sizes[level]
    annotation = annotate_by_majority(label[kept], classes[kept], k)
    truth = _shares(classes[kept], group[kept], annotation.shape[1])
    counted = _shares(label[kept], group[kept], k)
    ours, theirs = (
        0.5 * np.abs(weights @ annotation - truth).sum(axis=1).mean()
        for weights in (table["weight"].to_numpy()[order], counted)
    )
    return float(ours), float(theirs)


def weight_row(found: Sequence[Distances], **names: Any) -> Row:
    """Return the mean distances and the bar: estimated weights are no farther off."""
    ours, counted = np.mean(found, axis=0)
    return {
        **names,
        "weights_by": ours,
        "counted labels": counted,
        **bars({f"weights_by <= {counted:.4f} + {TOLERANCE:g}": bool(ours <= counted + TOLERANCE)}),
    }


def _shares(labels: Labels, group: Labels, kinds: int) -> NDArray[np.float64]:
    """Return the share of every kind in every group, in the order of the groups."""
    return np.stack(
        [
            np.bincount(labels[group == one], minlength=kinds) / (group == one).sum()
            for one in np.unique(group)
        ]
    )
