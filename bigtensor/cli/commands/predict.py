"""``bigtensor predict``: a label or the sources of every row, with probabilities on request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.conditions import (
    rows_that_meet,
    shares_as_facts,
    shares_in_words,
    where_option,
)
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    WordChoice,
    missing_option,
    overwrite_option,
    refuse_file_name,
    refuse_inputs,
    refuse_options,
    runtime_options,
)
from bigtensor.cli.output import say, seconds_taken, took_in_all
from bigtensor.cli.progress import reporter
from bigtensor.cli.sequences import in_order, sequence_option
from bigtensor.cli.workers import started

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address
    from bigtensor.engine.progress.reporter import Reporter
    from bigtensor.models.contract.estimator import Estimator


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option("--out", type=ADDRESS, metavar="LABELS.zarr", help="The store to write.")
@click.option(
    "--into",
    metavar="GROUP",
    help="In place of --out: write into this group inside CELLS.zarr, whose arrays stay untouched.",
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Also write the probability of every component, or population, and the log-density of "
    "every row.",
)
@click.option(
    "--answer",
    "outputs",
    multiple=True,
    metavar="NAME",
    help="Write this answer in place of the usual ones; repeat for several. A density has "
    "log_density, surprise, contribution, imputed and posterior.",
)
@click.option(
    "--level",
    type=WordChoice(["population", "component"]),
    help="'component' also writes the component of every row where labels are populations, and "
    "makes --by that of components; 'population' refuses a model without populations.",
)
@click.option("--csv", "csv_path", type=ADDRESS, metavar="FILE", help="Also write a CSV file.")
@click.option(
    "--by",
    metavar="VARIABLE",
    help="Also the shares of populations for every value of a variable of the rows, such as "
    "sample_id.",
)
@click.option(
    "--table",
    type=ADDRESS,
    metavar="FILE",
    help="The CSV file of these shares; by default beside the labels.",
)
@where_option("Answer for the rows that meet a condition; others have the label -1.")
@sequence_option
@runtime_options
@missing_option
@overwrite_option
def predict(
    model_path: Address,
    cells: str,
    out: Address | None,
    into: str | None,
    probabilities: bool,
    outputs: tuple[str, ...],
    level: str | None,
    csv_path: Address | None,
    by: str | None,
    table: Address | None,
    condition: str | None,
    sequence: str | None,
    where: dict[str, Any],
    missing: str | None,
    overwrite: bool,
) -> None:
    """Label every row of a store.

    The label of a row, such as a cell, is its most probable population. Where components were not
    merged into populations, it is the most probable component.

    The CSV file has the columns row, which counts the rows of CELLS.zarr from 0, source_row (if
    rows were selected at import or by subset: the row of the files, from 0 without the header),
    sample_id and sequence (if CELLS.zarr is a store that import or subset wrote, and has them), the
    variable of --sequence, obs_names (names of documents and cells in AnnData, such as import
    --counts writes), and the answers.

    LABELS.zarr holds label (sample) int32, and with --probabilities also probability (sample,
    component or population) float32 and log_density (sample). Rows left out have the label -1.

    With --by, two to six more passes give the shares of the populations in every patient or file,
    with standard errors: the mixing weights of the largest likelihood. Of sequences, two passes
    give the share of every state.

    Of a model with sources, such as ica, the store holds source (sample, component) in place of
    labels; of a density, log_density (sample), or what --answer asks for.
    """
    _check_answers(outputs, by)
    store, out = _places(cells, out, into)
    if into is None:
        refuse_file_name(out, "give --csv, or --table for shares by --by, beside --out")
        way = ", or --into GROUP to write into a group of the cells"
        refuse_inputs(out, model_path, cells, otherwise=way)
    table = _table_path(store, into, by, table)
    files = [path for path in (csv_path, table) if path is not None]
    if len({out, *files}) <= len(files):
        raise click.UsageError("two outputs have the same name; give each its own")
    when_interrupted([out, *files])
    from bigtensor.cli.group_table import table_in_words, write_table

    _check_outputs(store, into, files, overwrite=overwrite)
    model = _loaded(model_path, missing)
    outputs = outputs or _outputs(model, level, probabilities=probabilities)
    _check_labels_for(by, model, outputs)
    beside = _store_beside(csv_path, cells, model, outputs)
    rows = rows_that_meet(condition, in_order(cells, sequence, model), cells, model)
    with reporter() as progress:
        with started(where) as running:
            # first, so that an unknown variable ends it before anything is written
            if by is not None:
                weights = model.weights_by(
                    rows, by, level=level, listeners=[progress.listen], **running
                )
            model.write(
                rows,
                store,
                outputs=outputs,
                into=into,
                overwrite=overwrite,
                listeners=[progress.listen],
                **running,
            )
        if csv_path is not None:
            _write_csv(out, csv_path, beside, sequence, progress)
    if table is not None:
        write_table(weights, table)
    facts = {**_facts(out, outputs), "seconds": seconds_taken(), **shares_as_facts(rows)}
    tables = [] if table is None else [table_in_words(weights, table)]
    words = "\n".join([_summary(facts, csv_path), *tables])
    say(shares_in_words(rows) + words, {**facts, "csv": csv_path, "table": table})


def _loaded(path: Address, missing: str | None) -> Any:
    """Return a fitted model with the rule for missing values of the command, if it has one."""
    from bigtensor.models.contract.model_files import load_model

    model = load_model(path)
    return model if missing is None else model.set_params(missing=missing)


def _places(cells: str, out: Address | None, into: str | None) -> tuple[Address, Address]:
    """Return the store to write, or to write into, and the place of the answers."""
    if (out is None) == (into is None):
        raise click.UsageError(
            "give either --out LABELS.zarr, a store to write, or --into GROUP, a group inside the "
            "store of the cells"
        )
    if out is not None:
        return out, out
    from bigtensor.data.addresses.store_address import as_address, inside

    store = as_address(cells)
    return store, inside(store, str(into))


def _check_outputs(
    store: Address, into: str | None, files: Sequence[Address], *, overwrite: bool
) -> None:
    """Raise an OutputError for an output that could not be written."""
    from bigtensor.data.stores.answer_groups import check_answer_group
    from bigtensor.data.stores.outputs import check_target, check_target_file

    if into is None:
        check_target(store, overwrite=overwrite)
    else:
        check_answer_group(store, into, overwrite=overwrite)
    for path in files:
        check_target_file(path, overwrite=overwrite)


def _outputs(model: Estimator, level: str | None, *, probabilities: bool) -> tuple[str, ...]:
    """Return the names of what is written for every row."""
    from bigtensor.errors import NoPopulationsError

    try:
        names: tuple[str, ...] = model.description.row_outputs(
            model, level, probabilities=probabilities
        )
    except NoPopulationsError as error:
        raise NoPopulationsError(
            error.message + "; leave --level out, or fit with --populations"
        ) from error
    return names


def _check_answers(outputs: tuple[str, ...], by: str | None) -> None:
    """Raise a UsageError for options that choose answers in another way than ``--answer``."""
    if outputs:
        # of the shares of groups, --level says what they are shares of
        unused = ("probabilities",) if by else ("probabilities", "level")
        refuse_options(unused, "with --answer")


def _check_labels_for(by: str | None, model: Estimator, outputs: tuple[str, ...]) -> None:
    """Raise a UsageError for weights by groups of a model without them, or without labels."""
    if by is None:
        return
    if not hasattr(model, "weights_by"):
        raise click.UsageError(f"{type(model).__name__} has no weights by groups; leave --by out")
    if "label" not in outputs:
        raise click.UsageError(
            "--by gives shares of labels, and --answer leaves labels out; add --answer label, or "
            "leave --by out"
        )


def _store_beside(
    csv_path: Address | None, cells: str, model: Estimator, outputs: tuple[str, ...]
) -> str | None:
    """Return the cells if the CSV file can name their rows, after a check of its columns."""
    if csv_path is None:
        return None
    for output in model.row_function(outputs).outputs:
        if len(output.dims) > 1:
            raise click.UsageError(
                f"{output.name} has the dimensions {', '.join(output.dims)} for every row, which "
                f"are no columns of a table; leave --csv or --answer {output.name} out"
            )
    from bigtensor.data.exporters.row_columns import has_row_columns

    return cells if has_row_columns(cells) else None


def _table_path(
    store: Address, into: str | None, by: str | None, table: Address | None
) -> Address | None:
    """Return the file of the weights, where they are asked for."""
    if by is None:
        if table is not None:
            raise click.UsageError("--table is the file of what --by asks for; give --by")
        return None
    from bigtensor.data.addresses.store_address import beside, name_of

    stem = PurePath(name_of(store)).stem
    name = stem if into is None else f"{stem}_{into}"
    return table or beside(store, f"{name}_by_{by}.csv")


def _write_csv(
    out: Address, csv_path: Address, beside: str | None, sequence: str | None, progress: Reporter
) -> None:
    """Write the answers again as text, beside what says which row of the files a row is."""
    from bigtensor.data.exporters.csv import write_answers_to_csv
    from bigtensor.data.sources.anndata_source import holds_anndata
    from bigtensor.errors import DataError, OutputError, StoreReadError

    names = () if sequence is None or beside is None or holds_anndata(beside) else (sequence,)
    try:
        with progress.rows("csv") as advance:
            write_answers_to_csv(out, csv_path, cells=beside, features=names, progress=advance)
    except (DataError, OutputError, StoreReadError) as error:
        raise type(error)(
            error.message
            + f"; {out} is complete, and 'bigtensor export {out} --to FILE.csv' makes "
            "the table from it"
        ) from error


def _facts(out: Address, outputs: tuple[str, ...]) -> dict[str, Any]:
    """Return what was written, as ``--json`` prints it."""
    from bigtensor.cli.stored_labels import label_counts, row_count, stored_names

    counts = label_counts(out) if "label" in outputs else {}
    names = stored_names(out) if "label" in outputs else ()
    return {
        "labels": out,
        "outputs": outputs,
        "rows": sum(counts.values()) if counts else row_count(out, outputs[0]),
        "counts": counts,
        "names": list(names),
    }


def _summary(facts: dict[str, Any], csv_path: Address | None) -> str:
    """Say what was written where, and how many rows have each label."""
    counts, rows = facts["counts"], facts["rows"]
    csv = "" if csv_path is None else f"csv        {csv_path}\n"
    took = took_in_all(facts["seconds"])
    if not counts:
        named = ", ".join(facts["outputs"])
        return f"answers    {facts['labels']}: {named} of {rows:,} rows\n{csv}{took}"
    names = dict(enumerate(facts["names"]))
    listed = ", ".join(
        f"{'left out' if label < 0 else names.get(label, label)}: {count:,}"
        for label, count in counts.items()
    )
    return (
        f"labels     {facts['labels']}: {', '.join(facts['outputs'])} of {rows:,} rows\n"
        f"counts     {listed}\n"
        f"{csv}{took}"
    )
