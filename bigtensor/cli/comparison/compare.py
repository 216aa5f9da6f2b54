"""``bigtensor compare``: which populations change between groups of samples."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    PATH,
    RUNTIME_OPTIONS,
    SAMPLES_HELP,
    WordChoice,
    adjust_option,
    groups_option,
    missing_option,
    overwrite_option,
    reference_option,
    refuse_inputs,
    refuse_options,
    runtime_options,
)
from bigtensor.cli.output import say, seconds_taken, took_in_all
from bigtensor.cli.progress import reporter
from bigtensor.cli.workers import started

if TYPE_CHECKING:
    import xarray as xr

    from bigtensor.abundance.sample_table import SampleTable
    from bigtensor.data.addresses.store_address import Address

_OF_CELLS = ("sample", "level", "missing", *RUNTIME_OPTIONS)
"""Options of the pass over the cells, which a table of shares makes unnecessary."""


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="[MODEL.zarr", required=False)
@click.argument("cells", type=DATA, metavar="CELLS.zarr]", required=False)
@click.option(
    "--metadata",
    type=PATH,
    required=True,
    metavar="SAMPLES.csv",
    help=SAMPLES_HELP,
)
@click.option(
    "--by",
    required=True,
    metavar="COLUMN",
    help="The condition to compare. A column of text gives groups. A column of numbers gives a "
    "trend, or groups with --groups or --reference.",
)
@click.option("--out", type=ADDRESS, required=True, metavar="TABLE.csv", help="The table to write.")
@click.option(
    "--sample",
    default="sample_id",
    show_default=True,
    metavar="VARIABLE",
    help="Variable of the rows that names the sample.",
)
@click.option(
    "--table",
    type=PATH,
    metavar="FILE.csv",
    help="In place of MODEL.zarr and CELLS.zarr: the table that 'bigtensor predict --by' wrote.",
)
@adjust_option
@groups_option
@reference_option
@click.option(
    "--level",
    type=WordChoice(["population", "component"]),
    help="Compare populations, if the model has any, or the components that they are made of.",
)
@click.option(
    "--shares",
    type=ADDRESS,
    metavar="FILE.csv",
    help="Also write shares of every sample with standard errors, and estimated counts.",
)
@click.option(
    "--anndata",
    type=ADDRESS,
    metavar="FILE.h5ad",
    help="Also write counts of every sample as pertpy takes them.",
)
@click.option(
    "--diffcyt",
    type=PATH,
    metavar="FOLDER",
    help="Also write counts.csv and experiment_info.csv for diffcyt.",
)
@runtime_options
@missing_option
@overwrite_option
def compare(
    model_path: Address | None,
    cells: str | None,
    metadata: Path,
    by: str,
    out: Address,
    sample: str,
    table: Path | None,
    adjust: tuple[str, ...],
    groups: tuple[str, ...],
    reference: str | None,
    level: str | None,
    shares: Address | None,
    anndata: Address | None,
    diffcyt: Path | None,
    where: dict[str, Any],
    missing: str | None,
    overwrite: bool,
) -> None:
    """Find the populations whose shares change between groups of samples, or with a number.

    Every sample counts once, however many cells it has. TABLE.csv has the odds ratio of every
    population with its confidence interval, p value and false discovery rate.

    Shares of a sample sum to one: if one population grows, the others shrink. Look first at the
    populations whose odds ratios are far from 1, and compare cells per volume if they were counted.
    """
    _check_source(model_path, cells, table)
    outputs = [path for path in (out, shares, anndata) if path is not None]
    outputs += _diffcyt_files(diffcyt)
    _refuse_replaced(outputs, (metadata, model_path, table, cells))
    _check_outputs(outputs, diffcyt, overwrite=overwrite)
    when_interrupted(outputs)
    from bigtensor.abundance.differential import check_columns, differential_abundance
    from bigtensor.abundance.sample_weights import sample_weights
    from bigtensor.cli.comparison import files
    from bigtensor.cli.comparison.words import comparison_facts, comparison_in_words

    # mistakes in columns end the command before the passes over the cells
    check_columns(by, adjust, groups)
    samples = _samples(metadata, (by, *adjust, *groups))
    if table is None:
        _refuse_other_samples(str(cells), sample, samples)
    source = table or _weights(str(model_path), str(cells), sample, level, missing, where)
    weights = sample_weights(source)
    result = differential_abundance(
        weights, samples, by, adjust=adjust, groups=groups, reference=reference
    )
    files.write_comparison(result, out)
    if shares is not None:
        files.write_shares(weights, samples, shares)
    if anndata is not None:
        files.write_counts(weights, samples, anndata)
    if diffcyt is not None:
        files.write_diffcyt(weights, samples, diffcyt)
    written = [f"table      {path}" for path in outputs]
    unused = samples.unused(weights.samples)
    seconds = seconds_taken()
    facts = comparison_facts(result) | {"table": out, "outputs": outputs, "unused_rows": unused}
    note = [f"unused     {len(unused)} rows of {metadata} are no samples of the data"]
    notes = [*(note if unused else []), *(_renamed(samples) if anndata is not None else [])]
    lines = [*written, *notes, took_in_all(seconds), comparison_in_words(result)]
    say("\n".join(lines), facts | {"seconds": seconds})


def _check_source(model_path: Address | None, cells: str | None, table: Path | None) -> None:
    """Raise a UsageError unless either a model with cells or a table of weights is given."""
    if table is None and (model_path is None or cells is None):
        raise click.UsageError(
            "give MODEL.zarr and CELLS.zarr, or --table with the table of 'bigtensor predict --by'"
        )
    if table is not None and model_path is not None:
        raise click.UsageError("--table takes the place of MODEL.zarr and CELLS.zarr; give one")
    if table is not None:
        refuse_options(_OF_CELLS, "with --table")


def _diffcyt_files(folder: Path | None) -> list[Address]:
    """Return the files for diffcyt."""
    from bigtensor.cli.comparison.files import COUNTS, EXPERIMENT_INFO

    return [] if folder is None else [folder / COUNTS, folder / EXPERIMENT_INFO]


def _refuse_replaced(outputs: list[Address], inputs: Iterable[Address | None]) -> None:
    """Raise a UsageError for an output that would replace an input or another output."""
    from bigtensor.data.addresses.same_place import would_replace

    for path in outputs:
        refuse_inputs(path, *(source for source in inputs if source is not None))
    for first, second in combinations(outputs, 2):
        if would_replace(first, second) or would_replace(second, first):
            raise click.UsageError(
                f"two outputs have the same name, {first} and {second}; give each its own"
            )


def _check_outputs(outputs: Iterable[Address], diffcyt: Path | None, *, overwrite: bool) -> None:
    """Raise an OutputError for a file that could not be written."""
    from bigtensor.data.stores.outputs import check_folder, check_target_file
    from bigtensor.errors import OutputError

    # the folder for diffcyt is made later, in the first folder above it that exists
    made_later = diffcyt is not None and not diffcyt.is_dir()
    files = _diffcyt_files(diffcyt) if made_later else []
    for path in outputs:
        if path not in files:
            check_target_file(path, overwrite=overwrite)
    if diffcyt is None:
        return
    folder = next(path for path in (diffcyt, *diffcyt.absolute().parents) if path.exists())
    if not folder.is_dir():
        raise OutputError(
            f"{folder} is a file, and --diffcyt needs a folder; give the name of another folder"
        )
    check_folder(folder)


def _renamed(samples: SampleTable) -> list[str]:
    """Return a line for every column that has another name in the AnnData file."""
    from bigtensor.abundance.exports import obs_columns

    return [
        f"renamed    the column {name!r} is {other!r} in the AnnData file, where {name!r} is taken "
        "or not allowed"
        for name, other in obs_columns(samples).items()
        if name != other
    ]


def _samples(metadata: Path, columns: Iterable[str]) -> SampleTable:
    """Return the table of samples after looking for columns."""
    from bigtensor.abundance.sample_table import sample_table

    samples = sample_table(metadata)
    for column in columns:
        samples.column(column)
    return samples


def _refuse_other_samples(cells: str, variable: str, samples: SampleTable) -> None:
    """Raise a DataError if a table names none of the samples of a store."""
    from bigtensor.data.importers.sample_columns import names_of_samples
    from bigtensor.errors import BigtensorError

    try:
        names = names_of_samples(cells, variable)
    except BigtensorError:
        # the pass over the cells says what is wrong
        return
    if len(samples.unused(names)) == len(samples.names):
        samples.matched(names)


def _weights(
    model_path: str,
    cells: str,
    sample: str,
    level: str | None,
    missing: str | None,
    where: dict[str, Any],
) -> xr.Dataset:
    """Return the weights of every sample under a fitted model."""
    from bigtensor.models.contract.model_files import load_model

    model: Any = load_model(model_path)
    if not hasattr(model, "weights_by"):
        raise click.UsageError(
            f"{type(model).__name__} has no populations whose shares could be compared; give a "
            "model of populations, such as a KernelMixture"
        )
    if missing is not None:
        model.set_params(missing=missing)
    options = {} if level is None else {"level": level}
    with reporter() as progress, started(where) as running:
        table: xr.Dataset = model.weights_by(
            cells, sample, listeners=[progress.listen], **options, **running
        )
    return table
