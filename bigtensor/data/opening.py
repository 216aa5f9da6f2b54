"""From whatever holds the data to `Samples`, without reading a row."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bigtensor.data.anndata_source import (
    anndata_file_source,
    anndata_source,
    anndata_store_source,
    is_anndata,
)
from bigtensor.data.inspection import inspect_store
from bigtensor.data.matrices import as_matrix, feature_names, is_lazy_table
from bigtensor.data.plain_arrays import native_dtype
from bigtensor.data.row_groups import with_groups
from bigtensor.data.sample_weights import check_weight_dtype, with_weight
from bigtensor.data.samples import Samples
from bigtensor.data.sources import ArraySource, LazySource, Source, XarraySource, ZarrSource
from bigtensor.data.stores import open_group
from bigtensor.data.views import Views, ViewsLike
from bigtensor.data.zarr_datasets import open_dataset
from bigtensor.errors import DataError, LayoutError

SAMPLE_DIM = "sample"
"""The name of the sample dimension unless the caller gives another."""

VALUES = "X"
"""The variable that holds the features, when a data set has several two-dimensional ones."""

MOST_FEATURES = 10_000_000
"""Features without names that get one by their position; more are damaged metadata, or samples."""


def open_samples(
    data: Any,
    views: ViewsLike | None = None,
    *,
    sample_dim: str = SAMPLE_DIM,
    weight: Any = None,
    groups: Any = None,
) -> Samples:
    """Describe data as rows of named views; no row is read and no graph is computed.

    Parameters
    ----------
    data : path, xarray, AnnData, dask array or DataFrame, array-like, or a list of these
        Several data sets are read one after the other, as one. A path names a Zarr store or an
        AnnData file, ``.h5ad`` or Zarr. A Dataset holds one numeric variable with the sample
        dimension and one other; where there are several it is the one called ``X``. Variables
        called ``weight`` and ``sequence`` along the sample dimension are used as such. Of AnnData
        it is X, dense, sparse or backed. The rows of a Dask DataFrame are counted, which computes
        its graph once.
    views : mapping of str to features, optional
        See `Views.resolve`. By default every feature is its own view, except for features that
        an import left linear while it transformed others, such as scatter and time.
    sample_dim : str
        Name of the sample dimension of labelled data.
    weight : (rows,) array-like, optional
        Sample weights; instead of those stored with the data.
    groups : str or (rows,) array-like, optional
        A variable along the samples that says which patient or file a row is of, or the same as
        an array for data in memory: see `bigtensor.data.row_groups.with_groups`.

    Returns
    -------
    Samples

    Raises
    ------
    DataError, LayoutError, StoreReadError, ViewError
        When there is no such store, the dimensions are not samples and features, the data are
        empty or integers, or several data sets do not fit together.
    """
    if isinstance(data, Samples):
        parts: Sequence[Any] = data.sources
        samples = data if views is None else data.with_views(Views.resolve(views, data.features))
    else:
        several = isinstance(data, list | tuple) and data and _is_data_set(data[0])
        parts = data if several else [data]
        sources = [_source(part, sample_dim) for part in parts]
        samples = _samples(sources, views, _untransformed(parts[0], sources[0]))
    if weight is not None:
        samples = with_weight(samples, weight)
    return samples if groups is None else with_groups(samples, parts, groups, sample_dim)


def _samples(
    sources: Sequence[Source], views: ViewsLike | None, untransformed: tuple[str, ...] | None
) -> Samples:
    """Return the rows of sources that can be read as one.

    By default features off the common scale of an import are in no view.
    """
    _check_alike(sources)
    for source in sources:
        _check_values(source)
    features = sources[0].features
    if views is None and untransformed:
        on_scale = [feature for feature in features if feature not in untransformed]
        views = {feature: [feature] for feature in on_scale} if len(on_scale) > 1 else None
    return Samples(tuple(sources), Views.resolve(views, features), untransformed=untransformed)


def _untransformed(data: Any, source: Source) -> tuple[str, ...] | None:
    """Return the features off the scale of an import, where one is recorded with the data."""
    if isinstance(data, xr.Dataset):
        return _off_scale(data)
    return source.untransformed if isinstance(source, ZarrSource) else None


def _off_scale(dataset: xr.Dataset) -> tuple[str, ...] | None:
    """Return the features that an import left linear; None where it left all of them so."""
    record = dataset.attrs.get("transform")
    if not isinstance(record, Mapping) or record.get("name", "none") == "none":
        return None
    return tuple(str(name) for name in record.get("untransformed", ()))


def _is_data_set(part: Any) -> bool:
    """Tell a list of data sets from a list of rows."""
    addressed = isinstance(part, str | os.PathLike | xr.Dataset | xr.DataArray | Samples)
    return addressed or is_anndata(part) or getattr(part, "ndim", 1) == 2


def _source(data: Any, sample_dim: str) -> Source:
    """Describe one data set."""
    if isinstance(data, Samples):
        if len(data.sources) > 1:
            raise DataError("give the sources of several Samples one by one, not nested")
        return data.sources[0]
    if isinstance(data, str | os.PathLike):
        return _open_store(os.fspath(data), sample_dim)
    if isinstance(data, xr.Dataset):
        return _dataset_source(data, sample_dim)
    if isinstance(data, xr.DataArray):
        return _data_array_source(data, sample_dim, None, None, None)
    if is_anndata(data):
        return anndata_source(data)
    if is_lazy_table(data):
        rows = data.to_dask_array(lengths=True)
        return _lazy_source(rows, feature_names(data.columns), None, None)
    if hasattr(data, "__dask_graph__"):
        return _lazy_source(data, _default_names(data), None, None)
    columns = getattr(data, "columns", None)
    array = as_matrix(data)
    names = _default_names(array) if columns is None else feature_names(columns)
    return ArraySource(array, names)


def _default_names(array: Any) -> tuple[str, ...]:
    """Name the features of a plain array by their position."""
    if array.ndim != 2:
        raise LayoutError(f"expected rows and features, got an array of shape {array.shape}")
    return tuple(f"x{column}" for column in range(array.shape[1]))


def _open_store(path: str, sample_dim: str) -> Source:
    """Describe the values of a store or an AnnData file, which tasks will read for themselves."""
    if path.lower().endswith(".h5ad"):
        return anndata_file_source(path)
    opened = open_group(path)
    address = str(Path(path).resolve()) if "://" not in path else path
    of_anndata = anndata_store_source(address, opened)
    if of_anndata is not None:
        return of_anndata
    group, dataset = open_dataset(path)
    values = _values_of(dataset, sample_dim)
    if _is_encoded(values):
        return _dataset_source(dataset, sample_dim)
    source = ZarrSource(
        url=address,
        variable=str(values.name),
        rows=int(values.sizes[sample_dim]),
        features=_feature_names(values, sample_dim),
        dtype=np.dtype(values.dtype),
        unit_rows=_stored_unit(values, sample_dim),
        transposed=values.dims[0] != sample_dim,
        weight=_row_variable(dataset, "weight", sample_dim),
        sequence=_row_variable(dataset, "sequence", sample_dim),
        untransformed=_off_scale(dataset),
    )
    inspect_store(source, group, sample_dim, str(_feature_dim(values, sample_dim)))
    return source


def _is_encoded(values: xr.DataArray) -> bool:
    """Whether xarray shows other numbers than the store holds: scaled, or masked by a number."""
    if {"scale_factor", "add_offset", "missing_value"} & set(values.encoding):
        return True
    return not np.isnan(values.encoding.get("_FillValue", np.nan))


def _stored_unit(values: xr.DataArray, sample_dim: str) -> int:
    """Return the rows of one chunk on disk."""
    chunks = values.encoding.get("chunks") or values.shape
    return int(chunks[values.dims.index(sample_dim)])


def _row_variable(dataset: xr.Dataset, name: str, sample_dim: str) -> str | None:
    """Return the name of a variable along the samples, if the data set has it."""
    if name not in dataset or dataset[name].dims != (sample_dim,):
        return None
    if name == "weight":
        check_weight_dtype(dataset[name].dtype, "the variable 'weight'")
    return name


def _values_of(dataset: xr.Dataset, sample_dim: str) -> xr.DataArray:
    """Choose the variable that holds the features."""
    candidates = [
        variable
        for variable in dataset.data_vars.values()
        if variable.ndim == 2 and sample_dim in variable.dims and variable.dtype.kind in "fiub"
    ]
    named = [variable for variable in candidates if variable.name == VALUES]
    if len(candidates) == 1 or named:
        return (named or candidates)[0]
    found = {
        str(name): f"{variable.dtype} {variable.dims}"
        for name, variable in dataset.data_vars.items()
    }
    if not candidates:
        raise LayoutError(
            f"no two-dimensional numeric variable has the sample dimension {sample_dim!r}; there "
            f"are {found}; name the dimension that counts the samples with sample_dim=..."
        )
    names = [str(variable.name) for variable in candidates]
    raise LayoutError(f"several variables could hold the features: {names}; pass one of them")


def _dataset_source(dataset: xr.Dataset, sample_dim: str) -> Source:
    """Describe the values of a Dataset, with its weights and sequences."""

    def along_samples(name: str) -> xr.DataArray | None:
        return dataset[name] if _row_variable(dataset, name, sample_dim) else None

    values = _values_of(dataset, sample_dim)
    weight, sequence = along_samples("weight"), along_samples("sequence")
    store = dataset.encoding.get("source")
    return _data_array_source(values, sample_dim, weight, sequence, store)


def _data_array_source(
    array: xr.DataArray,
    sample_dim: str,
    weight: xr.DataArray | None,
    sequence: xr.DataArray | None,
    store: str | None,
) -> Source:
    """Describe a DataArray with or without a graph behind it."""
    if array.ndim != 2 or sample_dim not in array.dims:
        raise LayoutError(
            f"expected a DataArray with the dimension {sample_dim!r} and one for the features, "
            f"got {dict(array.sizes)}; name the dimension that counts the samples with "
            "sample_dim=..."
        )
    names = _feature_names(array, sample_dim)
    if array.chunks is None:
        return XarraySource(array, sample_dim, names, weight, sequence, store)
    parts = [None if part is None else part.data for part in (weight, sequence)]
    feature_dim = _feature_dim(array, sample_dim)
    if len(array.chunksizes[feature_dim]) > 1:
        raise LayoutError(
            f"the features must be in one chunk; use .chunk({{{str(feature_dim)!r}: -1}})"
        )
    return _lazy_source(array.transpose(sample_dim, ...).data, names, *parts)


def _lazy_source(array: Any, names: tuple[str, ...], weight: Any, sequence: Any) -> Source:
    """Describe a lazy array after looking at its chunks."""
    if array.ndim != 2:
        raise LayoutError(f"expected rows and features, got a lazy array of shape {array.shape}")
    if any(np.isnan(length) for length in array.shape):
        raise LayoutError(
            "the lazy array has chunks of unknown length; call .compute_chunk_sizes() first"
        )
    if array.numblocks[1] > 1:
        raise LayoutError("the features must be in one chunk; use .rechunk({1: -1})")
    return LazySource(array, names, weight, sequence)


def _feature_dim(array: xr.DataArray, sample_dim: str) -> Any:
    """Return the dimension that is not the samples."""
    return next(dim for dim in array.dims if dim != sample_dim)


def _feature_names(array: xr.DataArray, sample_dim: str) -> tuple[str, ...]:
    """Return the feature names from the coordinate of the feature dimension."""
    dim = _feature_dim(array, sample_dim)
    if dim in array.coords:
        return feature_names(array.coords[dim].to_numpy())
    width = array.sizes[dim]
    if width > MOST_FEATURES:
        raise LayoutError(
            f"{array.name!r} has {width:,} features along {str(dim)!r} and no names for them; at "
            f"most {MOST_FEATURES:,} can be named by position. If they are the samples, give "
            f"sample_dim={str(dim)!r}; otherwise restore the metadata from a copy"
        )
    return tuple(f"x{column}" for column in range(width))


def _check_alike(sources: Sequence[Source]) -> None:
    """Refuse data sets that cannot be read as one."""
    first = sources[0]
    for source in sources[1:]:
        if isinstance(source, LazySource) != isinstance(first, LazySource):
            raise DataError(
                f"{source.describe()} and {first.describe()} cannot be read as one; give either "
                "only lazy arrays or none"
            )
        if source.features != first.features:
            only = sorted(set(first.features) ^ set(source.features))
            raise DataError(
                f"{source.describe()} has other features than {first.describe()}; they differ in "
                f"{only or 'their order'}: select the same features in the same order"
            )
        if native_dtype(source.dtype) != native_dtype(first.dtype):
            raise DataError(
                f"{source.describe()} is {source.dtype}, {first.describe()} is {first.dtype}; "
                "convert one of them"
            )


def _check_values(source: Source) -> None:
    """Refuse what no model of continuous features can use."""
    if source.rows == 0:
        raise DataError(f"Found array with 0 sample(s): {source.describe()} is empty")
    if not source.features:
        raise DataError(
            f"Found array with 0 feature(s) (shape=({source.rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if source.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and imaginary parts as features")
    if native_dtype(source.dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise DataError(
            f"the values of {source.describe()} are {source.dtype}; continuous models take "
            "float32 or float64: convert with .astype('float32') if the numbers are measurements"
        )
