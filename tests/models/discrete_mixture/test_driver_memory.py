"""The driver of a discrete mixture holds no more than the plan says."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bigtensor import DiscreteMixture
from bigtensor.engine.events import Event
from tests.models.discrete_mixture.tables import labelled

ROWS, VIEWS, CATEGORIES = 20_000, 100, 5
MiB = 2**20


class RowsOrderedError(Exception):
    """The driver has ordered the rows, and the mixture is of no interest."""


def test_driver__orders_rows_of_many_views_within_the_plan() -> None:
    codes = np.random.default_rng(0).integers(0, CATEGORIES, (ROWS, VIEWS))
    rows = labelled(codes, (CATEGORIES,) * VIEWS)
    model = DiscreteMixture(2, ridge=1.0, method="em", random_state=0)
    where = {"scheduler": "threads", "workers": 1}

    def listen(event: Event) -> None:
        if event.kind == "pass finished":
            tracemalloc.start()
        elif event.kind == "step started":
            raise RowsOrderedError

    (pilot,) = (size for size in model.plan(rows, **where).passes if size.name == "pilot")
    try:
        with pytest.raises(RowsOrderedError):
            model.fit(rows, listeners=[listen], **where)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    print(f"{peak / MiB:.0f} MiB traced, {pilot.driver_nbytes / MiB:.0f} MiB planned")
    assert peak <= pilot.driver_nbytes <= 3 * peak
