"""Types of the data that fits and answers take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy.typing as npt
import xarray as xr

from bigtensor.data.rows.samples import Samples
from bigtensor.data.values.lazy_arrays import LazyArray, LazyTable

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData
    from scipy.sparse import sparray, spmatrix

DataSetLike: TypeAlias = (
    "str | os.PathLike[str] | xr.Dataset | xr.DataArray | AnnData | LazyArray | LazyTable | "
    "pd.DataFrame | sparray | spmatrix | npt.ArrayLike | Samples"
)
"""One data set: a path or URL, xarray, AnnData, Dask, a table, sparse rows, or an array-like."""

DataLike: TypeAlias = "DataSetLike | Sequence[DataSetLike]"
"""Data of a fit or an answer: a data set, or several that are read one after the other."""

RowVariableLike: TypeAlias = "xr.DataArray | LazyArray | npt.ArrayLike"
"""A number or a name for every row, such as sample weights, groups or ids of sequences."""
