"""AnnData files (``.h5ad`` and ``.zarr``), read by row blocks without ever holding all of X."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.anndata.columns import column_length, index_of, read_column
from bigtensor.data.anndata.files import element_name, find_matrix
from bigtensor.data.anndata.hdf5_files import open_hdf5
from bigtensor.data.anndata.stored_elements import (
    ColumnValues,
    StoredElement,
    StoredGroup,
)
from bigtensor.data.importers.source import (
    ImportBlock,
    ImportSource,
    excluded_columns,
    warn_of_notes,
)
from bigtensor.data.stores.layout import MATRIX
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.data.values.import_record import (
    COMPENSATION,
    EARLIER_IMPORT,
    TRANSFORM,
    UNCOMPENSATED,
)
from bigtensor.data.values.sparse_matrices import check_csr, with_summed_duplicates
from bigtensor.errors import DataError, FileFormatError, StoreReadError

if TYPE_CHECKING:
    from anndata.abc import CSRDataset
    from scipy.sparse import csr_matrix


def open_anndata(
    path: str | os.PathLike[str],
    *,
    layer: str | None = None,
    obsm: str | None = None,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    weight: str | None = None,
) -> ImportSource:
    """Open a matrix of an AnnData file for import.

    Parameters
    ----------
    path : str or path-like
        A ``.h5ad`` file or a Zarr store of AnnData. The matrix is dense, sparse in rows (CSR), or a
        data frame.
    layer, obsm : str, optional
        Key of a layer, or of ``obsm``, to read in place of X.
    label, sample_id, sequence, weight : str, optional
        Columns of ``obs`` to keep beside the features.

    Returns
    -------
    ImportSource
        Features are named by ``var_names``, or as `bigtensor.open_samples` names those of ``obsm``.

    Raises
    ------
    DataError
        If there is no such matrix or column, or the matrix cannot be read by rows.
    FileFormatError
        If the file is damaged, or no AnnData.
    ParameterError
        If both `layer` and `obsm` are given.
    """
    optional_module("anndata", "cytometry")
    path, element = Path(path), element_name(layer, obsm)
    with reading(path, "AnnData"), _open_group(path) as group:
        _check_is_anndata(path, group)
        matrix = find_matrix(str(path), group, element)
        rows, names = matrix.rows, matrix.features
        own_names = names if obsm is not None else map(str, read_column(index_of(group["var"])))
        kept = {"label": label, "sample_id": sample_id, "sequence": sequence, "weight": weight}
        variables = {
            key: _objects(obs_column(path, group["obs"], column, rows))
            for key, column in kept.items()
            if column is not None
        }

        earlier = _earlier_import(group) if element == "X" else {}
        channels = _channels(group, len(names)) if earlier else {}

    is_numbered = names != tuple(name.strip(" ") for name in own_names)
    notes = ("repeated var_names were numbered",) if is_numbered else ()
    warn_of_notes(path, notes)

    def blocks(rows_per_block: int) -> Iterator[ImportBlock]:
        with reading(path, "AnnData"), _open_group(path) as group:
            sparse: CSRDataset | None = None
            if matrix.kind == "csr":
                sparse = optional_module("anndata.io", "cytometry").sparse_dataset(group[element])
            for first in range(0, rows, rows_per_block):
                part = slice(first, min(first + rows_per_block, rows))
                values = _dense(
                    matrix.read(group.__getitem__, part.start, part.stop)
                    if sparse is None
                    else sparse[part]
                )
                yield ImportBlock(values, values, {k: v[part] for k, v in variables.items()})

    attrs = {MATRIX: element, **earlier}
    return ImportSource(path, names, blocks, rows, coordinates=channels, notes=notes, attrs=attrs)


def open_obs(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    weight: str | None = None,
    exclude: Collection[str] = (),
) -> ImportSource:
    """Open the annotation of observations in an AnnData file for import as codes.

    Parameters
    ----------
    path : str or path-like
        A ``.h5ad`` file or a Zarr store of AnnData. X is not read.
    label, sample_id, sequence, weight : str, optional
        Columns of ``obs`` to keep beside the features.
    exclude : collection of str, default ()
        Columns of ``obs`` that are no features.

    Returns
    -------
    ImportSource
        The categorical, string and boolean columns of ``obs``, which are read whole.

    Raises
    ------
    DataError
        If a column named here does not exist, or there are no features.
    FileFormatError
        If the file is damaged, or no AnnData.
    """
    optional_module("anndata", "cytometry")
    path = Path(path)
    kept = {"label": label, "sample_id": sample_id, "sequence": sequence, "weight": weight}
    with reading(path, "AnnData"), _open_group(path) as group:
        _check_is_anndata(path, group)
        obs = group["obs"]
        rows = column_length(index_of(obs))
        columns = [str(name) for name in obs.attrs.get("column-order", [])]
        excluded = excluded_columns(f"obs of {path}", columns, exclude)
        others = [name for name in columns if name not in {*kept.values(), *excluded}]
        features = [name for name in others if name in obs and _holds_names(obs[name])]
        if not features:
            raise DataError(
                f"obs of {path} has no categorical, string or boolean column to code; it has "
                f"{columns}"
            )
        values = np.empty((rows, len(features)), object)
        for place, name in enumerate(features):
            values[:, place] = _objects(obs_column(path, obs, name, rows))
        variables = {
            key: _objects(obs_column(path, obs, column, rows))
            for key, column in kept.items()
            if column is not None
        }
    numbers = [name for name in others if name not in features]
    notes = (f"the columns {numbers} of obs hold numbers and were left out",) if numbers else ()
    warn_of_notes(path, notes)

    def blocks(rows_per_block: int) -> Iterator[ImportBlock]:
        for first in range(0, rows, rows_per_block):
            part = slice(first, min(first + rows_per_block, rows))
            along = {name: column[part] for name, column in variables.items()}
            yield ImportBlock(values[part], values[part], along)

    return ImportSource(path, tuple(features), blocks, rows=rows, notes=notes)


def _earlier_import(group: StoredGroup) -> dict[str, Any]:
    """Return the record of the import of a store that the file was exported from, if any."""
    entry = group.get(f"uns/{EARLIER_IMPORT}")
    if not isinstance(entry, StoredGroup):
        return {}
    record: dict[str, Any] = {}
    for name in (TRANSFORM, COMPENSATION, UNCOMPENSATED):
        # anything may be there in files of other programs
        with suppress(KeyError, TypeError, ValueError):
            record[name] = json.loads(str(np.asarray(entry[name][()]).astype(str)))
    transform = record.get(TRANSFORM)
    is_record = isinstance(transform, dict) and isinstance(transform.get("name"), str)
    return {EARLIER_IMPORT: record} if is_record else {}


def _channels(group: StoredGroup, features: int) -> dict[str, tuple[str, ...]]:
    """Return the channels of the features, where ``var`` has them."""
    if "channel" not in group["var"]:
        return {}
    channels = tuple(str(name) for name in read_column(group["var"]["channel"]))
    return {"channel": channels} if len(channels) == features else {}


def _objects(column: ColumnValues) -> NDArray[Any]:
    """Return a column as objects with None for missing values.

    Columns of nullable integers hold ``pandas.NA``, which cannot be compared.
    """
    values = np.array(column, object)
    values[optional_module("pandas").isna(values)] = None
    return values


def _holds_names(column: StoredElement) -> bool:
    """Return True for a stored column of categories, strings or truth values."""
    kind = str(column.attrs.get("encoding-type", ""))
    named = kind in ("categorical", "string-array", "nullable-string-array", "nullable-boolean")
    return named or getattr(getattr(column, "dtype", None), "kind", "") == "b"


def _open_group(path: Path) -> AbstractContextManager[StoredGroup]:
    """Open the root group of either kind of file for reading."""
    if path.is_dir():
        try:
            return nullcontext(open_group(path))
        except StoreReadError as error:
            raise FileFormatError(f"{path} cannot be read as AnnData: {error}") from error
    file: AbstractContextManager[StoredGroup] = open_hdf5(path)
    return file


def _check_is_anndata(path: Path, group: StoredGroup) -> None:
    """Refuse a file that is something else."""
    missing = [name for name in ("obs", "var") if name not in group]
    if missing:
        raise FileFormatError(
            f"{path} is not AnnData: it has no {', '.join(missing)}. "
            "A Zarr store written by this package needs no import"
        )


def _dense(part: NDArray[Any] | csr_matrix | csr_array) -> NDArray[np.floating]:
    """Return some rows as a dense array of floats."""
    if not isinstance(part, np.ndarray):
        check_csr(part)
        part = with_summed_duplicates(csr_array(part)).toarray()
    values: NDArray[Any] = np.asarray(part)
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def obs_column(path: Path, obs: StoredGroup, name: str, rows: int) -> ColumnValues:
    """Read one column of obs, or say which there are."""
    if name not in obs:
        columns = [str(column) for column in obs.attrs.get("column-order", [])]
        raise DataError(f"obs of {path} has no column {name!r}; it has {columns}")
    if column_length(obs[name]) != rows:
        raise FileFormatError(
            f"{path}: column {name!r} of obs has {column_length(obs[name])} rows, X has {rows}; "
            "the file is damaged"
        )
    return read_column(obs[name])
