"""Decoded states in the report: shares along the rows, and lengths of runs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.contract.run import RunsPasses
from bigtensor.models.contract.script import PlannedPass, SizedScript
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.words.report_blocks import Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import Curve, Curves, Panel, StateStrip
from bigtensor.models.words.wording import percent
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.best_path import PathOperators
from bigtensor.statistics.sequences.decoded import DecodedPaths, DecodedSummary
from bigtensor.statistics.sequences.entries import most_blocks

STRIP_BINS = 300
"""Columns of the picture of all rows."""

STRIP_ROWS = 300
"""Rows of the picture of the first rows."""

MARKED_POINTS = 10
"""Lengths of runs up to which every one has a mark: a single length is no line."""

LEAST_SHARE = 1e-3
"""Share of the runs of a state at which its curve ends."""


class DecodesRows(RunsPasses, Protocol):
    """A fitted hidden Markov model that runs passes over rows."""

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""


def decoded_summary(model: DecodesRows, samples: Any) -> DecodedSummary:
    """Decode all rows, in two passes over the data.

    Parameters
    ----------
    model : fitted model
        Fitted model whose most probable paths are decoded.
    samples : Samples
        The data, as `SampledRows` holds them.
    """
    chain, rows = model._solution().chain(), samples.rows
    operators = PathOperators(chain, most_blocks(rows))
    bins, first = min(STRIP_BINS, rows), min(STRIP_ROWS, rows)

    def script() -> SizedScript:
        paths = yield Pass("messages", operators)
        decoding = Pass("decoded", DecodedPaths(chain, paths, rows, bins, first))
        return (yield PlannedPass(decoding))

    planned = [PlannedPass(Pass("messages", operators))]
    summary: DecodedSummary = model.run_passes(samples, script(), planned).result
    return summary


def dwell_section(
    occupancy: NDArray[np.float64], stay: NDArray[np.float64], summary: DecodedSummary
) -> Section:
    """Return the lengths of decoded runs beside the geometric law of the chain.

    Parameters
    ----------
    occupancy : (k,) array
        Shares of the states in the long run.
    stay : (k,) array
        Probabilities to stay in a state.
    summary : DecodedSummary
        Lengths of the decoded runs of every state.
    """
    words = (
        "A chain stays in a state for a number of steps with a geometric distribution, of mean "
        "1 / (1 - probability to stay). Solid lines: share of the decoded runs that last at least "
        "so many steps. Dashed lines: the geometric distribution. The most probable path "
        "leaves out short visits, so that decoded runs are longer than those of the chain where "
        "categories tell states badly apart. Lines that bend away from the dashed ones otherwise "
        "are dwell times that are not geometric."
    )
    parts = (dwell_curves(stay, summary), _table(occupancy, stay, summary))
    blocks = (Words(words), Group(parts, layout="beside"))
    return Section("dwell", "Dwell times", blocks)


def dwell_curves(stay: NDArray[np.float64], summary: DecodedSummary) -> Curves:
    """Return the survival of decoded runs and of the chain, down to `LEAST_SHARE`."""
    items = list[Curve]()
    for state, survival in enumerate(summary.survival()):
        # a comparison with what is not a number is false
        lasting = np.flatnonzero(survival >= LEAST_SHARE)
        if not len(lasting):
            continue
        steps = 1 + lasting
        marker = 4.0 if len(steps) <= MARKED_POINTS else 0.0
        items.append(Curve(steps, survival[lasting], f"state {state}", state, marker=marker))
        geometric = stay[state] ** lasting.astype(np.float64)
        kept = geometric >= LEAST_SHARE
        items.append(Curve(steps[kept], geometric[kept], colour=state, dashed=True))
    panel = Panel(
        tuple(items),
        x_label="steps",
        y_label="share of runs at least as long",
        logarithmic=True,
        y_limits=(LEAST_SHARE, 1.2),
    )
    return Curves("Lengths of runs of every state", (panel,), legend_columns=4)


def strip_section(summary: DecodedSummary) -> Section:
    """Return the decoded states along the rows."""
    rows = int(summary.counts.sum())
    words = (
        f"States of the most probable paths of all {rows:,} rows, in the order of the rows. Above: "
        f"shares of the states in {len(summary.counts):,} columns. Below: the states of the first "
        f"{len(summary.first_states):,} rows. Lines are the ends of sequences."
    )
    total = np.maximum(summary.counts.sum(axis=1, keepdims=True), 1)
    strip = StateStrip(
        "States along the rows", summary.counts / total, summary.first_states, summary.first_begins
    )
    return Section("strip", "States along time", (Words(words), strip))


def _table(
    occupancy: NDArray[np.float64], stay: NDArray[np.float64], summary: DecodedSummary
) -> Table:
    """Return shares and dwell times by state, of the chain and of the decoded rows."""
    counts = summary.counts.sum(axis=0)
    share, run = counts / max(counts.sum(), 1), summary.mean_run()
    expected = 1 / np.maximum(1 - stay, 1e-12)
    runs = summary.ended.sum(axis=1) + summary.cut.sum(axis=1)
    return Table(
        ("state", "share", "decoded share", "dwell time", "decoded dwell time", "runs"),
        tuple(
            (
                Cell(str(state)),
                Cell(percent(occupancy[state])),
                Cell(percent(share[state])),
                Cell(f"{expected[state]:,.1f}"),
                Cell(f"{run[state]:,.1f}" if np.isfinite(run[state]) else "-"),
                Cell(f"{runs[state]:,}"),
            )
            for state in range(len(stay))
        ),
        "Dwell times are mean numbers of steps. Runs that a sequence's end cuts count as far as "
        "they go; the first run of every 32,768 rows is left out.",
    )
