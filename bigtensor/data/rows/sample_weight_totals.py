"""Sums over the sample weights of all rows. The rows themselves are not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.addresses.repeated_reads import ReadTally, read_repeatedly
from bigtensor.data.sources.row_sources import Source
from bigtensor.data.values.plain_arrays import without_mask

_READ_ROWS = 2**20
"""Weights that are read at once: 8 MiB."""


@dataclass(frozen=True)
class WeightTotals:
    """Sums over sample weights. Weights that a pass refuses, such as NaN, are left out.

    Attributes
    ----------
    rows : int
        Number of rows with a positive weight.
    total : float
        Sum of the weights.
    effective_rows : float
        Effective sample size: the squared sum of the weights over the sum of their squares (Kish
        1965, "Survey Sampling", sec. 8.2). It does not depend on the unit of the weights.
    largest : float
        Largest weight.
    whole : bool
        True if all weights are whole numbers.
    """

    rows: int
    total: float
    effective_rows: float
    largest: float
    whole: bool


def weight_totals(sources: Iterable[Source]) -> WeightTotals:
    """Return the sums over the weights of all rows. Rows of a source without weights weigh one."""
    # relative to the largest weight of a part, so that no square overflows or vanishes
    parts = [
        (
            len(weight),
            weight.max(),
            weight.sum(),
            (weight / weight.max()) @ (weight / weight.max()),
            (weight == np.rint(weight)).all(),
        )
        for weight in _positive_weights(sources)
        if len(weight)
    ]
    if not parts:
        return WeightTotals(0, 0.0, 0.0, 0.0, whole=True)
    rows, largest, total, squares, whole = np.array(parts).T
    relative = largest / largest.max()
    effective_rows = (total / largest.max()).sum() ** 2 / (squares * relative**2).sum()
    return WeightTotals(
        int(rows.sum()),
        float(total.sum()),
        float(effective_rows),
        float(largest.max()),
        whole=bool(whole.all()),
    )


def _positive_weights(sources: Iterable[Source]) -> Iterator[FloatArray]:
    """Read the weights part by part, and yield those that are positive and finite."""
    for source in sources:
        for start in range(0, source.rows, _READ_ROWS):
            stop = min(start + _READ_ROWS, source.rows)
            stored: Any = read_repeatedly(partial(source.read_weight, start, stop), ReadTally())
            if stored is None:
                yield np.ones(stop - start)
                continue
            weight = np.asarray(without_mask(stored), np.float64)
            yield weight[np.isfinite(weight) & (weight > 0)]
