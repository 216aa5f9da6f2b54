"""Labels, posteriors and the model into an AnnData file, without reading or rewriting X.

These elements are written in anndata's own encoding (its on-disk format since version 0.8), and
nothing else in the file is changed:

==============================  ==================================================================
``obs["bigtensor_label"]``      categorical: names of populations, ``"0"``, ``"1"``, ... without
                                names; missing for rows left out
``obs["bigtensor_confidence"]`` float32: the probability of the label
``obs["bigtensor_log_density"]`` float32: log-density of the row under the model
``obsm["X_bigtensor_proba"]``   (n_obs, k) float32: the probability of every label
``var["bigtensor_used"]``       bool: the features that were in a view; not of a fit to ``obsm``
``uns["bigtensor_label_colors"]`` a colour for every category, as scanpy stores it
``uns["bigtensor"]``            the model
==============================  ==================================================================

Probabilities, confidence and log-densities are written where the store of labels has them.

They are first written whole to a group inside ``obs`` that is no column, so that no reader shows
it, and then moved to their places; ``uns["bigtensor"]`` comes last and, with `overwrite`, goes
first. Answers in a file without it come from an export that was killed: export again. A Zarr folder
that lost its consolidated metadata in that way is whole without them, and slower to open.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.anndata.columns import index_name, read_column
from bigtensor.data.anndata.files import find_matrix
from bigtensor.data.anndata.stored_elements import StoredGroup
from bigtensor.data.exporters.in_place import InPlace, answer_errors, open_in_place
from bigtensor.data.exporters.label_colours import label_colours
from bigtensor.data.exporters.labels import LabelStore, open_labels
from bigtensor.data.stores.layout import anndata_matrix
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import (
    DataError,
    FileFormatError,
    OutputError,
    Setting,
)

if TYPE_CHECKING:
    import h5py
    import zarr

LABEL = "bigtensor_label"
CONFIDENCE = "bigtensor_confidence"
LOG_DENSITY = "bigtensor_log_density"
COLOURS = f"{LABEL}_colors"
PROBABILITY = "X_bigtensor_proba"
USED = "bigtensor_used"
MODEL = "bigtensor"

PARTIAL = "bigtensor.partial"
"""Group of obs that holds elements until all are written."""

_PARTIAL = f"obs/{PARTIAL}"
_PLACES = {
    f"{_PARTIAL}/probability": f"obsm/{PROBABILITY}",
    f"{_PARTIAL}/label": f"obs/{LABEL}",
    f"{_PARTIAL}/confidence": f"obs/{CONFIDENCE}",
    f"{_PARTIAL}/log_density": f"obs/{LOG_DENSITY}",
    f"{_PARTIAL}/colours": f"uns/{COLOURS}",
    f"{_PARTIAL}/used": f"var/{USED}",
    f"{_PARTIAL}/model": f"uns/{MODEL}",
}
"""Temporary and final place of every element. Elements are moved in this order."""


def write_answers_to_anndata(
    labels: str | os.PathLike[str],
    target: str | os.PathLike[str],
    model: Mapping[str, Any],
    *,
    names: Sequence[str] | None = None,
    matrix: str | None = None,
    overwrite: bool = False,
    progress: RowProgress = lambda *_: None,
) -> None:
    """Write the answers of a store of labels into an AnnData file where it lies.

    Parameters
    ----------
    labels : path
        A store of labels with one row for every observation, in the order of the file.
    target : path
        An existing ``.h5ad`` file, or a Zarr folder of AnnData, also a table of SpatialData.
    model : mapping
        What goes to ``uns``: see `bigtensor.annotation.model_record`.
    names : sequence of str, optional
        Names of the labels, by default those that are stored with them.
    matrix : str, optional
        Matrix of the file with the features of the labels, such as ``obsm/X_pca``. By default the
        matrix of the fit, which is stored with the labels.
    overwrite : bool, default False
        Replace the answers of an earlier export. HDF5 does not give their space back: ``h5repack``
        does.
    progress : callable, optional
        Called with the rows done and all rows.

    Raises
    ------
    DataError
        When the numbers of rows differ, or the file lacks features that the labels come from.
    OutputError
        When the file holds such answers already, or cannot be written.
    FileFormatError
        When the target is no AnnData file.
    """
    store, path = open_labels(labels), Path(target)
    if names is not None:
        store = replace(store, names=tuple(names))
    optional_module("anndata", "cytometry")
    with answer_errors(path, labels), open_in_place(path) as file:
        with reading(path, "AnnData"):
            used = _checked_features(path, file.group, store, matrix)
            _refuse_present(path, file.group, overwrite=overwrite)
        try:
            _write_partial(file, store, used, model, progress)
            _move_into_place(file)
        finally:
            _discard(file, _PARTIAL)
            file.finish()


def _checked_features(
    path: Path, group: StoredGroup, store: LabelStore, matrix: str | None
) -> list[bool] | None:
    """Compare rows and names, and return a mask of the features that the fit used.

    Features of an entry of ``obsm`` are no variables and have no mask.
    """
    for frame in ("obs", "var"):
        if frame not in group or "column-order" not in group[frame].attrs:
            raise FileFormatError(
                f"{path} is not AnnData that can be changed in place: it has no data frame "
                f"{frame!r}; write it again with anndata 0.8 or newer"
            )
    matrix = matrix or anndata_matrix(store.attrs) or "X"
    is_of_var = not matrix.startswith("obsm/")
    rows = _index_length(group["obs"])
    names = (
        unique_names(_index(group["var"]))
        if is_of_var
        else find_matrix(str(path), group, matrix).features
    )
    if rows != store.rows:
        raise DataError(
            f"{path} has {rows:,} observations, but {store.path} has {store.rows:,} labels; give "
            "the file that the labelled rows were imported from"
        )
    views: Mapping[str, list[str]] = store.attrs["views"]
    fit_features = {name for members in views.values() for name in members}
    missing = sorted(fit_features - set(names))
    if missing:
        raise DataError(
            f"the labels of {store.path} come from features that {path} does not have: {missing}; "
            "give the file that the labelled rows were imported from"
        )
    return [name in fit_features for name in names] if is_of_var else None


def _index(frame: StoredGroup) -> list[str]:
    """Return the index of a stored data frame."""
    return [str(name) for name in read_column(frame[index_name(frame)])]


def _index_length(frame: StoredGroup) -> int:
    """Return the length of a stored data frame; its index is read only where it has no shape."""
    index = frame[index_name(frame)]
    return int(index.shape[0]) if hasattr(index, "shape") else len(_index(frame))


def _refuse_present(path: Path, group: StoredGroup, *, overwrite: bool) -> None:
    """Raise an OutputError if the file has answers that may not be replaced."""
    present = [place for place in _PLACES.values() if place in group]
    if present and not overwrite:
        raise OutputError(
            f"{path} has {', '.join(present)} already; choose another file or give "
            + Setting("overwrite", True)
        )


def _write_partial(
    file: InPlace,
    store: LabelStore,
    used: list[bool] | None,
    model: Mapping[str, Any],
    progress: RowProgress,
) -> None:
    """Write all elements to a group that no reader shows."""
    # what a process that was killed has left
    _discard(file, _PARTIAL)
    partial = file.group.create_group(_PARTIAL)
    names = store.shown_names()
    n_labels = len(names)
    label = partial.create_group("label")
    label.attrs.update(
        {"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False}
    )
    file.write(label, "categories", np.array(names, dtype=object))
    if used is not None:
        file.write(partial, "used", np.array(used, dtype=bool))
    file.write(partial, "model", dict(model))
    for parent in ("obsm", "uns"):
        if parent not in file.group:
            file.write(file.group, parent, {})
    file.write(partial, "colours", np.array(label_colours(n_labels), dtype=object))
    codes = _array(file, "label/codes", (store.rows,), np.min_scalar_type(-max(n_labels, 1)))
    shape = None if store.components is None else (store.rows, store.components)
    probability = None if shape is None else _array(file, "probability", shape, np.dtype("float32"))
    single = ((store.rows,), np.dtype("float32"))
    confidence = None if shape is None else _array(file, "confidence", *single)
    density = _array(file, "log_density", *single) if store.has_log_density else None
    for block in store.blocks(log_densities=True):
        codes[block.start : block.stop] = block.label.astype(codes.dtype)
        if probability is not None and confidence is not None and block.probability is not None:
            probability[block.start : block.stop] = block.probability
            confidence[block.start : block.stop] = block.probability.max(axis=1)
        if density is not None and block.log_density is not None:
            density[block.start : block.stop] = block.log_density
        progress(block.stop, store.rows)


def _array(
    file: InPlace, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> h5py.Dataset | zarr.Array[Any]:
    """Create an array in anndata's encoding."""
    array = file.create(f"{_PARTIAL}/{name}", shape, dtype)
    array.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    return array


def _move_into_place(file: InPlace) -> None:
    """Replace the answers of an earlier export by the new answers."""
    file.begin_moves()
    for place in reversed(_PLACES.values()):
        _set_column(file, place, present=False)
        _discard(file, place)
    for partial, place in _PLACES.items():
        if partial in file.group:
            file.move(partial, place)
            _set_column(file, place, present=True)


def _set_column(file: InPlace, place: str, *, present: bool) -> None:
    """Add or remove a column in the column order of a data frame."""
    parent, name = place.split("/")
    if parent not in ("obs", "var"):
        return
    frame: StoredGroup = file.group[parent]
    columns = [str(column) for column in frame.attrs["column-order"] if str(column) != name]
    frame.attrs["column-order"] = columns + [name] * present


def _discard(file: InPlace, name: str) -> None:
    """Remove an element if it is there."""
    if name in file.group:
        del file.group[name]
