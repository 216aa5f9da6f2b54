"""Names of the rows of stored AnnData, such as documents or barcodes of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.anndata.columns import column_length, index_of
from bigtensor.data.anndata.files import open_anndata_root
from bigtensor.data.anndata.stored_elements import StoredGroup

_BLOCK_ROWS = 65_536
"""Names that are compared with numbers at a time."""


def stored_obs_names(path: str, parts: Sequence[slice]) -> list[NDArray[np.str_]] | None:
    """Return the names of some windows of rows; None for an index without stored texts.

    Parameters
    ----------
    path : str
        Path or URL of AnnData.
    parts : sequence of slice
        Windows of rows.
    """
    with reading(path, "AnnData"), open_anndata_root(path) as group:
        index = index_of(group["obs"])
        if isinstance(index, StoredGroup):
            # anndata 0.13 writes texts beside a mask
            if "values" not in index:
                return None
            index = index["values"]
        return [texts(np.asarray(index[part])) for part in parts]


def stored_rows(path: str) -> int:
    """Return the number of rows of stored AnnData."""
    with reading(path, "AnnData"), open_anndata_root(path) as group:
        return column_length(index_of(group["obs"]))


def has_obs_names(path: str) -> bool:
    """Return True if the rows of stored AnnData have names that are not their numbers."""
    rows = stored_rows(path)
    for start in range(0, rows, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, rows)
        names = stored_obs_names(path, [slice(start, stop)])
        if names is None:
            return False
        if not np.array_equal(names[0], np.arange(start, stop).astype(str)):
            return True
    return False


def texts(values: NDArray[np.generic]) -> NDArray[np.str_]:
    """Return values as strings, bytes decoded."""
    return np.array(
        [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()], np.str_
    )
