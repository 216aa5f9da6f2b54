"""Variables of a pilot sample that make a density improper or arbitrary."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.models.pilot.linear_copies import linear_copies
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.settings import TrainSettings

_REPEATED = 1 / 3
"""Share of the entries of a variable that one value has, which is a spike of its density."""


def sample_checks(rows: PilotRows, settings: TrainSettings) -> dict[str, list[Any]]:
    """Return the names of variables that are constant, unknown, repeated or duplicated."""
    names = settings.features
    present = [column[~np.isnan(column)] for column in rows.values.T]
    counts = [np.unique(column, return_counts=True)[1] for column in present]
    # an atom is no spike of a density
    measured = {int(j) for j in rows.measured if not len(rows.atoms[j])}
    return {
        "constant": [
            name for name, repeats in zip(names, counts, strict=True) if len(repeats) == 1
        ],
        "all_missing": [
            name for name, repeats in zip(names, counts, strict=True) if not len(repeats)
        ],
        "repeated": [
            name
            for j, (name, repeats) in enumerate(zip(names, counts, strict=True))
            if j in measured and repeats.max() > _REPEATED * repeats.sum()
        ],
        "duplicated": [
            [names[rows.measured[i]], names[rows.measured[j]]]
            for i, j in linear_copies(rows.values[:, rows.measured])
        ],
    }


def sample_ranges(rows: PilotRows, settings: TrainSettings) -> dict[str, list[float]]:
    """Return the least value, quartiles and the largest value of measured variables."""
    levels = (0.0, 0.25, 0.75, 1.0)
    return {
        settings.features[j]: np.nanquantile(rows.values[:, j], levels).tolist()
        for j in rows.measured
    }
