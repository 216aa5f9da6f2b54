"""Open data of any supported kind as `Samples`, without reading a row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.addresses.store_address import with_home
from bigtensor.data.anndata.files import element_name, is_h5ad
from bigtensor.data.feature_table import (
    feature_dim_of,
    feature_names_of,
    layout_remedy,
    values_of,
)
from bigtensor.data.rows.code_maps import code_check, with_shared_categories
from bigtensor.data.rows.data_like import DataLike, DataSetLike, RowVariableLike
from bigtensor.data.rows.inspection import inspect_chunks, inspect_files, stored_chunks
from bigtensor.data.rows.row_groups import with_groups
from bigtensor.data.rows.row_sequences import Lengths, in_sequences, with_sequences, with_whole_ids
from bigtensor.data.rows.row_variables import check_each_aligned
from bigtensor.data.rows.rows_where import RowsWhere, all_rows, with_all_rows
from bigtensor.data.rows.sample_weights import check_weight_dtype, with_sample_weight
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.selected_rows import select_rows
from bigtensor.data.rows.views import Views, ViewsLike
from bigtensor.data.sources.anndata_datasets import has_obs
from bigtensor.data.sources.anndata_source import (
    anndata_file_source,
    anndata_source,
    anndata_store_source,
    is_anndata,
)
from bigtensor.data.sources.csr_source import CsrSource
from bigtensor.data.sources.row_sources import ArraySource, LazySource, Source, ZarrSource
from bigtensor.data.sources.source_checks import (
    check_alike,
    check_values,
    warn_of_missing_texts,
    warn_of_undecoded,
)
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.stores.layout import SAMPLE_DIM, SEQUENCE, anndata_matrix
from bigtensor.data.stores.zarr_datasets import as_dataset
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.categories import (
    ATTRIBUTE,
    FeatureCategories,
    coded_strings,
    coded_table,
    counted_categories,
    holds_strings,
    stored_categories,
)
from bigtensor.data.values.feature_roles import COORDINATE, Role, checked_roles
from bigtensor.data.values.import_record import ImportRecord, RecordedData, require_same_import
from bigtensor.data.values.lazy_arrays import (
    LazyArray,
    is_convertible_table,
    is_lazy_array,
    is_table,
)
from bigtensor.data.values.matrices import (
    as_matrix,
    feature_names,
    is_lazy_table,
    numbered_features,
    with_dense_chunks,
)
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.data.values.sparse_matrices import ScipyMatrix, is_scipy_matrix
from bigtensor.errors import DataError, LayoutError, ParameterError, Setting


def open_samples(
    data: DataLike,
    views: ViewsLike | None = None,
    *,
    sample_dim: str = SAMPLE_DIM,
    weight: RowVariableLike | None = None,
    groups: str | RowVariableLike | None = None,
    sequence: str | RowVariableLike | Lengths | None = None,
    lengths: npt.ArrayLike | None = None,
    layer: str | None = None,
    obsm: str | None = None,
    where: str | None = None,
) -> Samples:
    """Describe data as rows of named views; no row is read and no graph is computed.

    Only a condition on the rows reads them once, to count those that meet it.

    Parameters
    ----------
    data : path, xarray, AnnData, dask array or DataFrame, array-like, sparse, or a list of these
        Several data sets are read one after the other, as one. A path or URL names a Zarr store or
        an AnnData file, ``.h5ad`` or Zarr. A Dataset holds one numeric variable with the sample
        dimension and one other; where there are several it is the one called ``X``. Variables
        called ``weight`` and ``sequence`` along the sample dimension are used as such, but not
        coordinates of a DataArray. Of AnnData it is X, dense, sparse or backed, unless `layer` or
        `obsm` is given. Blocks of sparse rows are CSR arrays. The rows of a Dask DataFrame are
        counted, which computes its graph once. Strings are categories. Integers and booleans are
        codes of categories, or measured values for a model that takes no codes.
    views : mapping of str to features, optional
        See `Views.resolve`. By default every feature with the role ``use`` is its own view, see
        `bigtensor.data.importers.panel.Panel`. Without roles it is every feature, except for
        features that an import left linear while it transformed others, such as scatter and time.
    sample_dim : str
        Name of the sample dimension of labelled data.
    weight : (rows,) array-like, optional
        Sample weights; instead of those stored with the data.
    groups : str or (rows,) array-like, optional
        A variable along the samples, or a column of ``obs``, that says which patient or file a row
        is of, or the same as an array for data in memory: see
        `bigtensor.data.rows.row_groups.with_groups`.
    sequence : str or (rows,) array-like, optional
        A variable along the samples, a column of ``obs`` or of a table that says which sequence a
        row is of, or the id of every row for data in memory; instead of the variable ``sequence``.
        A column of a table is no feature then. Ids are integers or names.
    lengths : array-like of int, optional
        Rows of consecutive sequences, for data in memory, in place of `sequence`.
    layer : str, optional
        Layer of AnnData to read in place of X, such as ``"counts"``.
    obsm : str, optional
        Entry of ``obsm`` of AnnData to read in place of X, such as ``"X_pca"``. Its features are
        the columns of a data frame, else ``X_pca_0``, ``X_pca_1``, ...
    where : str, optional
        Condition that rows have to meet, such as ``"CD45 > 2 and sample_id != 'control'"``, over
        features and variables along the samples; see `bigtensor.data.rows.condition_syntax`. Fits
        and answers see the rows that meet it and no others. `weight`, `groups`, `sequence` and
        `lengths` describe all rows.

    Returns
    -------
    Samples
        Views and sources. Rows are read when a pass asks for them.

    Raises
    ------
    DataError, LayoutError, StoreReadError, ViewError
        When there is no such store, the dimensions are not samples and features, the data are
        empty or no numbers, several data sets do not fit together, or AnnData have no such layer or
        entry of ``obsm``.
    ParameterError
        When both `layer` and `obsm` are given, or both `sequence` and `lengths`, or lengths do not
        add up to the rows.
    ConditionError
        When the condition cannot be read, or names what the data do not have.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> adata = anndata.AnnData(np.ones((5, 3)), obsm={"X_pca": np.ones((5, 2))})
    >>> open_samples(adata, obsm="X_pca").features
    ('X_pca_0', 'X_pca_1')
    """
    name = element_name(layer, obsm)
    data, ids = in_sequences(data, sequence, lengths)
    if isinstance(data, Samples):
        _check_whole(data, name)
        parts: Sequence[object] = data.sources
        samples = data if views is None else data.with_views(Views.resolve(views, data.features))
    else:
        several = isinstance(data, list | tuple) and data and _is_data_set(data[0])
        data_sets = cast("Sequence[DataSetLike]", data if several else [data])
        sources = [_source(part, sample_dim, name) for part in data_sets]
        records = list(map(_record, data_sets, sources))
        roles = _roles(data_sets[0], sources[0], sample_dim)
        samples = _samples(sources, views, records, roles)
        samples = replace(samples, matrix=_matrix(data_sets[0], sources[0], name))
        warn_of_undecoded([number for part in data_sets for number in _numbers(part, sample_dim)])
        parts = data_sets
    selected = samples.sources
    whole = replace(samples, sources=tuple(map(all_rows, selected)))
    parts = [all_rows(part) if isinstance(part, RowsWhere) else part for part in parts]
    for setting, values in (("sample_weight", weight), ("groups", groups), (SEQUENCE, ids)):
        check_each_aligned(parts, values, sample_dim, setting)
    if weight is not None:
        whole = with_sample_weight(whole, weight)
    if ids is None and all(_has_sequence(part, sample_dim) for part in parts):
        ids = SEQUENCE
    if ids is not None:
        _check_not_selected(samples)
        whole = with_sequences(whole, parts, ids, sample_dim)
    if groups is not None:
        whole = with_groups(whole, parts, groups, sample_dim)
    again = map(with_all_rows, selected, whole.sources)
    samples = replace(whole, sources=tuple(again))
    return samples if where is None else select_rows(samples, parts, where, sample_dim)


def _check_not_selected(samples: Samples) -> None:
    """Refuse new sequences of rows that were selected: the count looked at the earlier ones."""
    if samples.shares is not None:
        raise ParameterError(
            "the rows were selected by a condition already; give "
            + Setting("sequence")
            + " to open_samples beside "
            + Setting("where")
        )


def _has_sequence(part: object, sample_dim: str) -> bool:
    """Return True for a Dataset with the variable `SEQUENCE`."""
    return isinstance(part, xr.Dataset) and bool(_row_variable(part, SEQUENCE, sample_dim))


def _samples(
    sources: Sequence[Source],
    views: ViewsLike | None,
    records: Sequence[ImportRecord | None],
    roles: tuple[Role, ...] | None,
) -> Samples:
    """Return the rows of sources that can be read as one.

    By default only features with the role ``use`` are in a view, or without roles those on the
    common scale of an import.
    """
    for source in sources:
        check_values(source)
    sources = with_shared_categories(sources)
    check_alike(sources)
    warn_of_missing_texts(sources[0])
    features = sources[0].features
    # the first data set with a record of its import speaks for those without
    recorded = [
        RecordedData(own, source.describe())
        for own, source in zip(records, sources, strict=True)
        if own is not None
    ]
    record = recorded[0].record if recorded else None
    untransformed = None if record is None else record.off_scale
    if views is None and roles is not None:
        used = [name for name, role in zip(features, roles, strict=True) if role == "use"]
        views = {feature: [feature] for feature in used} or None
    elif views is None and untransformed:
        on_scale = [feature for feature in features if feature not in untransformed]
        views = {feature: [feature] for feature in on_scale} if len(on_scale) > 1 else None
    resolved, code_map = Views.resolve(views, features), code_check(sources[0])
    for data in recorded[1:]:
        require_same_import(data, recorded[0], resolved.feature_names)
    return Samples(tuple(sources), resolved, record=record, roles=roles, code_map=code_map)


def _numbers(data: object, sample_dim: str) -> list[tuple[xr.DataArray, xr.Dataset | None]]:
    """Return the values and the weights of xarray data, with the Dataset that holds them."""
    if isinstance(data, xr.Dataset):
        weight = _row_variable(data, "weight", sample_dim)
        variables = [values_of(data, sample_dim), *([] if weight is None else [data[weight]])]
        return [(variable, data) for variable in variables]
    return [(data, None)] if isinstance(data, xr.DataArray) else []


def _record(data: object, source: Source) -> ImportRecord | None:
    """Return the record of an import, where one is kept with the data."""
    if isinstance(data, Samples):
        return data.record
    if isinstance(data, xr.Dataset):
        return ImportRecord.of_dataset(data, source.features)
    return source.record if isinstance(source, ZarrSource) else None


def _roles(data: object, source: Source, sample_dim: str) -> tuple[Role, ...] | None:
    """Return the roles of the features, where they are stored with the data."""
    if isinstance(data, xr.Dataset):
        return _roles_of(values_of(data, sample_dim), sample_dim)
    if isinstance(data, xr.DataArray):
        return _roles_of(data, sample_dim)
    return source.roles if isinstance(source, ZarrSource) else None


def _matrix(data: object, source: Source, name: str) -> str | None:
    """Return the matrix of AnnData that rows are of or were imported from; None for other data."""
    if isinstance(data, Samples):
        return data.matrix
    if isinstance(data, xr.Dataset):
        return anndata_matrix(data.attrs)
    if isinstance(source, ZarrSource):
        return source.matrix
    return name if has_obs(source) else None


def _roles_of(values: xr.DataArray, sample_dim: str) -> tuple[Role, ...] | None:
    """Return the roles in the coordinate of the features."""
    roles = values.coords.get(COORDINATE)
    if roles is None or roles.dims != (feature_dim_of(values, sample_dim),):
        return None
    return checked_roles(read_variable(roles, f"the roles of the features of {values.name!r}"))


def _is_data_set(part: object) -> bool:
    """Tell a list of data sets from a list of rows."""
    addressed = isinstance(part, str | os.PathLike | xr.Dataset | xr.DataArray | Samples)
    return addressed or is_anndata(part) or is_table(part) or getattr(part, "ndim", 1) == 2


def _check_whole(data: object, name: str) -> None:
    """Refuse a layer or an entry of obsm of data that have none."""
    if name != "X":
        kind = repr(data) if isinstance(data, str | os.PathLike) else type(data).__name__
        raise DataError(f"{kind} is no AnnData, which alone has {name!r}; leave layer and obsm out")


def _source(data: DataSetLike, sample_dim: str, name: str) -> Source:
    """Describe one data set, or the named matrix of AnnData."""
    if is_anndata(data):
        return anndata_source(data, name)
    if isinstance(data, str | os.PathLike):
        return _open_store(os.fspath(data), sample_dim, name)
    _check_whole(data, name)
    if isinstance(data, Samples):
        if len(data.sources) > 1:
            raise DataError("give the sources of several Samples one by one, not nested")
        return data.sources[0]
    if isinstance(data, xr.Dataset):
        return _dataset_source(data, sample_dim)
    if isinstance(data, xr.DataArray):
        return _data_array_source(data, sample_dim, None, None, None)
    if is_convertible_table(data):
        # NumPy would not keep the names, dates and missing values of polars and pyarrow
        optional_module("pyarrow", "tables")
        data = data.to_pandas()
    if isinstance(data, pd.DataFrame) and (coded := coded_table(data)) is not None:
        features = feature_names(data.columns)
        return ArraySource(coded[0], features, categories=coded[1], index=data.index)
    if is_lazy_table(data):
        rows = data.to_dask_array(lengths=True)
        return _lazy_source(rows, feature_names(data.columns), None, None)
    if is_lazy_array(data):
        return _lazy_source(data, _default_names(data), None, None)
    if is_scipy_matrix(data):
        return CsrSource.from_scipy(data, _default_names(data))
    columns = getattr(data, "columns", None)
    array = as_matrix(cast("npt.ArrayLike", data))
    names = _default_names(array) if columns is None else feature_names(columns)
    index = data.index if isinstance(data, pd.DataFrame) else None
    if array.dtype.kind in "OUST":
        codes, categories = coded_strings(array)
        return ArraySource(codes, names, categories=categories, index=index)
    counted = counted_categories(without_mask(array)) if array.dtype.kind in "iu" else None
    return ArraySource(array, names, categories=counted, numbered=counted is not None, index=index)


def _default_names(array: NDArray[Any] | LazyArray | ScipyMatrix) -> tuple[str, ...]:
    """Name the features of a plain array by their position."""
    if array.ndim != 2:
        raise LayoutError(f"expected rows and features, got an array of shape {array.shape}")
    owner = f"the array of shape {array.shape}"
    return numbered_features(
        int(array.shape[1]), owner, "Give samples as rows and features as columns"
    )


def _open_store(path: str, sample_dim: str, name: str) -> Source:
    """Describe the values of a store or an AnnData file, which tasks will read for themselves."""
    path = with_home(path)
    if is_h5ad(path):
        return anndata_file_source(path, name)
    group = open_whole_group(path)
    address = str(Path(path).resolve()) if "://" not in path else path
    anndata_rows = anndata_store_source(address, group, name)
    if anndata_rows is not None:
        return anndata_rows
    _check_whole(path, name)
    dataset = as_dataset(path, group)
    values = values_of(dataset, sample_dim)
    if holds_strings(values):
        raise DataError(
            f"{values.name!r} of {path} holds strings; import the tables with --codes "
            "(codes=True), or load it into memory: xarray.open_zarr(...).load()"
        )
    weight = _row_variable(dataset, "weight", sample_dim)
    sequence = _row_variable(dataset, SEQUENCE, sample_dim)
    row_variables = (dataset[one] for one in (weight, sequence) if one is not None)
    if any(map(_is_encoded, [values, *row_variables])):
        decoded = _dataset_source(dataset, sample_dim)
        inspect_chunks(address, values, sample_dim)
        return decoded
    source = ZarrSource(
        url=address,
        variable=str(values.name),
        rows=int(values.sizes[sample_dim]),
        features=feature_names_of(values, sample_dim),
        dtype=np.dtype(values.dtype),
        unit_rows=stored_chunks(values)[sample_dim],
        transposed=values.dims[0] != sample_dim,
        weight=weight,
        sequence=sequence,
        record=ImportRecord.of_dataset(dataset, feature_names_of(values, sample_dim)),
        roles=_roles_of(values, sample_dim),
        matrix=anndata_matrix(dataset.attrs),
        feature_dim=str(feature_dim_of(values, sample_dim)),
        categories=_categories_of(values, sample_dim),
    )
    inspect_chunks(address, values, sample_dim)
    inspect_files(source, group)
    return source


def _categories_of(values: xr.DataArray, sample_dim: str) -> FeatureCategories | None:
    """Return the named categories of integer values."""
    names = feature_names_of(values, sample_dim)
    return stored_categories(values.attrs, names, f"{values.name!r}", values.dtype)


def _is_encoded(variable: xr.DataArray) -> bool:
    """Return True if xarray scales or masks the stored numbers."""
    if {"scale_factor", "add_offset", "missing_value"} & set(variable.encoding):
        return True
    marker = variable.encoding.get("_FillValue")
    # names of sequences are texts, and may have a text as marker
    return isinstance(marker, Real) and not np.isnan(float(marker))


def _row_variable(dataset: xr.Dataset, name: str, sample_dim: str) -> str | None:
    """Return the name of a variable along the samples, if the data set has it."""
    if name not in dataset or dataset[name].dims != (sample_dim,):
        return None
    if name == "weight":
        check_weight_dtype(dataset[name].dtype, "the variable 'weight'")
    return name


def _dataset_source(dataset: xr.Dataset, sample_dim: str) -> Source:
    """Describe the values of a Dataset, with its weights and sequences."""

    def along_samples(name: str) -> xr.DataArray | None:
        return dataset[name] if _row_variable(dataset, name, sample_dim) else None

    values = values_of(dataset, sample_dim)
    weight, sequence = along_samples("weight"), along_samples(SEQUENCE)
    sequence = None if sequence is None else with_whole_ids(sequence)
    store = dataset.encoding.get("source")
    source = _data_array_source(values, sample_dim, weight, sequence, store)
    # groups are looked up by name later, when the Dataset is not at hand
    beside = [
        name for name, variable in dataset.variables.items() if variable.dims == (sample_dim,)
    ]
    return replace(source, variables=dataset[beside])


def _data_array_source(
    array: xr.DataArray,
    sample_dim: str,
    weight: xr.DataArray | None,
    sequence: xr.DataArray | None,
    store: str | None,
) -> XarraySource | LazySource:
    """Describe a DataArray with or without a graph behind it."""
    if array.ndim != 2 or sample_dim not in array.dims:
        raise LayoutError(
            f"expected a DataArray with the dimension {sample_dim!r} and one for the features, "
            f"got {dict(array.sizes)}; " + layout_remedy([array], sample_dim)
        )
    names = feature_names_of(array, sample_dim)
    if holds_strings(array):
        array = _coded(array.transpose(sample_dim, ...), names)
    categories = _categories_of(array, sample_dim)
    if array.chunks is None:
        counted = None
        if categories is None and array.dtype.kind in "iu" and store is None:
            counted = counted_categories(array.transpose(sample_dim, ...).to_numpy())
        return XarraySource(
            *(array, sample_dim, names, weight, sequence),
            categories=counted if categories is None else categories,
            numbered=counted is not None,
            store=store,
        )
    parts = [None if part is None else part.data for part in (weight, sequence)]
    feature_dim = feature_dim_of(array, sample_dim)
    # of the values alone: coordinates, such as those of stacked dimensions, may have other chunks
    if len(array.variable.chunksizes[feature_dim]) > 1:
        raise LayoutError(
            f"the features must be in one chunk; use .chunk({{{str(feature_dim)!r}: -1}})"
        )
    source = _lazy_source(array.transpose(sample_dim, ...).data, names, *parts)
    beside = [name for name, coord in array.coords.items() if coord.dims == (sample_dim,)]
    variables = array.coords.to_dataset()[beside]
    return replace(source, categories=categories, variables=variables, feature_dim=str(feature_dim))


def _coded(array: xr.DataArray, names: Sequence[str]) -> xr.DataArray:
    """Return a DataArray of strings as codes with their categories."""
    if array.chunks is not None:
        raise DataError(
            "the values are lazy strings, whose categories only reading all of them would show; "
            "import the files with --codes (codes=True), or load the strings with .load()"
        )
    codes, categories = coded_strings(array.to_numpy())
    named = {name: list(entries) for name, entries in zip(names, categories, strict=True)}
    return array.copy(data=codes).assign_attrs({ATTRIBUTE: named})


def _lazy_source(
    array: LazyArray,
    names: tuple[str, ...],
    weight: LazyArray | NDArray[Any] | None,
    sequence: LazyArray | NDArray[Any] | None,
) -> LazySource:
    """Describe a lazy array after looking at its chunks."""
    if array.ndim != 2:
        raise LayoutError(f"expected rows and features, got a lazy array of shape {array.shape}")
    if any(np.isnan(length) for length in array.shape):
        raise LayoutError(
            "the lazy array has chunks of unknown length; call .compute_chunk_sizes() first"
        )
    if array.numblocks[1] > 1:
        raise LayoutError("the features must be in one chunk; use .rechunk({1: -1})")
    return LazySource(with_dense_chunks(array), names, weight, sequence)
