"""Names of sampled rows, such as documents or cells."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.anndata.obs_names import stored_obs_names, texts
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
        names = [texts(beside[sample_dim][part].to_numpy()) for part in parts]
    elif is_anndata(data):
        names = [texts(data.obs_names[part].to_numpy()) for part in parts]
    elif isinstance(data, str | os.PathLike) and holds_anndata(data):
        names = stored_obs_names(os.fspath(data), parts)
    if names is None:
        return None
    joined = np.concatenate(names)
    numbers = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    return None if np.array_equal(joined, numbers.astype(str)) else joined
