"""``bigtensor export``: answers into the kind of file that the cells came from."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.options import ADDRESS, PATH, WordChoice, names_in, overwrite_option
from bigtensor.cli.output import printable, say, seconds_taken, took_in_all
from bigtensor.cli.progress import reporter

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address
    from bigtensor.data.values.row_progress import RowProgress

_ANNDATA = (".h5ad", ".zarr")


@click.command(cls=Command)
@click.argument("labels", type=ADDRESS, metavar="ANSWERS.zarr")
@click.argument("files", type=PATH, nargs=-1, metavar="[FILE.fcs]...")
@click.option(
    "--to",
    "target",
    type=ADDRESS,
    required=True,
    metavar="TARGET",
    help="A file .csv to make, an AnnData file .h5ad or .zarr to write into, a file .h5ad to make "
    "(with --cells), or a folder for copies of the FCS files.",
)
@click.option(
    "--model",
    "model_path",
    type=ADDRESS,
    metavar="MODEL.zarr",
    help="AnnData: the model that made the labels, which is kept with them.",
)
@click.option(
    "--cells",
    type=ADDRESS,
    metavar="CELLS.zarr",
    help="The store that was asked about. FCS: as it was imported from the files; a new .h5ad: as "
    "bigtensor wrote it.",
)
@click.option(
    "--features",
    metavar="A,B,C",
    help="CSV: the features of --cells, and variables of its rows such as an id, to write beside "
    "source_row, sample_id, sequence and the answers. Not of AnnData.",
)
@click.option(
    "--offsets",
    type=WordChoice(["header", "text"]),
    help="FCS: as for the import.",
)
@overwrite_option
def export(
    labels: Address,
    files: tuple[Path, ...],
    target: Address,
    model_path: Address | None,
    cells: Address | None,
    features: str | None,
    offsets: Literal["header", "text"] | None,
    overwrite: bool,
) -> None:
    """Write any answers to CSV, or labels and their probabilities to AnnData or FCS files.

    CSV: columns row, label, probability_0, topic_share_0, log_density and so on. row counts the
    rows of the answers from 0. With --cells, source_row is the row of the imported files, where
    rows were selected, sample_id the file or patient, and sequence the sequence of the row; of
    AnnData, obs_names names the rows.

    AnnData: obs["bigtensor_label"] with its colours for scanpy, and after 'predict --probabilities'
    obs["bigtensor_confidence"], obs["bigtensor_log_density"] and obsm["X_bigtensor_proba"] are
    written into the file where it lies; X is neither read nor written. With --cells a new file
    .h5ad is made of the rows of the store: markers in X, and sample_id and scatter in obs.

    FCS: every file is copied with the channels bigtensor_label (population; -1 for events left out;
    in integer data population + 1 and 0), bigtensor_proba_0, bigtensor_proba_1 and so on.
    """
    kind = _kind(target, files)
    _check_options(kind, model_path=model_path, cells=cells, features=features, offsets=offsets)
    if features is not None and cells is None:
        raise click.UsageError("--features are those of a store; give it with --cells")
    renamed: dict[str, str] = {}
    with reporter() as progress, progress.rows("export") as advance:
        if kind == "csv":
            when_interrupted([target])
            renamed = _to_csv(labels, target, cells, features, overwrite, advance)
        elif kind == "anndata":
            assert model_path is not None
            when_interrupted([], f"{target} has no answers, or those it had")
            _to_anndata(labels, target, model_path, cells, overwrite, advance)
        else:
            assert cells is not None
            folder = Path(target)
            when_interrupted([folder / path.name for path in files])
            _to_fcs(labels, files, folder, cells, offsets, overwrite, advance)
    count = f" ({len(files)} FCS file{'s' * (len(files) != 1)})" if files else ""
    notes = [
        f"renamed    {feature!r} is the column {column!r}, because another column is {feature!r}"
        for feature, column in renamed.items()
    ]
    seconds = seconds_taken()
    say(
        "\n".join([f"exported   {labels} to {target}{count}", *notes, took_in_all(seconds)]),
        {
            "answers": labels,
            "target": target,
            "kind": kind,
            "files": files,
            "seconds": seconds,
        },
    )


def _kind(target: Address, files: tuple[Path, ...]) -> str:
    """Return what the target is to be, or end with a usage error."""
    from bigtensor.data.addresses.store_address import name_of

    shown = printable(str(target))
    ending = PurePath(name_of(target)).suffix.lower()
    kind = "anndata" if ending in _ANNDATA else {".csv": "csv"}.get(ending, "fcs")
    if kind == "fcs" and not files:
        raise click.UsageError(
            f"--to {shown} ends neither in .csv nor in {' or '.join(_ANNDATA)}; for a folder of "
            "FCS files name the files that were imported"
        )
    if kind != "fcs" and files:
        raise click.UsageError(f"FCS files are copied to a folder, but --to is {shown}")
    if kind == "fcs" and isinstance(target, str):
        raise click.UsageError(
            f"FCS files are copied to a folder on a disk, but --to is the URL {shown}; give a "
            "folder, and upload its files afterwards"
        )
    return kind


def _check_options(kind: str, **options: object) -> None:
    """End with a usage error when an option is missing, or is one of another kind."""
    needed = {"anndata": ["model_path"], "fcs": ["cells"], "csv": []}[kind]
    further = {"anndata": ["cells"], "fcs": ["offsets"], "csv": ["cells", "features"]}[kind]
    allowed = {*needed, *further}
    for name, value in options.items():
        option = f"--{name.removesuffix('_path')}"
        if name in needed and value is None:
            raise click.UsageError(f"an export to {kind} files needs {option}")
        if name not in allowed and value is not None:
            raise click.UsageError(f"{option} has no meaning for an export to {kind} files")


def _to_csv(
    labels: Address,
    target: Address,
    cells: Address | None,
    features: str | None,
    overwrite: bool,
    progress: RowProgress,
) -> dict[str, str]:
    """Make a CSV file, and return columns that have another name than their feature or variable."""
    from bigtensor.data.exporters.csv import write_answers_to_csv
    from bigtensor.data.stores.outputs import check_target_file

    check_target_file(target, overwrite=overwrite)
    names = [] if features is None else names_in("--features", features)
    return write_answers_to_csv(labels, target, cells=cells, features=names, progress=progress)


def _to_anndata(
    labels: Address,
    target: Address,
    model_path: Address,
    cells: Address | None,
    overwrite: bool,
    progress: RowProgress,
) -> None:
    """Write into an AnnData file or make one, after looking whether the labels are the model's."""
    from bigtensor.annotation import model_record
    from bigtensor.data.exporters.anndata import write_answers_to_anndata
    from bigtensor.data.exporters.new_anndata import write_new_anndata
    from bigtensor.errors import OutputError
    from bigtensor.models.contract.model_files import load_model

    model = load_model(model_path)
    _require_labels_of(model, model_path, labels)
    # the features of the store are X of a new file
    record = model_record(model.to_contents(), None if cells is None else "X")
    # a model may have been named after its labels were predicted
    names = getattr(model, "population_names_", None)
    if cells is not None:
        write_new_anndata(
            labels, cells, target, record, names=names, overwrite=overwrite, progress=progress
        )
        return
    if isinstance(target, str):
        raise OutputError(
            f"answers cannot be added to {target}, because it is a URL; give a file on a disk, or "
            "give the store that was labelled (--cells) to make a new file"
        )
    if not target.exists():
        raise OutputError(
            f"{target} does not exist; to make it, give the store that was labelled (--cells)"
        )
    write_answers_to_anndata(
        labels, target, record, names=names, overwrite=overwrite, progress=progress
    )


def _require_labels_of(model: Any, model_path: Address, labels: Address) -> None:
    """Refuse labels of another model, or of other populations."""
    from bigtensor.data.exporters.labels import open_labels
    from bigtensor.errors import DataError
    from bigtensor.models.answers.mixture import MixtureAnswers
    from bigtensor.models.contract.parameters import plain

    store = open_labels(labels)
    views = {name: list(members) for name, members in model.views_.as_mapping().items()}
    model_identity = (
        type(model).__name__,
        views,
        _without_missing(plain(model.get_params(deep=False))),
    )
    made_by = store.attrs
    if (
        made_by["model"],
        made_by["views"],
        _without_missing(made_by["parameters"]),
    ) != model_identity:
        raise DataError(
            f"{labels} was not made by {model_path}: its views or its parameters are others; give "
            "the model that 'bigtensor predict' was given"
        )
    model.require_own_fit(made_by)
    if isinstance(model, MixtureAnswers):
        model.require_own_labels(store.label_attrs)


def _without_missing(parameters: dict[str, Any]) -> dict[str, Any]:
    """Leave out the parameter that may be set anew for every answer."""
    return {name: value for name, value in parameters.items() if name != "missing"}


def _to_fcs(
    labels: Address,
    files: tuple[Path, ...],
    folder: Path,
    cells: Address,
    offsets: Literal["header", "text"] | None,
    overwrite: bool,
    progress: RowProgress,
) -> None:
    """Make copies of FCS files."""
    from bigtensor.data.exporters.fcs import write_answers_to_fcs

    write_answers_to_fcs(
        labels,
        files,
        folder,
        cells=cells,
        offsets=offsets,
        overwrite=overwrite,
        progress=progress,
    )
