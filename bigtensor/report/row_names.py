"""Names of sampled rows, such as documents or cells."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.anndata.columns import index_of
from bigtensor.data.anndata.files import open_anndata_root
from bigtensor.data.anndata.stored_elements import StoredGroup
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.sources.anndata_source import holds_anndata, is_anndata


def row_names(
    data: DataLike, beside: xr.Dataset, sample_dim: str, parts: Sequence[slice]
) -> NDArray[np.str_] | None:
    """Return the names of the rows of some windows.

    Parameters
    ----------
    data : path, xarray, AnnData, array-like, or a list of these
        What was opened.
    beside : Dataset
        Variables that lie beside the values.
    sample_dim : str
        Dimension of the rows, whose coordinate has the names. AnnData has its ``obs_names``.
    parts : sequence of slice
        Windows of rows.

    Returns
    -------
    (n,) array of str or None
        None for rows without names, and for names that are the numbers of the rows.
    """
    names: list[NDArray[np.str_]] | None = None
    if sample_dim in beside.coords:
        names = [_texts(beside[sample_dim][part].to_numpy()) for part in parts]
    elif is_anndata(data):
        names = [_texts(data.obs_names[part].to_numpy()) for part in parts]
    elif isinstance(data, str | os.PathLike):
        names = _stored_names(os.fspath(data), parts)
    if names is None:
        return None
    joined = np.concatenate(names)
    numbers = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    return None if np.array_equal(joined, numbers.astype(str)) else joined


def _stored_names(path: str, parts: Sequence[slice]) -> list[NDArray[np.str_]] | None:
    """Return the stored index of ``obs``, or None if the store is none of AnnData."""
    if not holds_anndata(path):
        return None
    with reading(path, "AnnData"), open_anndata_root(path) as group:
        index = index_of(group["obs"])
        if isinstance(index, StoredGroup):
            # anndata 0.13 writes texts beside a mask
            if "values" not in index:
                return None
            index = index["values"]
        return [_texts(np.asarray(index[part])) for part in parts]


def _texts(values: NDArray[np.generic]) -> NDArray[np.str_]:
    """Return values as strings, bytes decoded."""
    return np.array(
        [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()], np.str_
    )
