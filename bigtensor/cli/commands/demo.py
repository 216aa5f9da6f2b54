"""``bigtensor demo``: simulate, fit, label, report, and compare with the truth."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.options import PATH, count, runtime
from bigtensor.cli.output import say, seconds_taken
from bigtensor.cli.progress import reporter
from bigtensor.engine.progress.reporter import Reporter, duration

if TYPE_CHECKING:
    from bigtensor.models.answers.mixture import MixtureAnswers
    from bigtensor.models.contract.estimator import Estimator

POPULATIONS = 8
"""Populations of the simulated cells."""

CELLS, MODEL, LABELS, REPORT = "cells.zarr", "model.zarr", "labels.zarr", "report.html"

KEPT = "bigtensor-demo"
"""The folder that the report is kept in without ``--out``."""


@click.command(cls=Command)
@click.option(
    "--rows", type=count(1000), default=1_000_000, show_default=True, help="Number of cells."
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="A new folder to keep the data, the model, the labels and the report in; without it "
    "only the report is kept, in bigtensor-demo, in place of an earlier one.",
)
def demo(rows: int, out: Path | None) -> None:
    """Simulate blood cells, fit, label, report, and compare with the truth."""
    when_interrupted([], "nothing was kept" if out is None else f"what was finished is in {out}")
    from bigtensor.data.simulate.blood import MARKERS

    processors = os.cpu_count() or 1
    say(
        f"demo       {rows:,} simulated blood cells of {POPULATIONS} populations\n"
        f"markers    {', '.join(MARKERS)}\n"
        f"runs on    {processors} thread{'s' * (processors != 1)} of this process"
    )
    with _folder(out) as folder:
        with reporter() as progress:
            model, step_seconds = _run(folder, rows, processors, progress)
            report = _write_report(model, folder, progress)
        lines = [f"{step:<10} {duration(seconds)}" for step, seconds in step_seconds.items()]
        # the comparison with the truth is the verdict, and faults are told in warnings
        lines.append(report)
        comparison = _comparison(folder, model)
        lines += ["", *_comparison_lines(comparison)]
        kept = KEPT if out is None else str(out)
        lines += ["", _kept_report(folder, Path(KEPT)) if out is None else _kept_files(out)]
        facts = {"rows": rows, "seconds": seconds_taken(), "steps": step_seconds, "kept": kept}
        say("\n".join(lines), {**facts, "verdict": model.diagnostics_["verdict"], **comparison})


def _kept_files(folder: Path) -> str:
    """Say which files the folder of the demo has."""
    return f"kept       {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}"


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Make the folder of the results: a new one, or one that is removed at the end."""
    from bigtensor.errors import OutputError

    if out is None:
        with tempfile.TemporaryDirectory(prefix="bigtensor-demo-") as temporary:
            yield Path(temporary)
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out} exists and is not an empty folder; give a new one")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {out} cannot be made: {error.strerror}") from error
    yield out


def _run(
    folder: Path, rows: int, processors: int, progress: Reporter
) -> tuple[Any, dict[str, float]]:
    """Simulate, fit and label; return the model, and the seconds of every step."""
    from bigtensor.data.simulate import write_blood
    from bigtensor.models.kernel_mixture.estimator import KernelMixture

    cells, taken, latest = folder / CELLS, dict[str, float](), time.perf_counter()

    def lap(step: str) -> None:
        nonlocal latest
        now = time.perf_counter()
        taken[step], latest = now - latest, now

    with progress.rows("simulate") as advance:
        write_blood(cells, rows, progress=advance)
    lap("simulated")
    where = runtime(processors, "threads")
    model = KernelMixture(POPULATIONS, random_state=0)
    model.fit(str(cells), listeners=[progress.listen], **where)
    model.save(folder / MODEL)
    lap("fitted")
    model.write(
        str(cells),
        folder / LABELS,
        outputs=("label", "probability", "log_density"),
        listeners=[progress.listen],
        **where,
    )
    lap("labelled")
    return model, taken


def _write_report(model: Estimator, folder: Path, progress: Reporter) -> str:
    """Write the report, and say where it is or how to get it."""
    from bigtensor.errors import MissingDependencyError

    path = folder / REPORT
    started = time.perf_counter()
    try:
        from bigtensor.report.html import write_report

        write_report(
            model,
            path,
            data=str(folder / CELLS),
            labels=str(folder / LABELS),
            listeners=[progress.listen],
        )
    except MissingDependencyError as error:
        return f"report     not written: {error}"
    return f"report     {path.name}, {duration(time.perf_counter() - started)}"


def _kept_report(folder: Path, kept: Path) -> str:
    """Copy the report out of the folder that will be removed, and say where it is."""
    everything = "'bigtensor demo --out DIR' keeps the data, the model and the labels too."
    if not (folder / REPORT).exists():
        return f"Nothing was kept; {everything}"
    replaced = " in place of an earlier report" * (kept / REPORT).exists()
    try:
        kept.mkdir(exist_ok=True)
        shutil.copyfile(folder / REPORT, kept / REPORT)
    except OSError as error:
        return f"Nothing was kept ({error.strerror}: {kept / REPORT}); {everything}"
    return f"kept       {kept / REPORT}{replaced}; {everything}"


def _comparison(folder: Path, model: MixtureAnswers) -> dict[str, Any]:
    """Compare labels and shares with the truth, population by population.

    Returns
    -------
    dict
        ``populations``, the most frequent first, with the accuracy of all labels.
    """
    from bigtensor.cli.stored_labels import agreement
    from bigtensor.data.stores.zarr_datasets import open_dataset

    comparison = agreement(folder / CELLS, folder / LABELS, POPULATIONS)
    names = open_dataset(str(folder / CELLS))[1]["label"].attrs["categories"]
    cells = comparison.counts.sum(axis=1)
    suggested, populations = model.suggest_population_names(), list[dict[str, Any]]()
    for row in (-cells).argsort():
        component = int(comparison.matched[row])
        populations.append(
            {
                "population": component,
                "true_name": names[row],
                "suggested_name": suggested[component],
                "cells": int(cells[row]),
                "true_share": float(cells[row] / cells.sum()),
                "share": float(model.weights_[component]),
                "F1": float(comparison.f1[row]),
            }
        )
    return {
        "populations": populations,
        "accuracy": float(comparison.accuracy),
        "mean_F1": float(comparison.mean_f1),
        "adjusted_rand": float(comparison.adjusted_rand),
    }


def _comparison_lines(comparison: Mapping[str, Any]) -> list[str]:
    """Return a comparison with the truth as a table and three lines."""
    populations = comparison["populations"]
    width = max(len("true population"), *(len(entry["true_name"]) for entry in populations))
    lines = [
        f"{'number':>6}  {'true population':<{width}} {'cells':>11} {'true share':>10} "
        f"{'share':>8} {'F1':>7}  suggested name"
    ]
    lines += [
        f"{entry['population']:>6}  {entry['true_name']:<{width}} {entry['cells']:>11,} "
        f"{entry['true_share']:>10.2%} {entry['share']:>8.2%} {entry['F1']:>7.4f}  "
        f"{entry['suggested_name']}"
        for entry in populations
    ]
    return [
        *lines,
        "",
        f"accuracy   {comparison['accuracy']:.2%} of the cells have the label of their population",
        f"mean F1    {comparison['mean_F1']:.4f} over the populations (1 is perfect)",
        f"adjusted Rand index {comparison['adjusted_rand']:.4f} (1 is perfect)",
    ]
