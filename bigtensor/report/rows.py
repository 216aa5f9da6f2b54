"""Sample of the data, with the label of every row, known classes and samples."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.anndata.files import is_h5ad
from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.rows.row_variables import variables_beside
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.anndata_datasets import anndata_dataset
from bigtensor.data.sources.anndata_source import (
    anndata_file_source,
    anndata_source,
    anndata_store_source,
    holds_anndata,
    is_anndata,
)
from bigtensor.data.stores.zarr_datasets import as_dataset
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.errors import DataError, LayoutError, ParameterError, StoreReadError
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.opening_for_answers import with_features_of_fit
from bigtensor.models.words.label_level import level_of
from bigtensor.models.words.sampled_rows import (
    Groups,
    LabelledRows,
    SampledRows,
    Stretch,
    kept_rows,
    read_windows,
    row_answers,
    summed_weights,
)
from bigtensor.report.row_names import row_names
from bigtensor.report.samples.acquisition import BINS, MOST_COUNTERS, AcquisitionCounts

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator

LabelsLike: TypeAlias = "str | os.PathLike[str] | xr.Dataset | xr.DataArray | npt.ArrayLike"
"""Labels of rows: a store of them, or an array."""

WINDOWS = 64
"""Windows of rows that a sample is read from, spread evenly over the data."""

_WINDOW_ROWS = 2**20
"""Rows whose labels are counted at once."""

_CLASS_KINDS = "biuUSOT"
"""Kinds of NumPy types that classes may have: integers and strings."""


def windows(rows: int, size: int) -> list[slice]:
    """Return at most 64 slices of rows, evenly spread, that hold ``size`` rows or slightly fewer.

    Parameters
    ----------
    rows, size : int
        Rows of the data, and of the sample.

    Returns
    -------
    list of slice
        Disjoint and ascending; one slice of all rows where there are no more than ``size``.
    """
    if rows <= size:
        return [slice(0, rows)]
    count = min(WINDOWS, size)
    length = size // count
    starts = np.linspace(0, rows - length, count).astype(int).tolist()
    return [slice(start, start + length) for start in starts]


def read_rows(
    model: Estimator,
    data: DataLike,
    labels: LabelsLike | None = None,
    sample_size: int = 20_000,
    truth: str | None = None,
) -> SampledRows:
    """Read a sample of the data, and label it where the model gives labels.

    Parameters
    ----------
    model : fitted model
        Model whose features are read.
    data : path, xarray, AnnData, array-like, or a list of these
        As for `fit`. Only the sample is read, and evaluated once.
    labels : path, xarray Dataset or DataArray, or (rows,) array, optional
        Of the same rows as ``data``: the integer variable ``label``. All of them are counted.
        Without it the model labels the sample.
    sample_size : int, default 20,000
        Rows at most.
    truth : str, optional
        Variable of the data with the known class of every row. Without it this is ``label``, if the
        data have it.

    Returns
    -------
    LabelledRows
        Of a mixture; else SampledRows, with the states of a hidden Markov model if `labels` are
        given.

    Raises
    ------
    StoreReadError, LayoutError, DataError, ViewError
        When there is no such store, features of the model are missing, or the labels are not
        those of the data or of the model.
    ParameterError
        When ``sample_size`` is less than 1, the data have no such `truth`, or the model gives no
        labels that those given could stand for.
    """
    if sample_size < 1:
        raise ParameterError(f"sample_size is {sample_size}; expected at least 1")
    dim = model.sample_dim
    samples = with_features_of_fit(model, data)
    beside = variables_beside(samples, dim) if holds_anndata(data) else _beside(data, dim)
    class_variable = truth_variable(beside, dim, truth)
    if labels is not None and "label" not in _answers(model):
        raise ParameterError(f"a {type(model).__name__} gives no labels; leave labels out")
    parts = windows(samples.rows, sample_size)
    sampled, valid = read_windows(samples, parts, marginalised=model.missing == MARGINALISE)
    if not valid.any():
        raise DataError(f"all {len(valid):,} sampled rows hold missing values; check the data")
    classes = _groups(class_variable, dim, parts, valid)
    sample_id = _groups(_along_rows(beside, "sample_id", dim), dim, parts, valid)
    if truth is not None and classes is not None and not (classes.codes >= 0).any():
        raise DataError(
            f"no sampled row has a class in {truth!r}: all are negative or empty. Name another "
            "variable (truth) or read more rows (sample_size)"
        )
    kept = kept_rows(sampled, valid)
    names = row_names(data, beside, dim, parts)
    index = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    rows = SampledRows(
        values=kept.values,
        weight=kept.row_weights(),
        truth=classes,
        sample_id=sample_id,
        total=samples.rows,
        left_out=int(np.count_nonzero(~valid)),
        samples=samples,
        index=index[valid],
        names=None if names is None else names[valid],
    )
    if not isinstance(model, MixtureAnswers):
        if labels is None:
            return rows
        states = _stored_states(labels, dim, parts, samples, model)
        return replace(rows, state=states[valid])
    answers = row_answers(model, kept, ("label", "probability"))
    label, probability = answers["label"], answers["probability"].astype(np.float64)
    label_weights, label_rows, stretches = None, None, tuple[Stretch, ...]()
    if labels is not None:
        variable = _label_variable(labels, samples, model)
        label = _take(variable, dim, parts)[valid]
        label_weights, label_rows, stretches = _counted_labels(variable, beside, samples, model)
    return LabelledRows(
        **vars(rows),
        label=label.astype(np.int64),
        probability=probability,
        label_weights=label_weights,
        label_rows=label_rows,
        stretches=stretches,
    )


def truth_variable(dataset: xr.Dataset, sample_dim: str, truth: str | None) -> xr.DataArray | None:
    """Return the variable with the known classes of the rows, unread.

    Parameters
    ----------
    dataset : xarray Dataset
        Data, with the dimension of the rows.
    sample_dim : str
        Dimension of the rows.
    truth : str, optional
        Name of the variable. Without it this is ``label``, if the data have it.

    Raises
    ------
    ParameterError
        When there is no variable of this name, or it has no class for every row.
    """
    if truth is None:
        return _along_rows(dataset, "label", sample_dim)
    able = sorted(
        str(name)
        for name, variable in dataset.variables.items()
        if variable.dims == (sample_dim,) and variable.dtype.kind in _CLASS_KINDS
    )
    instead = f"name one of {', '.join(able)}" if able else "the data have no such variable"
    if truth not in dataset.variables:
        raise ParameterError(f"the data have no variable {truth!r} with known classes; {instead}")
    if truth not in able:
        variable = dataset.variables[truth]
        raise ParameterError(
            f"{truth!r} holds {variable.dtype} along {variable.dims}; known classes are integers "
            f"or strings along {(sample_dim,)}: {instead}"
        )
    return dataset[truth]


def _answers(model: Estimator) -> tuple[str, ...]:
    """Return the names of the answers that the model writes for every row."""
    try:
        return model.description.row_outputs(model)
    except ParameterError:
        return ()


def _stored_states(
    labels: LabelsLike, sample_dim: str, parts: list[slice], samples: Samples, model: Estimator
) -> NDArray[np.int64]:
    """Return the stored states of windows of rows.

    Raises
    ------
    DataError
        When the labels are not those of the data or of the model.
    """
    states = _take(_label_variable(labels, samples, model), sample_dim, parts).astype(np.int64)
    count = len(model.occupancy_)
    if states.min() < -1 or states.max() >= count:
        raise DataError(
            f"the labels run from {states.min()} to {states.max()}, and the model has states 0 to "
            f"{count - 1}; give the labels that this model predicted"
        )
    return states


def _beside(data: object, sample_dim: str) -> xr.Dataset:
    """Return the variables that lie beside the values of the data, without reading a row."""
    if isinstance(data, xr.DataArray):
        return data.coords.to_dataset()
    if isinstance(data, xr.Dataset):
        return data
    if isinstance(data, str | os.PathLike):
        return _stored(os.fspath(data), sample_dim)
    if is_anndata(data):
        return anndata_dataset(anndata_source(data), sample_dim)
    if isinstance(data, Samples):
        return variables_beside(data, sample_dim)
    return xr.Dataset()


def _label_dataset(labels: LabelsLike, sample_dim: str) -> xr.Dataset:
    """Open a store of labels, or wrap an array of them, without reading a row."""
    if isinstance(labels, xr.DataArray):
        return labels.to_dataset(name="label")
    if isinstance(labels, xr.Dataset | str | os.PathLike) or is_anndata(labels):
        return _beside(labels, sample_dim)
    array = np.asarray(labels)
    if array.ndim != 1:
        raise LayoutError(f"expected one label a row, got an array of shape {array.shape}")
    return xr.Dataset({"label": (sample_dim, array)})


def _stored(path: str, sample_dim: str) -> xr.Dataset:
    """Open a store, or AnnData, by its path or URL."""
    if is_h5ad(path):
        return anndata_dataset(anndata_file_source(path), sample_dim)
    group = open_whole_group(path)
    source = anndata_store_source(path, group)
    if source is None:
        return as_dataset(path, group)
    return anndata_dataset(source, sample_dim)


def _label_variable(labels: LabelsLike, samples: Samples, model: Estimator) -> xr.DataArray:
    """Return the labels of all rows, unread. Labels of other rows or fits raise a DataError."""
    sample_dim = model.sample_dim
    dataset = _label_dataset(labels, sample_dim)
    variable = _along_rows(dataset, "label", sample_dim)
    if variable is None or variable.dtype.kind not in "iu":
        raise DataError(
            f"the labels have no integer variable 'label' along {sample_dim!r}; 'bigtensor "
            "predict' and model.write make such a store"
        )
    if variable.sizes[sample_dim] != samples.rows:
        raise DataError(
            f"there are {variable.sizes[sample_dim]:,} labels and {samples.rows:,} rows of data; "
            "give the labels that were predicted for these data"
        )
    attrs = {**dataset.attrs, **variable.attrs}
    model.require_own_fit(attrs)
    warn_of_other_rows(attrs, samples)
    return variable


def _counted_labels(
    labels: xr.DataArray, beside: xr.Dataset, samples: Samples, model: Estimator
) -> tuple[FloatArray, FloatArray, tuple[Stretch, ...]]:
    """Return weight and number of all rows with each label, and labels in one stretch of a sample.

    Raises
    ------
    DataError
        When the labels are not those of the model.
    """
    dim, level = model.sample_dim, level_of(model)
    if isinstance(model, MixtureAnswers):
        model.require_own_labels(labels.attrs)
    weights = _along_rows(beside, "weight", dim) if samples.has_weight else None
    windows = _label_windows(samples.rows)
    codes = _sample_codes(beside, dim, level.count)
    counts = None
    if codes is not None:
        sizes = np.zeros(len(codes.names), np.int64)
        for window in windows:
            code = codes.read(window)
            sizes += np.bincount(code[code >= 0], minlength=len(sizes))
        counts = AcquisitionCounts(level.count, sizes)
    totals, rows = np.zeros(level.count), np.zeros(level.count)
    for window in windows:
        label = _take(labels, dim, [window]).astype(np.int64)
        if label.min() < -1 or label.max() >= level.count:
            raise DataError(
                f"the labels run from {label.min()} to {label.max()}, and the model has "
                f"{level.name}s 0 to {level.count - 1}; give the labels that this model predicted"
            )
        weight = None
        if weights is not None:
            weight = _take(weights, dim, [window]).astype(np.float64)
        elif samples.has_weight:
            # several data sets have no variables beside them
            weight = read_windows(samples, [window])[0].weight
        totals += summed_weights(label, weight, level.count)
        is_row = None if weight is None else (weight > 0).astype(np.float64)
        rows += summed_weights(label, is_row, level.count)
        if counts is not None and codes is not None:
            counts.add(label, codes.read(window))
    stretches = () if counts is None or codes is None else counts.stretches(codes.names)
    return totals, rows, stretches


def _label_windows(rows: int) -> list[slice]:
    """Return slices of all rows whose labels are counted at once."""
    return [slice(start, min(start + _WINDOW_ROWS, rows)) for start in range(0, rows, _WINDOW_ROWS)]


@dataclass(frozen=True, eq=False)
class _SampleCodes:
    """Sample of every row, by its place among names."""

    variable: xr.DataArray
    sample_dim: str
    names: tuple[str, ...]

    def read(self, window: slice) -> NDArray[np.int64]:
        """Read the samples of some rows. Codes without a name are -1."""
        codes = _take(self.variable, self.sample_dim, [window]).astype(np.int64)
        return np.where(codes < len(self.names), codes, -1)


def _sample_codes(beside: xr.Dataset, sample_dim: str, n_labels: int) -> _SampleCodes | None:
    """Return the samples of the rows, if their names are stored and there are not too many."""
    variable = _along_rows(beside, "sample_id", sample_dim)
    if variable is None or variable.dtype.kind not in "iu":
        return None
    names = tuple(str(name) for name in variable.attrs.get("categories", ()))
    if not names or n_labels * len(names) * BINS > MOST_COUNTERS:
        return None
    return _SampleCodes(variable, sample_dim, names)


def _along_rows(dataset: xr.Dataset, name: str, sample_dim: str) -> xr.DataArray | None:
    """Return a variable along the samples, if the data set has it."""
    is_along_rows = name in dataset and dataset[name].dims == (sample_dim,)
    return dataset[name] if is_along_rows else None


def _groups(
    variable: xr.DataArray | None, sample_dim: str, parts: list[slice], keep: NDArray[np.bool_]
) -> Groups | None:
    """Return codes and names of a variable of integers or of names.

    Negative integers and empty names stand for none.
    """
    if variable is None:
        return None
    taken = _take(variable, sample_dim, parts)[keep]
    if variable.dtype.kind in "iu":
        codes = np.maximum(taken.astype(np.int64), -1)
        categories = [str(name) for name in variable.attrs.get("categories", ())]
        if categories and codes.max(initial=-1) < len(categories):
            return Groups(codes, tuple(categories))
        # identifiers may be large: only those that occur are counted
        distinct, positions = np.unique(codes, return_inverse=True)
        class_codes = [int(code) for code in distinct if code >= 0]
        names = [categories[code] if code < len(categories) else str(code) for code in class_codes]
    else:
        missing = xr.DataArray(taken).isnull().to_numpy()
        texts = np.char.strip(np.where(missing, "", taken.astype(str)))
        distinct, positions = np.unique(texts, return_inverse=True)
        names = [str(name) for name in distinct if name]
    # what stands for none is the smallest of all
    first = len(distinct) - len(names)
    return Groups(positions.astype(np.int64) - first, tuple(names))


def _take(variable: xr.DataArray, sample_dim: str, parts: list[slice]) -> NDArray[Any]:
    """Read windows of rows."""
    try:
        return np.concatenate([variable.isel({sample_dim: part}).to_numpy() for part in parts])
    except Exception as error:
        raise StoreReadError(
            f"{variable.name!r} cannot be read ({type(error).__name__}: {error}); the store may be "
            "damaged: restore it from a copy or make it again"
        ) from error
