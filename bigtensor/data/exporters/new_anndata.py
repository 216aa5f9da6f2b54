"""An AnnData file made of a store of samples, row block by row block.

``X`` holds the markers as they were fitted, ``var`` their further names, and ``obs`` the variables
along the samples and the other features, such as scatter and time. Codes with names become
categories, and dates become text. ``uns["bigtensor_data"]`` says how the values were transformed.
Names of observations are those of the sample and the number of the row in it, such as
``Activation_1-0`` for the first event of a file, so that they stay unique when files are
concatenated. Selected rows have ``source_row`` as their number.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.addresses.store_address import as_address, name_of
from bigtensor.data.exporters.anndata import (
    CONFIDENCE,
    LABEL,
    LOG_DENSITY,
    PARTIAL,
    USED,
    write_answers_to_anndata,
)
from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.exporters.in_place import answer_errors
from bigtensor.data.exporters.labels import LabelStore, open_labels
from bigtensor.data.exporters.row_texts import is_number, row_texts
from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM, SAMPLES, SOURCE_ROW
from bigtensor.data.stores.outputs import check_room, check_target_file, whole_file
from bigtensor.data.stores.zarr_datasets import open_cells
from bigtensor.data.values.import_record import (
    COMPENSATION,
    EARLIER_IMPORT,
    TRANSFORM,
    UNCOMPENSATED,
)
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.unique_names import ANNDATA_INDEX, anndata_column_names
from bigtensor.errors import DataError, ParameterError

if TYPE_CHECKING:
    import h5py

_BLOCK_ROWS = 65_536
"""Rows that are copied at once."""

_ANSWERS = (LABEL, CONFIDENCE, LOG_DENSITY, PARTIAL)
"""Names in obs that the answers have."""

_RECORDS = (TRANSFORM, COMPENSATION, UNCOMPENSATED, "source_files")
_ENCODINGS = {
    "frame": ("dataframe", "0.2.0"),
    "categories": ("categorical", "0.2.0"),
    "array": ("array", "0.2.0"),
    "strings": ("string-array", "0.2.0"),
}


def write_new_anndata(
    labels: str | os.PathLike[str],
    cells: str | os.PathLike[str],
    target: str | os.PathLike[str],
    model: Mapping[str, Any],
    *,
    names: Sequence[str] | None = None,
    overwrite: bool = False,
    progress: RowProgress = lambda *_: None,
) -> None:
    """Write the rows of a store and their answers to a new ``.h5ad`` file.

    Parameters
    ----------
    labels : path
        A store of labels of all rows of `cells`.
    cells : path
        A store in this package's layout, as an import makes it.
    target : path or URL
        The file to make; it appears under its name when it is whole.
    model : mapping
        See :func:`~bigtensor.data.exporters.anndata.write_answers_to_anndata`.
    names : sequence of str, optional
        Names of the labels, by default those that are stored with them.
    overwrite : bool, default False
        Replace a file of this name.
    progress : callable, optional
        Called with the rows done and all rows.

    Raises
    ------
    LayoutError
        When `cells` is no such store.
    StoreReadError, DataError
        When a store cannot be read, or the labels are those of other rows.
    ParameterError
        When `target` does not end in ``.h5ad``.
    OutputError
        When the file exists or cannot be written.
    """
    path = as_address(target)
    if not name_of(path).lower().endswith(".h5ad"):
        raise ParameterError(f"a new AnnData file ends in .h5ad, which {path} does not")
    check_target_file(path, overwrite=overwrite)
    dataset, store = open_cells(cells), open_labels(labels)
    if dataset.sizes[SAMPLE_DIM] != store.rows:
        raise DataError(
            f"{cells} has {dataset.sizes[SAMPLE_DIM]:,} rows, but there are {store.rows:,} labels; "
            "give the store that was labelled"
        )
    warn_of_other_rows(store.attrs, cells)
    values = dataset["X"]
    check_room(path, values.size * values.dtype.itemsize)
    with answer_errors(path, labels), whole_file(path) as partial:
        with optional_module("h5py", "cytometry").File(partial, "w") as file:
            _write_cells(file, dataset, _markers(cells, dataset, store), progress)
        write_answers_to_anndata(labels, partial, model, names=names, matrix="X")


def _markers(
    cells: str | os.PathLike[str], dataset: xr.Dataset, labels: LabelStore
) -> NDArray[np.bool_]:
    """Return a mask of the default features of a fit and the features of the labels."""
    views: Mapping[str, list[str]] = labels.attrs["views"]
    names = {*open_samples(cells).views.feature_names}.union(*views.values())
    return np.array([str(name) in names for name in dataset[FEATURE_DIM].to_numpy()], np.bool_)


def _write_cells(
    file: h5py.File, dataset: xr.Dataset, markers: NDArray[np.bool_], progress: RowProgress
) -> None:
    """Write X, obs and var without the answers, in anndata's encoding."""
    write_elem = optional_module("anndata.io", "cytometry").write_elem
    file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
        write_elem(file, name, {})
    records = {name: json.dumps(dataset.attrs[name]) for name in _RECORDS if name in dataset.attrs}
    write_elem(file["uns"], EARLIER_IMPORT, records)
    _write_features(file, dataset.isel({FEATURE_DIM: markers}))
    rows, store = dataset.sizes[SAMPLE_DIM], dataset.encoding.get("source")
    values = _array(file, "X", (rows, int(markers.sum())), dataset["X"].dtype)
    columns = {
        str(name): variable
        for name, variable in dataset.variables.items()
        if variable.dims == (SAMPLE_DIM,)
    }
    obs = file.create_group("obs")
    _encode(obs, "frame")
    features = map(str, dataset[FEATURE_DIM].to_numpy()[~markers])
    names = anndata_column_names([*columns, *features], _ANSWERS)
    obs.attrs.update({"_index": ANNDATA_INDEX, "column-order": names})
    index, others = _strings(obs, ANNDATA_INDEX, rows), names[len(columns) :]
    arrays = {
        name: _column(obs, column, columns[name])
        for name, column in zip(columns, names, strict=False)
    }
    further = [_array(obs, name, (rows,), dataset["X"].dtype) for name in others]
    row_names = _ObservationNames(dataset)
    for start in range(0, rows, _BLOCK_ROWS):
        part = slice(start, min(start + _BLOCK_ROWS, rows))
        block = read_variable(dataset["X"][part], f"'X' of {store}")
        values[part] = block[:, markers]
        for array, column in zip(further, block[:, ~markers].T, strict=True):
            array[part] = column
        index[part] = row_names.of_rows(part)
        for name, array in arrays.items():
            entries = read_variable(columns[name][part], f"{name!r} of {store}")
            array[part] = entries if is_number(entries.dtype) else row_texts(entries)
        progress(part.stop, rows)


class _ObservationNames:
    """Names of the rows of a store, block by block: the sample, and the number of the row in it.

    Rows that were selected from others have the number ``source_row``. Rows without a sample have
    the number of the row in the store.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset
        self._store = dataset.encoding.get("source")
        self._counts = Counter[str]()

    def of_rows(self, rows: slice) -> list[str]:
        """Return the names of the next rows."""
        samples = self._samples(rows)
        if SOURCE_ROW in self._dataset:
            numbers = self._read(SOURCE_ROW, rows).tolist()
        else:
            numbers = [
                self._next_in(sample) if sample else row
                for row, sample in enumerate(samples, rows.start)
            ]
        return [
            f"{sample}-{number}" if sample else str(number)
            for sample, number in zip(samples, numbers, strict=True)
        ]

    def _next_in(self, sample: str) -> int:
        """Return the number of the next row of a sample."""
        number = self._counts[sample]
        self._counts[sample] += 1
        return number

    def _samples(self, rows: slice) -> list[str]:
        """Return the name of the sample of every row, empty for none."""
        samples = self._dataset.get(SAMPLES)
        names = None if samples is None else samples.attrs.get("categories")
        if samples is None or (names is None and is_number(samples.dtype)):
            return [""] * (rows.stop - rows.start)
        codes = self._read(SAMPLES, rows)
        if names is None:
            return row_texts(codes)
        return [str(names[code]) if 0 <= code < len(names) else "" for code in codes.tolist()]

    def _read(self, name: str, rows: slice) -> NDArray[Any]:
        """Return a variable of some rows."""
        return read_variable(self._dataset[name][rows], f"{name!r} of {self._store}")


def _write_features(file: h5py.File, dataset: xr.Dataset) -> None:
    """Write the names of the features and their alternative names."""
    var = file.create_group("var")
    _encode(var, "frame")
    coordinates = [
        str(name)
        for name, variable in dataset.variables.items()
        if variable.dims == (FEATURE_DIM,) and name != FEATURE_DIM
    ]
    names = anndata_column_names(coordinates, [USED])
    var.attrs.update({"_index": ANNDATA_INDEX, "column-order": names})
    sources = [FEATURE_DIM, *coordinates]
    for name, source in zip([ANNDATA_INDEX, *names], sources, strict=True):
        values = read_variable(dataset[source], f"{source!r} of {dataset.encoding.get('source')}")
        texts = [str(value) for value in values]
        _strings(var, name, len(texts))[:] = texts


def _column(obs: h5py.Group, name: str, variable: xr.Variable) -> h5py.Dataset:
    """Create a column of obs, and return the array of its values or codes."""
    categories = variable.attrs.get("categories")
    if categories is None and not is_number(variable.dtype):
        return _strings(obs, name, variable.size)
    if categories is None:
        return _array(obs, name, variable.shape, variable.dtype)
    column = obs.create_group(name)
    _encode(column, "categories")
    column.attrs["ordered"] = False
    _strings(column, "categories", len(categories))[:] = [str(entry) for entry in categories]
    return _array(column, "codes", variable.shape, variable.dtype)


def _array(
    parent: h5py.Group, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> h5py.Dataset:
    """Create an array of numbers."""
    array = parent.create_dataset(name, shape=shape, dtype=dtype)
    _encode(array, "array")
    return array


def _strings(parent: h5py.Group, name: str, length: int) -> h5py.Dataset:
    """Create an array of strings."""
    text = optional_module("h5py", "cytometry").string_dtype()
    array = parent.create_dataset(name, shape=(length,), dtype=text)
    _encode(array, "strings")
    return array


def _encode(element: h5py.Group | h5py.Dataset, kind: str) -> None:
    """Set the encoding type and version that anndata reads an element by."""
    element.attrs["encoding-type"], element.attrs["encoding-version"] = _ENCODINGS[kind]
