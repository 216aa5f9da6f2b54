"""Processor time of EM from random starts, as a ratio to that of the default."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bigtensor import DiscreteMixture
from bigtensor.errors import ConditioningWarning
from tests.benchmarks.baselines.count_em import (
    best_of_random_starts,
    expectation_maximisation,
    random_factors,
)
from tests.benchmarks.baselines.row_em import row_em
from tests.benchmarks.discrete.methods import fitted
from tests.benchmarks.discrete.small_alphabets import Drawn, models
from tests.benchmarks.tables import Report, Row, bars

COUNTED_ROWS = (100_000, 1_000_000)
READ_ROWS = 100_000

LEAST_RATIO = {5: 2.5, 10: 4.0}
"""Bound on the ratio to a fit without a ridge, by the number of components."""

LEAST_RATIO_CHOSEN = 1.0
"""Bound where the ridge is chosen by held-out rows."""

LEAST_RATIO_ROWS = 10.0
"""Bound on the ratio of EM on rows that are not counted."""


def add_times(
    report: Report,
    count: int,
    components: Sequence[int] = (5, 10),
    counted_rows: Sequence[int] = COUNTED_ROWS,
    read_rows: int = READ_ROWS,
) -> None:
    """Print the ratios on counts, then on rows."""
    # loops are compiled once
    small = Drawn.of(2, 500, 0)
    fitted(small)
    _fit_rows(small.rows(0), 2)
    report.add(
        "E Processor time of EM(10) 1e-7 on counts, divided by that of the default",
        [counted_row(k, rows, count) for k in components for rows in counted_rows],
        [
            "stacked: ten starts as one stack of matrix products; one by one: start after start",
            "the bars are held to the stacked EM, the faster of both",
        ],
    )
    report.add(
        "E2 Processor time of EM(10) 1e-4 on rows, divided by that of the default",
        [read_row(k, read_rows) for k in components],
    )


def counted_row(k: int, rows: int, count: int) -> Row:
    """Return median seconds and ratios of EM and of fits on the same counts."""
    calls: dict[str, Callable[[Drawn], Any]] = {
        "ex": fitted,
        "ex, ridge none": lambda drawn: fitted(drawn, ridge=None),
        "EM stacked": lambda drawn: best_of_random_starts(
            drawn.counts, k, 1e-7, np.random.default_rng(0)
        ),
        "EM one by one": _one_by_one,
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for drawn in models(k, rows, count):
        for name, call in calls.items():
            taken[name].append(_seconds(call, drawn))
    seconds = {name: float(np.median(values)) for name, values in taken.items()}
    plain = seconds["EM stacked"] / seconds["ex, ridge none"]
    chosen = seconds["EM stacked"] / seconds["ex"]
    held = {
        f"ridge none >= {LEAST_RATIO[k]:g}": plain >= LEAST_RATIO[k],
        f"ridge chosen >= {LEAST_RATIO_CHOSEN:g}": chosen >= LEAST_RATIO_CHOSEN,
    }
    return {
        "k": k,
        "rows": rows,
        **{f"{name} s": value for name, value in seconds.items()},
        "ridge none": plain,
        "ridge chosen": chosen,
        "one by one, ridge none": seconds["EM one by one"] / seconds["ex, ridge none"],
        "one by one, ridge chosen": seconds["EM one by one"] / seconds["ex"],
        **bars(held),
    }


def read_row(k: int, rows: int) -> Row:
    """Return seconds of EM on rows and of fits of the same rows, and the ratios."""
    drawn = Drawn.of(k, rows, 0)
    data = drawn.rows(0)
    sizes, codes = drawn.counts.shape, np.asarray(data)
    em = _seconds(lambda _: row_em(codes, sizes, k, 1e-4, np.random.default_rng(0)), drawn)
    plain = _seconds(lambda _: _fit_rows(data, k, ridge=None), drawn)
    chosen = _seconds(lambda _: _fit_rows(data, k), drawn)
    ratio = em / plain
    return {
        "k": k,
        "rows": rows,
        "EM s": em,
        "ex, ridge none s": plain,
        "ex s": chosen,
        "ridge none": ratio,
        "ridge chosen": em / chosen,
        **bars({f"ridge none >= {LEAST_RATIO_ROWS:g}": ratio >= LEAST_RATIO_ROWS}),
    }


def _one_by_one(drawn: Drawn) -> None:
    """Run ten random starts of EM, each by itself."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        start = random_factors(drawn.counts.shape, drawn.components, rng)
        expectation_maximisation(drawn.counts, [start], 1e-7)


def _fit_rows(data: Any, k: int, **parameters: Any) -> None:
    """Fit rows that are not counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        DiscreteMixture(k, **parameters).fit(data)


def _seconds(call: Callable[[Drawn], Any], drawn: Drawn) -> float:
    """Return the processor time of a call: neighbours on the machine do not count."""
    begun = time.process_time()
    call(drawn)
    return time.process_time() - begun
