"""``bigtensor predict``: a label for every row, with probabilities on request."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import FactsCommand, when_interrupted
from bigtensor.cli.options import (
    DATA,
    PATH,
    missing_option,
    overwrite_option,
    refuse_inputs,
    runtime,
    runtime_options,
)
from bigtensor.cli.output import say
from bigtensor.cli.progress import duration, pace, reporter
from bigtensor.cli.workers import started


@click.command(cls=FactsCommand)
@click.argument("model_path", type=PATH, metavar="MODEL.zarr")
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option("--out", type=PATH, required=True, metavar="LABELS.zarr", help="The store to write.")
@click.option(
    "--probabilities",
    is_flag=True,
    help="Also write the probability of every component, or population, and the log-density of "
    "every row.",
)
@click.option(
    "--level",
    type=click.Choice(["population", "component"]),
    help="'component' also writes the component of every row where labels are populations, and "
    "makes --by that of components; 'population' refuses a model without populations.",
)
@click.option("--csv", "csv_path", type=PATH, metavar="FILE", help="Also write a CSV file.")
@click.option(
    "--by",
    metavar="VARIABLE",
    help="Also the mixing weights of every value of a variable of the rows, such as sample_id.",
)
@click.option(
    "--table",
    type=PATH,
    metavar="FILE",
    help="The CSV file of these weights; by default beside the labels.",
)
@runtime_options
@missing_option
@overwrite_option
def predict(
    model_path: Path,
    cells: str,
    out: Path,
    probabilities: bool,
    level: str | None,
    csv_path: Path | None,
    by: str | None,
    table: Path | None,
    workers: int | None,
    scheduler: str | None,
    memory_limit: int | None,
    missing: str | None,
    overwrite: bool,
) -> None:
    """Label every row of a store.

    The label of a row is its most probable population where components were merged into any, else
    its most probable component.

    LABELS.zarr holds label (sample) int32, and with --probabilities also probability (sample,
    component or population) float32 and log_density (sample). Rows left out have the label -1.

    With --by, two to six more passes give the weights of every patient or file that have the
    largest likelihood, with standard errors.
    """
    refuse_inputs(out, model_path, cells)
    table = _table_path(out, by, table)
    files = [path for path in (csv_path, table) if path is not None]
    if len({out, *files}) <= len(files):
        raise click.UsageError("two outputs have the same name; give each its own")
    where = runtime(workers, scheduler, memory_limit)
    when_interrupted([out, *files])
    from bigtensor.cli.group_table import table_in_words, write_table
    from bigtensor.data.targets import check_target, check_target_file
    from bigtensor.models.loading import load_model

    check_target(out, overwrite=overwrite)
    for path in files:
        check_target_file(path, overwrite=overwrite)
    model = load_model(model_path)
    if missing is not None:
        model.set_params(missing=missing)
    outputs = _outputs(model, level, probabilities=probabilities)
    with reporter() as progress:
        with started(where) as running:
            # first, so that an unknown variable ends it before anything is written
            if by is not None:
                weights = model.weights_by(
                    cells, by, level=level, listeners=[progress.listen], **running
                )
            begin = time.perf_counter()
            model.write(
                cells,
                out,
                outputs=outputs,
                overwrite=overwrite,
                listeners=[progress.listen],
                **running,
            )
        seconds = time.perf_counter() - begin
        if csv_path is not None:
            _write_csv(out, csv_path, progress, probabilities=probabilities)
    if table is not None:
        write_table(weights, table)
    facts = _facts(out, outputs, seconds)
    say(_summary(facts), {**facts, "csv": csv_path, "table": table})
    if csv_path is not None:
        say(f"csv        {csv_path}")
    if table is not None:
        say(table_in_words(weights, table))


def _outputs(model: Any, level: str | None, *, probabilities: bool) -> tuple[str, ...]:
    """Return the names of what is written for every row."""
    from bigtensor.errors import NoPopulationsError
    from bigtensor.models.summary import population_of_component

    merged = population_of_component(model) is not None
    if level == "population" and not merged:
        raise NoPopulationsError(
            "the model has no populations, only components; leave --level out, or fit with "
            "--populations"
        )
    names = ["label"]
    names += ["probability", "log_density"] if probabilities else []
    if level == "component" and merged:
        names += ["component_label"]
        names += ["component_probability"] if probabilities else []
    return tuple(names)


def _table_path(out: Path, by: str | None, table: Path | None) -> Path | None:
    """Return the file of the weights, where they are asked for."""
    if by is None:
        if table is not None:
            raise click.UsageError("--table is the file of what --by asks for; give --by")
        return None
    return table or out.with_name(f"{out.stem}_by_{by}.csv")


def _write_csv(out: Path, csv_path: Path, progress: Any, *, probabilities: bool) -> None:
    """Write the labels again as text."""
    from bigtensor.data.exporters.csv import write_answers_to_csv

    with progress.rows("csv") as advance:
        write_answers_to_csv(out, csv_path, probabilities=probabilities, progress=advance)


def _facts(out: Path, outputs: tuple[str, ...], seconds: float) -> dict[str, Any]:
    """Return what was written, as ``--json`` prints it."""
    from bigtensor.cli.agreement import label_counts

    counts = label_counts(out)
    return {
        "labels": out,
        "outputs": outputs,
        "rows": sum(counts.values()),
        "counts": counts,
        "seconds": seconds,
    }


def _summary(facts: dict[str, Any]) -> str:
    """Say what was written where, and how many rows have each label."""
    counts, rows, seconds = facts["counts"], facts["rows"], facts["seconds"]
    listed = ", ".join(
        f"{'left out' if label < 0 else label}: {count:,}" for label, count in counts.items()
    )
    return (
        f"labels     {facts['labels']}: {', '.join(facts['outputs'])} of {rows:,} rows\n"
        f"counts     {listed}\n"
        f"took       {duration(seconds)}, {pace(rows, seconds, None)}"
    )
