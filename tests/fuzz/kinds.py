"""All kinds of input, and what a user does with each."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from click.testing import CliRunner

from bigtensor.cli import main
from bigtensor.cli.options import read_by_view, read_views
from bigtensor.data import hdf5_files
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.data.exporters.labels import open_labels
from bigtensor.data.importers.files import import_files
from bigtensor.data.opening import open_samples
from bigtensor.data.views import Views
from bigtensor.models.loading import load_model
from bigtensor.models.statistics_file import read_statistics
from tests.fuzz import inputs
from tests.fuzz.binary_edits import edit_hdf5, edit_parquet
from tests.fuzz.cases import Kind
from tests.fuzz.text_edits import (
    edit_fcs_header,
    edit_fcs_keyword,
    edit_json,
    edit_table,
    edit_toml,
)

SOME_ROWS = 500

HDF5_SECONDS = 5.0
"""Time of one step of the HDF5 library, which users wait for longer on a slow disk."""


def _values(data: Any, groups: str | None = None) -> dict[str, Any]:
    """Open samples and read their first rows."""
    samples = open_samples(data, groups=groups)
    source = samples.sources[0]
    columns = source.read(0, min(samples.rows, SOME_ROWS))
    held = {"rows": samples.rows, "features": list(samples.features), **vars(columns)}
    return held if groups is None else held | {"groups": repr(samples.groups)}


def _show(path: Path) -> None:
    """Describe a file or store as ``bigtensor info`` does.

    An error of the package ends the command in one line. What a user does next ends in it again.
    """
    result = CliRunner().invoke(main, ["info", str(path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if "this was not expected" in result.output or "\x1b" in result.output:
        raise RuntimeError(f"bigtensor info printed {result.output!r}")


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
    return _values(out)


def read_fcs(path: Path, chance: random.Random) -> Any:
    """Show what a file holds and import it."""
    _show(path)
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
    _show(path)
    found = _values(path, groups="sample_id")
    _export(path, found["rows"])
    return found


def read_foreign(path: Path, chance: random.Random) -> Any:
    """Open a store that others wrote, half of the time with its patients."""
    _show(path)
    grouped = (path / "sample_id").exists()
    found = _values(path, groups="sample_id" if grouped and chance.random() < 0.5 else None)
    if grouped:
        _export(path, min(found["rows"], 10 * inputs.ROWS))
    return found


def read_model(path: Path, chance: random.Random) -> Any:
    """Load a model and label a few rows."""
    _show(path)
    model = load_model(path)
    few = inputs.frame()[:20]
    return {"label": model.predict(few), "probability": np.asarray(model.predict_proba(few))}


def read_sums(path: Path, chance: random.Random) -> Any:
    """Read statistics."""
    _show(path)
    found = read_statistics(path)
    return {"parts": [vars(part) for part in found.parts], "state": dict(found.state)}


def read_labels(path: Path, chance: random.Random) -> Any:
    """Read labels, and write them as text."""
    _show(path)
    store = open_labels(path)
    blocks = [vars(block) for block in store.blocks()]
    target = path.parent / "labels.csv"
    write_answers_to_csv(path, target)
    return {"blocks": blocks, "text": target.read_text(), "rows": store.rows}


def read_checkpoint(path: Path, chance: random.Random) -> Any:
    """Continue a fit."""
    model = inputs.mixture(path)
    return {"weights": model.weights_, "label": np.asarray(model.predict(inputs.frame()[:20]))}


def read_views_file(path: Path, chance: random.Random) -> Any:
    """Read views and kernels and find them among the features."""
    views = Views.resolve(read_views(path), inputs.FEATURES)
    return {
        "views": views.as_mapping(),
        "kernels": read_by_view("kernels", ("gaussian", "laplace", "delta"), path),
    }


KINDS = {
    kind.name: kind
    for kind in (
        Kind("fcs", inputs.make_fcs, read_fcs, edits=(edit_fcs_keyword, edit_fcs_header)),
        Kind("csv", inputs.make_csv, read_table, edits=(edit_table,)),
        Kind("parquet", inputs.make_parquet, read_table, edits=(edit_parquet,)),
        Kind("h5ad", inputs.make_h5ad, read_h5ad, edits=(edit_hdf5,)),
        Kind("anndata-zarr", inputs.make_anndata_zarr, read_table, edits=(edit_json,)),
        Kind("samples", inputs.make_samples, read_samples, checked=True, edits=(edit_json,)),
        Kind("foreign", inputs.make_foreign, read_foreign, edits=(edit_json,)),
        Kind("model", inputs.make_models, read_model, checked=True, edits=(edit_json,)),
        Kind("statistics", inputs.make_statistics, read_sums, checked=True, edits=(edit_json,)),
        Kind("labels", inputs.make_labels, read_labels, checked=True, edits=(edit_json,)),
        Kind("checkpoint", inputs.make_checkpoint, read_checkpoint, checked=True),
        Kind("views", inputs.make_views, read_views_file, edits=(edit_toml,)),
    )
}
