"""``bigtensor demo``: simulate, fit, label, report, and compare with the truth."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.options import PATH, count, runtime
from bigtensor.cli.output import say
from bigtensor.cli.progress import Reporter, duration, pace, reporter
from bigtensor.cli.workers import started

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator

POPULATIONS = 8
"""Populations of the simulated cells."""

MARKERS = 6
"""Markers of the simulated cells."""

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
    "only the report is kept, in bigtensor-demo.",
)
def demo(rows: int, out: Path | None) -> None:
    """Simulate, fit, label, compare with the truth."""
    when_interrupted([], "nothing was kept" if out is None else f"what was finished is in {out}")
    processors = os.cpu_count() or 1
    say(
        f"demo       {rows:,} simulated cells, {MARKERS} markers, {POPULATIONS} populations; "
        f"{processors} worker process{'es' * (processors != 1)} on this machine"
    )
    with _folder(out) as folder:
        with reporter() as progress:
            model, step_seconds = _run(folder, rows, processors, progress)
        report = _write_report(model, folder)
        for step, seconds in step_seconds.items():
            say(f"{step:<10} {duration(seconds)}, {pace(rows, seconds, None)}")
        say(f"{report}\n{_verdict_line(model)}".rstrip())
        say(_comparison(folder, model))
        if out is None:
            say(_kept_report(folder, Path(KEPT)))
    if out is not None:
        names = ", ".join(sorted(path.name for path in out.iterdir()))
        say(f"\nkept       {out}: {names}")


def _verdict_line(model: Estimator) -> str:
    """Return the verdict on a mixture without a fault. A fault was told in a warning."""
    verdict = model.diagnostics_["verdict"]
    return f"verdict    {' '.join(verdict['sentences'])}\n" if verdict["good"] else ""


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
    from bigtensor.data.simulate import write_cytometry
    from bigtensor.models.kernel_mixture.estimator import KernelMixture

    cells, taken, latest = folder / CELLS, dict[str, float](), time.perf_counter()

    def lap(step: str) -> None:
        nonlocal latest
        now = time.perf_counter()
        taken[step], latest = now - latest, now

    with progress.rows("simulate") as advance:
        write_cytometry(cells, rows, POPULATIONS, markers=MARKERS, progress=advance)
    lap("simulated")
    with started(runtime(processors, None, None)) as where:
        latest = time.perf_counter()
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


def _write_report(model: Estimator, folder: Path) -> str:
    """Write the report, and say where it is or how to get it."""
    from bigtensor.errors import MissingDependencyError

    path = folder / REPORT
    started = time.perf_counter()
    try:
        from bigtensor.report.html import write_report

        write_report(model, path, data=str(folder / CELLS), labels=str(folder / LABELS))
    except MissingDependencyError as error:
        return f"report     not written: {error}"
    return f"report     {path.name}, {duration(time.perf_counter() - started)}"


def _kept_report(folder: Path, kept: Path) -> str:
    """Copy the report out of the folder that will be removed, and say where it is."""
    everything = "'bigtensor demo --out DIR' keeps the data, the model and the labels too."
    if not (folder / REPORT).exists():
        return f"\nNothing was kept; {everything}"
    try:
        kept.mkdir(exist_ok=True)
        shutil.copyfile(folder / REPORT, kept / REPORT)
    except OSError as error:
        return f"\nNothing was kept ({error.strerror}: {kept / REPORT}); {everything}"
    return f"\nkept       {kept / REPORT}; {everything}"


def _comparison(folder: Path, model: Estimator) -> str:
    """Compare labels and weights with the truth, population by population."""
    from bigtensor.cli.stored_labels import agreement
    from bigtensor.data.stores.zarr_datasets import open_dataset

    comparison = agreement(folder / CELLS, folder / LABELS, POPULATIONS)
    names = open_dataset(str(folder / CELLS))[1]["label"].attrs["categories"]
    cells = comparison.counts.sum(axis=1)
    lines = [
        "",
        f"{'component':>9} {'cells':>11} {'share':>8} {'weight':>8} {'precision':>10} "
        f"{'recall':>8} {'F1':>8}  true population",
    ]
    for row in (-cells).argsort():
        component = int(comparison.matched[row])
        lines.append(
            f"{component:>9} {cells[row]:>11,} {cells[row] / cells.sum():>8.4f} "
            f"{float(model.weights_[component]):>8.4f} {comparison.precision[row]:>10.4f} "
            f"{comparison.recall[row]:>8.4f} {comparison.f1[row]:>8.4f}  {names[row]}"
        )
    lines += [
        "",
        f"accuracy   {comparison.accuracy:.4f} of all cells, components matched one to one",
        f"mean F1    {comparison.mean_f1:.4f} over the populations",
        f"adjusted Rand index {comparison.adjusted_rand:.4f}",
    ]
    return "\n".join(lines)
