"""Rows generated in blocks of a fixed size, gathered in memory or written to a store."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import DTypeLike, NDArray

from bigtensor.data.rows.code_maps import Categories
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM, SampleStoreWriter
from bigtensor.data.stores.outputs import check_room, check_target, write_errors
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.errors import ParameterError, Setting

BLOCK_ROWS = 65_536
"""Rows generated at once. Part of what a seed means: another value would give other rows."""

FloatArray = NDArray[np.float64]
RowBlock = Mapping[str, NDArray[Any]]
"""``X`` and the variables along the samples of consecutive rows; overwritten by the next block."""

Progress = Callable[[int, int], None]
"""Called after every block with the number of rows done and the number of all rows."""


def check_integer(name: str, value: object, least: int) -> int:
    """Return an integer parameter, or raise a ParameterError."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ParameterError(Setting(name) + f" must be an integer of at least {least}, not {value!r}")


def check_positive(name: str, value: float) -> None:
    """Raise a ParameterError unless a parameter is a finite positive number."""
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(Setting(name) + f" must be a positive number, not {value!r}")


def block_bounds(rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after the last one of every block."""
    for start in range(0, rows, BLOCK_ROWS):
        yield start, min(start + BLOCK_ROWS, rows)


def gather(
    truth: xr.Dataset,
    blocks: Iterable[RowBlock],
    rows: int,
    dtype: DTypeLike,
    codes: Mapping[str, list[str] | None],
    categories: Categories | None = None,
) -> xr.Dataset:
    """Return the truth together with all rows.

    ``codes`` names the categories of int32 variables along the samples, or says None of those that
    are numbers; ``categories`` names those of the features of integers.
    """
    X = np.empty((rows, truth.sizes[FEATURE_DIM]), dtype)
    variables = {name: np.empty(rows, np.int32) for name in codes}
    start = 0
    for block in blocks:
        stop = start + len(block["X"])
        X[start:stop] = block["X"]
        for name, values in variables.items():
            values[start:stop] = block[name]
        start = stop
    attrs = {} if categories is None else {ATTRIBUTE: dict(categories)}
    rowwise: dict[str, Any] = {"X": ((SAMPLE_DIM, FEATURE_DIM), X, attrs)}
    for name, values in variables.items():
        rowwise[name] = (SAMPLE_DIM, values, _named(codes[name]))
    return truth.assign(rowwise)


def write(
    path: str | os.PathLike[str],
    truth: xr.Dataset,
    blocks: Iterable[RowBlock],
    rows: int,
    dtype: DTypeLike,
    codes: Mapping[str, list[str] | None],
    *,
    overwrite: bool,
    progress: Progress | None,
    categories: Categories | None = None,
) -> None:
    """Write the data set of :func:`gather` to a Zarr store that appears when it is whole."""
    check_target(path, overwrite=overwrite)
    # The noise of X does not compress. All else does, and is left out.
    check_room(path, rows * truth.sizes[FEATURE_DIM] * np.dtype(dtype).itemsize)
    with (
        write_errors(path),
        SampleStoreWriter(
            path,
            [str(name) for name in truth[FEATURE_DIM].values],
            dtype=dtype,
            rows=rows,
            row_variables={name: ("int32", _named(codes[name])) for name in codes},
            attrs={str(name): value for name, value in truth.attrs.items()},
            overwrite=overwrite,
        ) as store,
    ):
        store.add(truth.drop_vars(FEATURE_DIM))
        done = 0
        for block in blocks:
            store.append(block["X"], **{name: block[name] for name in codes})
            done += len(block["X"])
            if progress is not None:
                progress(done, rows)
        if categories is not None:
            store.set_feature_categories(categories)


def _named(categories: list[str] | None) -> dict[str, list[str]]:
    """Return the attributes of a variable along the samples."""
    return {} if categories is None else {"categories": categories}
