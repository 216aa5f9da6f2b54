"""Draws the history of small fits' times beside their peers', run by run.

``python -m tests.benchmarks.history_figure --out docs/figures/history-of-ratios.png``

The history is what ``python -m tests.benchmarks.speed --sizes --history FILE`` adds to its file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bigtensor.report.style import report_style
from tests.benchmarks.figures import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HISTORY = Path(__file__).parent / "history" / "sizes.jsonl"

COLUMNS = 4


def history_figure(history: Path) -> Figure:
    """Draw a panel for every model: seconds over the peer's, a line for every number of rows.

    Parameters
    ----------
    history : Path
        File of one line of JSON a run.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    runs = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    keys = [key.rsplit(" ", 1) for run in runs for key in run["ratios"]]
    models = list(dict.fromkeys(model for model, _ in keys))
    sizes = sorted({int(rows) for _, rows in keys})
    darker_for_more = mpl.colormaps["Blues"](np.linspace(0.4, 1.0, len(sizes)))
    lines = -(-len(models) // COLUMNS)
    figure, axes = plt.subplots(
        lines, COLUMNS, figsize=(10, 2.1 * lines), sharex=True, sharey=True, layout="constrained"
    )
    places = range(1, len(runs) + 1)
    for panel, model in zip(axes.flat, models, strict=False):
        panel.axhline(1.0, color="0.6", linewidth=0.8)
        for rows, color in zip(sizes, darker_for_more, strict=True):
            ratios = [run["ratios"].get(f"{model} {rows}", float("nan")) for run in runs]
            panel.plot(places, ratios, "o-", color=color, markersize=4, label=f"{rows:,} rows")
        panel.set_title(model.replace(", ", ",\n"), fontsize=8)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xticks(places, [run["date"] for run in runs], rotation=30, fontsize=7)
    for panel in axes.flat[len(models) :]:
        panel.set_visible(False)
    figure.supylabel("time over the peer's", fontsize=9)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figure and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--history", type=Path, default=HISTORY, help="file of ratios")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    options = parser.parse_args(arguments)
    with report_style():
        save(history_figure(options.history), options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
