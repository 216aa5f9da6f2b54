"""All kinds of input, and what a user does with each."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from bigtensor.cli.options import read_by_view, read_views
from bigtensor.data.anndata import hdf5_files
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.data.exporters.labels import open_labels
from bigtensor.data.importers.files import import_files
from bigtensor.data.rows.views import Views
from tests.fuzz import counts, families, inputs
from tests.fuzz.binary_edits import edit_hdf5, edit_parquet
from tests.fuzz.cases import Kind, Read
from tests.fuzz.steps import show, values
from tests.fuzz.text_edits import (
    edit_fcs_header,
    edit_fcs_keyword,
    edit_json,
    edit_table,
    edit_toml,
)

HDF5_SECONDS = 5.0
"""Time of one step of the HDF5 library, which users wait for longer on a slow disk."""


def _export(cells: Path, rows: int) -> None:
    """Write labels as text with the values beside them."""
    labels = cells.parent / "labels.zarr"
    group = zarr.create_group(labels, attributes={"model": "KernelMixture"})
    group.create_array("label", data=np.zeros(rows, "i4"))
    write_answers_to_csv(labels, cells.parent / "cells.csv", cells=cells, features=["CD3"])


def _imported(path: Path, **options: Any) -> dict[str, Any]:
    """Import a file and read the store."""
    out = path.parent / "imported.zarr"
    import_files([path], out, **options)
    return values(out)


def read_fcs(path: Path, chance: random.Random) -> Any:
    """Show what a file holds and import it."""
    show(path)
    options = {
        "compensate": chance.random() < 0.5,
        "transform": chance.choice(("arcsinh", "logicle", "none")),
        "keep_raw": chance.random() < 0.2,
        "offsets": chance.choice((None, "header")),
    }
    return _imported(path, **options)


def read_table(path: Path, chance: random.Random) -> Any:
    """Import a table or AnnData, half of the time with a label."""
    label = chance.choice((None, "kind"))
    return _imported(path, label=label, dtype=chance.choice(("float32", "float64")))


def read_h5ad(path: Path, chance: random.Random) -> Any:
    """Import AnnData, which the HDF5 library has to read in less time than a case has."""
    hdf5_files.SECONDS_A_STEP = HDF5_SECONDS
    return read_table(path, chance)


def read_samples(path: Path, chance: random.Random) -> Any:
    """Open a store of our layout with its patients."""
    show(path)
    found = values(path, groups="sample_id")
    _export(path, found["rows"])
    return found


def read_foreign(path: Path, chance: random.Random) -> Any:
    """Open a store that others wrote, half of the time with its patients."""
    show(path)
    grouped = (path / "sample_id").exists()
    found = values(path, groups="sample_id" if grouped and chance.random() < 0.5 else None)
    if grouped:
        _export(path, min(found["rows"], 10 * inputs.ROWS))
    return found


def read_labels(path: Path, chance: random.Random) -> Any:
    """Read labels, and write them as text."""
    show(path)
    store = open_labels(path)
    blocks = [vars(block) for block in store.blocks()]
    target = path.parent / "labels.csv"
    write_answers_to_csv(path, target)
    return {"blocks": blocks, "text": target.read_text(), "rows": store.rows}


def read_views_file(path: Path, chance: random.Random) -> Any:
    """Read views and kernels and find them among the features."""
    views = Views.resolve(read_views(path), inputs.FEATURES)
    return {
        "views": views.as_mapping(),
        "kernel": read_by_view("kernels", ("gaussian", "laplace", "delta"), path),
    }


def _stored(name: str, make: Callable[[Path], None], read: Read) -> Kind:
    """Return a kind of stores that the package writes: with checksums, and documents in JSON."""
    return Kind(name, make, read, checked=True, edits=(edit_json,))


CORPUS_EDITS = (counts.edit_triplets, counts.edit_triplets, counts.edit_vocabulary)
LONG_EDITS = (edit_table, edit_parquet)

KINDS = {
    kind.name: kind
    for kind in (
        Kind("fcs", inputs.make_fcs, read_fcs, edits=(edit_fcs_keyword, edit_fcs_header)),
        Kind("csv", inputs.make_csv, read_table, edits=(edit_table,)),
        Kind("parquet", inputs.make_parquet, read_table, edits=(edit_parquet,)),
        Kind("h5ad", inputs.make_h5ad, read_h5ad, edits=(edit_hdf5,)),
        Kind("anndata-zarr", inputs.make_anndata_zarr, read_table, edits=(edit_json,)),
        _stored("samples", inputs.make_samples, read_samples),
        Kind("foreign", inputs.make_foreign, read_foreign, edits=(edit_json,)),
        _stored("model", families.make_models, families.read_model),
        _stored("prepared", families.make_prepared, families.read_prepared),
        _stored("statistics", families.make_statistics, families.read_sums),
        _stored("labels", inputs.make_labels, read_labels),
        Kind("checkpoint", families.make_checkpoints, families.read_checkpoint, checked=True),
        Kind("views", inputs.make_views, read_views_file, edits=(edit_toml,)),
        Kind("docword", counts.make_docword, counts.read_corpus, edits=CORPUS_EDITS),
        Kind("market", counts.make_market, counts.read_corpus, edits=CORPUS_EDITS),
        Kind("npz", counts.make_npz, counts.read_counts, edits=(counts.edit_npz,)),
        Kind("long-table", counts.make_long_tables, counts.read_counts, edits=LONG_EDITS),
    )
}
