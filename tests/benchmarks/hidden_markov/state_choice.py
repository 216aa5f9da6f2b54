"""Numbers of states that are chosen from simulated sequences whose number is known."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from bigtensor import HiddenMarkovModel, simulate
from bigtensor.errors import ConditioningWarning
from tests.benchmarks.tables import Report, Row

CELLS: Mapping[int, Sequence[int]] = {
    1: (500, 5_000),
    2: (500, 5_000, 50_000),
    3: (500, 5_000, 50_000),
    5: (5_000, 50_000, 500_000),
}
"""Numbers of rows by number of states."""

SEQUENCES = 50
STAY = 0.6
FIRST_SEED = 700


def add_state_choice(
    report: Report, count: int, cells: Mapping[int, Sequence[int]] = CELLS
) -> None:
    """Print how often the number of states was found, was too small, and was too large.

    Parameters
    ----------
    report : Report
    count : int
        Data sets of every kind.
    cells : mapping of int to sequence of int
    """
    rows = [_row(k, size, count) for k, sizes in cells.items() for size in sizes]
    report.add(
        f"Number of states of {SEQUENCES} sequences, 2k + 2 symbols",
        rows,
        [
            "chosen: by the rule of the library; best: the largest held-out likelihood",
            "share of the data sets with the true number, and with a larger one",
        ],
    )


def _row(k: int, size: int, count: int) -> Row:
    """Return the figures of one kind of data."""
    chosen, best, begun = [], [], time.process_time()
    for number in range(count):
        data = simulate.hidden_markov(
            size, k, 2 * k + 2, sequences=SEQUENCES, stay=STAY, random_state=FIRST_SEED + number
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditioningWarning)
            model = HiddenMarkovModel("auto", refine="triples", random_state=0)
            model.fit(data, scheduler="threads", workers=1)
        scores = model.diagnostics_["state_choice"]["held_out_log_likelihood"]
        chosen.append(len(model.occupancy_))
        best.append(int(max(scores, key=scores.__getitem__)))
    row: Row = {"states": k, "rows": size, "seconds": (time.process_time() - begun) / count}
    for name, numbers in {"chosen": chosen, "best": best}.items():
        row[f"{name}: true"] = float(np.mean(np.array(numbers) == k))
        row[f"{name}: larger"] = float(np.mean(np.array(numbers) > k))
        row[f"{name}: largest"] = max(numbers)
    return row
