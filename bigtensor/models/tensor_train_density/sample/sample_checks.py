"""Variables of a pilot sample that make a density improper or arbitrary."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.settings import TrainSettings

_REPEATED = 1 / 3
"""Share of the entries of a variable that one value has, which is a spike of its density."""

_SAME = 1e-9
"""Part of a standardised variable in which duplicates differ."""


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
        "duplicated": [[names[i], names[j]] for i, j in _duplicates(rows)],
    }


def _duplicates(rows: PilotRows) -> list[tuple[int, int]]:
    """Return pairs of measured variables that are linear functions of each other."""
    columns = [_standardised(rows.values[:, j]) for j in rows.measured]
    if not columns:
        return []
    # duplicates are neighbours in any order of their entries
    order = np.lexsort(np.round(np.array(columns), 6).T[::-1])
    pairs = [
        (int(rows.measured[i]), int(rows.measured[j]))
        for i, j in pairwise(order)
        if np.allclose(columns[i], columns[j], rtol=0, atol=_SAME, equal_nan=True)
    ]
    return [(min(pair), max(pair)) for pair in pairs]


def _standardised(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a variable with mean zero, variance one, and a positive first entry."""
    centred = column - np.nanmean(column)
    standardised = centred / np.nanstd(column)
    first = standardised[np.flatnonzero(np.abs(np.nan_to_num(standardised)) > _SAME)[0]]
    return np.asarray(standardised * np.sign(first))
