"""``bigtensor import``: files of any known kind into one store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bigtensor.cli.command import OF_EVERY_COMMAND, Command, written_for
from bigtensor.cli.conditions import shares_as_facts, shares_in_words, where_option
from bigtensor.cli.options import (
    ADDRESS,
    PATH,
    WordChoice,
    count,
    names_in,
    overwrite_option,
    refuse_file_name,
    refuse_inputs,
    refuse_options,
    typed_options,
)
from bigtensor.cli.output import (
    MOST_FEATURES,
    complain,
    one_line,
    say,
    seconds_taken,
    shortened,
    took_in_all,
)
from bigtensor.cli.progress import reporter
from bigtensor.errors import UnreadableFilesError

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address
    from bigtensor.data.importers.job import ImportSummary

_OF_COUNTS = ("vocabulary", "documents", "feature_types")
"""Options that need ``--counts``."""

_WITH_COUNTS = ("counts", "out", "overwrite", *_OF_COUNTS, *OF_EVERY_COMMAND)
"""All options of an import of counts. Any other option is of measured values or codes."""


@click.command("import", cls=Command)
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE|FOLDER...")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="CELLS.zarr", help="The store to write."
)
@click.option(
    "--format",
    type=WordChoice(["fcs", "csv", "parquet", "anndata"]),
    help="The kind of the files; by default it follows from the end of their names.",
)
@click.option(
    "--panel",
    type=PATH,
    metavar="PANEL.csv",
    help="Table of channel, marker and role, as 'bigtensor panel' writes it; features are named "
    "after the markers.",
)
@click.option("--compensate", is_flag=True, help="FCS: remove spillover by the file's own matrix.")
@click.option(
    "--transform",
    type=WordChoice(["arcsinh", "logicle", "none"]),
    help="By default arcsinh for FCS, none for everything else.",
)
@click.option(
    "--cofactor",
    type=float,
    help="Of arcsinh; by default 5 for mass cytometry and 150 otherwise, or less for values of a "
    "smaller range.",
)
@click.option(
    "--untransformed",
    multiple=True,
    metavar="NAME",
    help="A feature that stays linear, instead of scatter and time, and without --panel is not "
    "used; may be repeated.",
)
@click.option(
    "--like",
    type=ADDRESS,
    metavar="STORE.zarr",
    help="Repeat the panel, the transform and the compensation of an earlier import, for files "
    "that its model is to answer for.",
)
@click.option(
    "--offsets",
    type=WordChoice(["header", "text"]),
    help="FCS: which part of a file to believe if its header and its text disagree on where the "
    "events lie.",
)
@click.option(
    "--dataset",
    type=count(0),
    default=0,
    metavar="N",
    help="FCS: which data set of a file that holds several; 0 is the first.",
)
@click.option(
    "--channels",
    type=WordChoice(["same", "common"]),
    default="same",
    show_default=True,
    help="Whether files with different features are an error, or only common ones are imported.",
)
@click.option(
    "--dtype",
    type=WordChoice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of the stored values.",
)
@click.option(
    "--codes",
    is_flag=True,
    help="Store codes of named categories: of every column of a table, of numbers too, or of the "
    "columns of names in obs of AnnData. For names beside numbers, write the codes into the table "
    "as numbers instead.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="Store sparse counts of words in documents, for topic models: .npz, Matrix Market, UCI "
    "docword, tables of document, word and count, or cells of 10x Genomics (a folder or .h5).",
)
@click.option(
    "--vocabulary",
    type=PATH,
    metavar="FILE",
    help="Of --counts: the names of the words, one a line. Of a table of document, word and count, "
    "other words are left out.",
)
@click.option(
    "--documents",
    type=WordChoice(["rows", "columns"]),
    default="rows",
    show_default=True,
    help="Of --counts: what documents are in a Matrix Market file; cells often are columns.",
)
@click.option(
    "--feature-types",
    metavar="A,B,C",
    help="Of --counts: the types of features of 10x Genomics to import, such as 'Antibody "
    "Capture'. By default all, or 'Gene Expression' alone if there are several.",
)
@click.option("--keep-raw", is_flag=True, help="Also store the values as they were measured.")
@click.option(
    "--layer", metavar="KEY", help="AnnData: the layer to import in place of X, such as counts."
)
@click.option(
    "--obsm",
    metavar="KEY",
    help="AnnData: the entry of obsm to import in place of X, such as X_pca or proteins.",
)
@click.option("--label", metavar="COLUMN", help="Tables and AnnData: the column of labels.")
@click.option("--sample-id", metavar="COLUMN", help="Tables and AnnData: the column of samples.")
@click.option(
    "--sequence",
    metavar="COLUMN",
    help="Tables and AnnData: the column that says which sequence a row is of. Rows of a sequence "
    "follow each other in the order of time.",
)
@click.option(
    "--weight",
    metavar="COLUMN",
    help="Tables and AnnData: the column of weights of rows, such as survey weights; 'bigtensor "
    "fit --weights' says what they mean.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="COLUMN",
    help="Tables, and AnnData with --codes: a column that is no feature, such as a number of rows "
    "or remarks; may be repeated.",
)
@click.option(
    "--missing-value",
    "missing_values",
    multiple=True,
    metavar="VALUE",
    help="Tables: a value of features that stands for a missing one, such as -999; may be "
    "repeated. Empty cells are missing anyway.",
)
@where_option("Import the rows that meet a condition on their transformed values.")
@overwrite_option
def import_command(
    files: tuple[Path, ...],
    out: Address,
    untransformed: tuple[str, ...],
    counts: bool,
    vocabulary: Path | None,
    documents: str,
    feature_types: str | None,
    condition: str | None,
    **options: Any,
) -> None:
    """Make a store from FCS, CSV and other files.

    A store is a folder that holds all rows, such as cells, and that the other commands read. FCS,
    CSV, Parquet and AnnData files are known; all files must be of one kind. A folder stands for the
    files in it, and if there are FCS files for these alone. A pattern in quotes stands for what
    matches it. The rows of files follow each other in the order given.

    If the store is on a disk, a file beside it (cells.views.toml for cells.zarr) lists the default
    views of a fit. Edit this file to change them. A file that exists already is kept.
    """
    refuse_file_name(
        out, "import to a store, fit a model, and write its labels with 'bigtensor export'"
    )
    panel = options["panel"]
    refuse_inputs(out, *files, *([panel] if panel else []))
    if not counts:
        refuse_options(_OF_COUNTS, "without --counts")
    else:
        refuse_options({*typed_options()} - {*_WITH_COUNTS}, "with --counts")
        types = [] if feature_types is None else names_in("--feature-types", feature_types)
        _import_counts(
            files,
            out,
            vocabulary=vocabulary,
            documents=documents,
            feature_types=types,
            overwrite=options["overwrite"],
        )
        return
    from bigtensor.data.importers.files import import_files

    try:
        with reporter() as progress, progress.rows("import") as advance:
            summary = import_files(
                files,
                out,
                untransformed=untransformed or None,
                where=condition,
                progress=advance,
                **options,
            )
    except UnreadableFilesError as error:
        show_unreadable_files(error)
    is_chosen = options["cofactor"] is options["like"] is None
    shares = "" if summary.shares is None else shares_in_words(summary.shares)
    views, seconds = _starter_views(out, summary.used, summary.left_out), seconds_taken()
    say(
        f"{shares}data       {summary.path}: {summary.rows:,} rows x {len(summary.features)} "
        f"features from {len(summary.files)} file{'s' * (len(summary.files) != 1)}, "
        f"{summary.bytes / 2**20:,.1f} MiB\n"
        f"features   {shortened(summary.used, MOST_FEATURES)}\n"
        + left_out_line(summary.left_out)
        + _transform_lines(summary, is_chosen=is_chosen)
        + _spillover_line(summary)
        + _replaced_line(summary)
        + f"{views}\n{took_in_all(seconds)}",
        _facts(summary, seconds),
    )


def _facts(summary: ImportSummary, seconds: float) -> dict[str, Any]:
    """Return what was imported, as ``--json`` prints it."""
    return {
        "data": summary.path,
        "rows": summary.rows,
        "features": summary.features,
        "used": summary.used,
        "left_out": summary.left_out,
        "files": summary.files,
        "transform": summary.transform,
        **summary.spillover,
        "warnings": summary.warnings,
        "replaced": summary.replaced,
        "bytes": summary.bytes,
        "seconds": seconds,
        **({} if summary.shares is None else shares_as_facts(summary.shares)),
    }


def _transform_lines(summary: ImportSummary, *, is_chosen: bool) -> str:
    """Return the line on the transform, and one on a cofactor that depends on the files."""
    transform = dict(summary.transform)
    name, linear = transform.pop("name"), transform.pop("untransformed")
    words = ", ".join([name, *(f"{key} {value:g}" for key, value in transform.items())])
    kept = f"; linear: {shortened(linear, MOST_FEATURES)}" if linear else ""
    chosen = f"\ncofactor   chosen for these files; for later ones, give --like {summary.path}"
    return f"transform  {words}{kept}" + chosen * (is_chosen and name == "arcsinh")


def _spillover_line(summary: ImportSummary) -> str:
    """Return a line on the spillover matrices of the files; empty if no file has one."""
    if not any(summary.spillover.values()):
        return ""
    from bigtensor.cli.descriptions.sample_info import spillover_in_words

    return f"\nspillover  {spillover_in_words(summary.spillover)}"


def _replaced_line(summary: ImportSummary) -> str:
    """Return a line on replaced codes of missing values; empty if none was named or counted."""
    if not summary.replaced:
        return ""
    counts = ", ".join(f"{value}: {count:,}" for value, count in summary.replaced.items())
    return f"\nmissing    replaced entries of features: {counts}"


def _import_counts(
    files: tuple[Path, ...],
    out: Address,
    **options: Any,
) -> None:
    """Import one file of counts, and say what was found."""
    if len(files) != 1:
        raise click.UsageError(f"--counts imports one file, and {len(files)} are given")
    from bigtensor.data.importers.counts.import_counts import import_counts
    from bigtensor.data.importers.job import sample_names

    with reporter() as progress, progress.rows("import") as advance:
        summary = import_counts(
            files[0],
            out,
            progress=advance,
            **options,
        )
    left_out = ""
    if summary.left_out:
        left_out = f"left out   {summary.left_out:,} words that are not in the vocabulary\n"
    say(
        f"data       {summary.path}: {summary.rows:,} {summary.row_name}s x {summary.words:,} "
        f"{summary.column_name}s, {summary.stored:,} counts\n{left_out}"
        f"next       bigtensor fit {summary.path} --model topic --components 10 --out topics.zarr",
        {
            "data": summary.path,
            "rows": summary.rows,
            "words": summary.words,
            "counts": summary.stored,
            "left_out": summary.left_out,
            "row_name": summary.row_name,
            "column_name": summary.column_name,
            "files": sample_names(files),
            "seconds": seconds_taken(),
        },
    )


def left_out_line(left_out: Mapping[str, Sequence[str]]) -> str:
    """Return a line on features that are not used by default, by the reasons; empty without any."""
    if not left_out:
        return ""
    listed = (f"{reason}: {shortened(names, MOST_FEATURES)}" for reason, names in left_out.items())
    return f"left out   {'; '.join(listed)}\n"


def show_unreadable_files(error: UnreadableFilesError) -> NoReturn:
    """Print a line for every file that cannot be read, and end the command."""
    context = click.get_current_context()
    for reason in error.reasons:
        complain(f"error: {one_line(written_for(context.command, reason))}")
    complain(f"error: {str(error).splitlines()[0]}; leave these files out, or repair them")
    context.exit(1)


def _starter_views(
    out: Address, features: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> str:
    """Write a file of views to begin with, and return the line that says so.

    Beside a store on an object store there is none, because it could not be edited there.
    """
    if isinstance(out, str):
        return ""
    from bigtensor.cli.starter_views import views_path, write_starter_views

    try:
        is_new = write_starter_views(out, features, left_out)
    except OSError as error:
        return f"\nviews      not written: {error.strerror}"
    about = "those of a fit without --views, to edit" if is_new else "kept from before"
    return f"\nviews      {views_path(out)}: {about}"
