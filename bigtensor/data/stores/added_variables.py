"""Variables of the rows that are added to a store of samples, which stays whole throughout."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.stores.consolidation import consolidate
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM
from bigtensor.data.stores.leftovers import discard, unfinished_path
from bigtensor.data.stores.manifest import MANIFEST, seal
from bigtensor.data.stores.outputs import check_folder, write_errors
from bigtensor.data.stores.stored_arrays import create_array, create_root, open_to_write
from bigtensor.data.stores.zarr_groups import open_group, open_whole_group
from bigtensor.errors import DataError, OutputError, ParameterError

ROWS_AT_ONCE = 2**20
"""Least rows that are written at once, in whole shards."""


class RowValues(Protocol):
    """One value a row, in memory or in a file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, as the only entry."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the values of some rows."""


def check_row_variable(store: Path, name: str, *, overwrite: bool) -> zarr.Group:
    """Refuse a variable that cannot be added, and return the opened store.

    Parameters
    ----------
    store : Path
        Store of samples on a disk.
    name : str
        Of the variable.
    overwrite : bool
        If True, a variable of this name along the samples may be replaced.

    Raises
    ------
    ParameterError
        When the name is none, or that of a feature.
    StoreReadError
        When there is no store, or it is damaged.
    OutputError
        When the store is of another layout, something else has the name, or nothing can be made
        in the store.
    """
    if isinstance(as_address(store), str):
        raise OutputError(
            f"{store} is on an object store, where a variable cannot be put into place at once; "
            "add it to the store on a disk and copy the store"
        )
    if name == "zarr.json" or not name.strip("._") or {"/", "\\", "\x00"} & {*name}:
        raise ParameterError(f"{name!r} is no name of a variable; use letters, digits and _")
    group = open_whole_group(store)
    values: Any = group.get("X")
    if group.metadata.zarr_format != 3 or values is None or values.ndim != 2:
        raise OutputError(
            f"{store} is no store that 'bigtensor import' made; import the data first"
        )
    for folder in (store.parent, store):
        check_folder(folder)
    features = group.get(FEATURE_DIM)
    if isinstance(features, zarr.Array) and name in map(str, np.asarray(features[:]).tolist()):
        raise ParameterError(
            f"{name!r} is a feature of {store}, which conditions would read in place of the "
            "variable; choose another name"
        )
    node: Any = group.get(name)
    if node is None:
        return group
    dimensions = getattr(node.metadata, "dimension_names", None)
    if not isinstance(node, zarr.Array) or dimensions != (SAMPLE_DIM,):
        raise OutputError(
            f"{store} has {name!r} already, which is no variable of the rows; choose another name"
        )
    if not overwrite:
        raise OutputError(
            f"{store} has a variable {name!r} already; choose another name, or use --overwrite "
            "(overwrite=True)"
        )
    return group


def add_row_variable(
    store: Path,
    name: str,
    values: RowValues,
    *,
    attrs: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Add a variable of the rows to a store of samples.

    The variable is written beside the store, moved into it, and then listed in its manifest. No
    other array is touched. If anything fails, the store is as it was. A run that is killed leaves a
    store that can be read, with or without the variable.

    Parameters
    ----------
    store : Path
        Store of samples on a disk.
    name : str
        Of the variable.
    values : (rows,) array, or what gives arrays of row ranges
        Numbers, or true and false.
    attrs : mapping, optional
        Attributes of the variable, such as ``categories``.
    overwrite : bool, default False
        Replace a variable of this name.

    Raises
    ------
    DataError
        When there is not one value a row, or values are no numbers.
    """
    group = check_row_variable(store, name, overwrite=overwrite)
    matrix: Any = group["X"]
    rows = int(matrix.shape[0])
    if tuple(values.shape) != (rows,):
        raise DataError(
            f"{name!r} has the shape {tuple(values.shape)}; expected ({rows},), one value a row of "
            f"{store}"
        )
    if values.dtype.kind not in "iufb":
        raise DataError(f"{name!r} holds {values.dtype}; expected numbers, or true and false")
    unfinished = unfinished_path(store)
    try:
        with write_errors(store):
            _write(unfinished, name, values, matrix, attrs or {})
            _place(unfinished, store, name)
    finally:
        discard(unfinished)


def _write(
    unfinished: Path,
    name: str,
    values: RowValues,
    matrix: zarr.Array[Any],
    attrs: Mapping[str, Any],
) -> None:
    """Write the variable in a group of its own, with the chunks of the rows."""
    group = create_root(str(unfinished), {})
    rows, chunk = int(matrix.shape[0]), int(matrix.chunks[0])
    shard = chunk if matrix.shards is None else int(matrix.shards[0])
    create_array(
        group,
        name,
        shape=(rows,),
        dtype=values.dtype,
        chunks=(chunk,),
        shards=(shard,) if shard > chunk else None,
        dimensions=(SAMPLE_DIM,),
    ).update_attributes(dict(attrs))
    array = open_to_write(group, name)
    step = -(-ROWS_AT_ONCE // shard) * shard
    for start in range(0, rows, step):
        array[start : start + step] = np.asarray(values[start : start + step])


def _place(unfinished: Path, store: Path, name: str) -> None:
    """Move the finished variable into the store and list it."""
    target, old = store / name, unfinished / f"{name}.replaced"
    replaced = target.exists()
    if replaced:
        # a store whose manifest does not list the variable is whole with and without it
        seal(store, without=(name,))
        target.rename(old)
    try:
        (unfinished / name).rename(target)
        _list_arrays(store)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        if replaced:
            old.rename(target)
        with suppress(OSError):
            _list_arrays(store)
        raise


def _list_arrays(store: Path) -> None:
    """Renew the manifest of a store, or its consolidated metadata if it has no manifest."""
    group = open_group(store, mode="r+", consolidated=False)
    if MANIFEST in group:
        seal(store)
        return
    consolidate(str(store), zarr_format=3)
