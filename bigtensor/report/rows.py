"""A sample of the data, with the label of every row, and what else is known of the rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.zarr_datasets import open_dataset
from bigtensor.errors import DataError, LayoutError, ParameterError, StoreReadError, ViewError

WINDOWS = 64
"""Windows of rows that a sample is read from, spread evenly over the data."""

_CLASS_KINDS = "biuUSOT"
"""Kinds of NumPy types that classes may have: integers and strings."""


@dataclass(frozen=True, eq=False)
class Groups:
    """What a variable of the data says of the rows.

    Attributes
    ----------
    codes : (n,) int64 array
        Positions in ``names``; -1 for none.
    names : tuple of str
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Rows to draw and to count.

    Attributes
    ----------
    values : (n, p) float array
        Features one view beside the other, as in ``model.views_.feature_names``; all finite.
    label : (n,) int64 array
        Population of every row where the model has any, else component; -1 for none.
    probability : (n, m) float64 array
        Posterior probability of every one.
    weight : (n,) float64 array
        Sample weights; ones where the data have none.
    truth : Groups, optional
        Known classes of the rows.
    sample_id : Groups, optional
        Of the variable ``sample_id`` of the data.
    total : int
        Rows of the data.
    left_out : int
        Rows of the sample with missing values, which are not among the rows.
    """

    values: NDArray[np.floating]
    label: NDArray[np.int64]
    probability: NDArray[np.float64]
    weight: NDArray[np.float64]
    truth: Groups | None
    sample_id: Groups | None
    total: int
    left_out: int

    @property
    def certainty(self) -> NDArray[np.float64]:
        """Posterior probability of the most probable component, or population, of every row."""
        return np.asarray(self.probability.max(axis=1))

    def shares(self, n_labels: int) -> NDArray[np.float64]:
        """Return the weighted part of the rows that have every label: ``(n_labels,)``."""
        known = self.label >= 0
        counts = np.bincount(self.label[known], self.weight[known], minlength=n_labels)
        return np.asarray(counts / max(float(counts.sum()), np.finfo(np.float64).tiny))


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
    model: Any,
    data: Any,
    labels: Any = None,
    sample_size: int = 20_000,
    truth: str | None = None,
) -> ReportRows:
    """Read a sample of the data and find the label of every row.

    Parameters
    ----------
    model : fitted model
    data : path, xarray Dataset or DataArray, or (rows, features) array
        A path names a Zarr store. Only the sample is read.
    labels : path, xarray Dataset or DataArray, or (rows,) array, optional
        Of the same rows as ``data``: the integer variable ``label``. Without it the model labels
        the sample.
    sample_size : int, default 20,000
        Rows at most.
    truth : str, optional
        Variable of the data with the known class of every row. Without it this is ``label``, if the
        data have it.

    Returns
    -------
    ReportRows

    Raises
    ------
    StoreReadError, LayoutError, DataError, ViewError
        When there is no such store, features of the model are missing, or the labels are not
        those of the data or of the model.
    ParameterError
        When ``sample_size`` is less than 1, or the data have no such `truth`.
    """
    if sample_size < 1:
        raise ParameterError(f"sample_size is {sample_size}; expected at least 1")
    dim = model.sample_dim
    dataset = _dataset(data, "X", (dim, "feature"))
    known = truth_variable(dataset, dim, truth)
    values = _feature_values(dataset, model)
    total = int(values.sizes[dim])
    if not total:
        raise DataError("the data have no rows; give the data that the model was fitted on")
    parts = windows(total, sample_size)
    sampled = _take(values, dim, parts)
    keep = np.isfinite(sampled).all(axis=1)
    if not keep.any():
        raise DataError(f"all {len(keep):,} sampled rows hold missing values; check the data")
    classes, sample_id = (
        _groups(variable, dim, parts, keep)
        for variable in (known, _along_rows(dataset, "sample_id", dim))
    )
    if truth is not None and classes is not None and not (classes.codes >= 0).any():
        raise DataError(
            f"no sampled row has a class in {truth!r}: all are negative or empty. Name another "
            "variable (truth) or read more rows (sample_size)"
        )
    rows = as_fitted(sampled[keep], model)
    probability = np.asarray(model.predict_proba(rows))
    kept_labels = None
    if labels is not None:
        kept_labels = _given_labels(labels, model, total, parts, probability.shape[1])[keep]
    weight = _along_rows(dataset, "weight", dim)
    return ReportRows(
        values=sampled[keep],
        label=np.asarray(model.predict(rows) if kept_labels is None else kept_labels, np.int64),
        probability=probability.astype(np.float64),
        weight=np.ones(keep.sum()) if weight is None else _take(weight, dim, parts)[keep],
        truth=classes,
        sample_id=sample_id,
        total=total,
        left_out=int(np.count_nonzero(~keep)),
    )


def truth_variable(dataset: xr.Dataset, sample_dim: str, truth: str | None) -> xr.DataArray | None:
    """Return the variable with the known classes of the rows, unread.

    Parameters
    ----------
    dataset : xarray Dataset
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
        found = dataset.variables[truth]
        raise ParameterError(
            f"{truth!r} holds {found.dtype} along {found.dims}; known classes are integers or "
            f"strings along {(sample_dim,)}: {instead}"
        )
    return dataset[truth]


def _dataset(data: Any, name: str, dims: tuple[str, ...]) -> xr.Dataset:
    """Open a store, or wrap an array, without reading a row."""
    if isinstance(data, xr.Dataset):
        return data
    if isinstance(data, xr.DataArray):
        return data.to_dataset(name=name)
    if not isinstance(data, str | os.PathLike):
        # xarray shows masked values as missing, where NumPy loses the mask
        array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if array.ndim != len(dims):
            raise LayoutError(f"expected an array of dimensions {dims}, got shape {array.shape}")
        return xr.Dataset({name: (dims, array)})
    return open_dataset(os.fspath(data))[1]


def _feature_values(dataset: xr.Dataset, model: Any) -> xr.DataArray:
    """Return the features of the model, one view beside the other, still unread."""
    dim = model.sample_dim
    found = {
        str(name): variable
        for name, variable in dataset.data_vars.items()
        if variable.ndim == 2 and dim in variable.dims and variable.dtype.kind == "f"
    }
    if not found or (len(found) > 1 and "X" not in found):
        raise LayoutError(
            f"expected one variable of numbers with the dimension {dim!r} and one of features, or "
            f"one called 'X'; the data have {sorted(found) or 'none'}"
        )
    values = found["X"] if "X" in found else next(iter(found.values()))
    values = values.transpose(dim, ...)
    feature_dim = values.dims[1]
    wanted: Sequence[str] = model.views_.feature_names
    if feature_dim not in values.coords or not hasattr(model, "feature_names_in_"):
        if values.sizes[feature_dim] != model.n_features_in_:
            raise DataError(
                f"the data have {values.sizes[feature_dim]} features and the model was fitted on "
                f"{model.n_features_in_}; without names they go by position: give the data of the "
                "fit"
            )
        return values.isel({feature_dim: list(model.views_.order)})
    names = [str(name) for name in values.coords[feature_dim].to_numpy()]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ViewError(
            f"the data lack the features {', '.join(missing)} of the model; they have "
            f"{', '.join(names)}"
        )
    return values.isel({feature_dim: [names.index(name) for name in wanted]})


def as_fitted(values: NDArray[Any], model: Any) -> Any:
    """Return rows as the model takes them: by name, or at the positions that they had in the fit.

    Features that the model does not use are zero.

    Parameters
    ----------
    values : (n, p) array
        In the order of ``model.views_.feature_names``.
    model : fitted model

    Returns
    -------
    (n, p) DataArray, or (n, features of the fit) array
    """
    if hasattr(model, "feature_names_in_"):
        names = {"feature": list(model.views_.feature_names)}
        return xr.DataArray(values, names, (model.sample_dim, "feature"))
    placed = np.zeros((len(values), model.n_features_in_), values.dtype)
    placed[:, list(model.views_.order)] = values
    return placed


def _given_labels(
    labels: Any, model: Any, total: int, parts: list[slice], count: int
) -> NDArray[np.int64]:
    """Read the labels of the sampled rows, and check that they belong to data and model."""
    dim = model.sample_dim
    variable = _along_rows(_dataset(labels, "label", (dim,)), "label", dim)
    if variable is None or variable.dtype.kind not in "iu":
        raise DataError(
            f"the labels have no integer variable 'label' along {dim!r}; 'bigtensor predict' and "
            "model.write make such a store"
        )
    if variable.sizes[dim] != total:
        raise DataError(
            f"there are {variable.sizes[dim]:,} labels and {total:,} rows of data; give the "
            "labels that were predicted for these data"
        )
    taken = _take(variable, dim, parts).astype(np.int64)
    if taken.size and (taken.min() < -1 or taken.max() >= count):
        kind = "components" if count == len(model.weights_) else "populations"
        raise DataError(
            f"the labels run from {taken.min()} to {taken.max()}, and the model has {kind} 0 "
            f"to {count - 1}; give the labels that this model predicted"
        )
    return taken


def _along_rows(dataset: xr.Dataset, name: str, sample_dim: str) -> xr.DataArray | None:
    """Return a variable along the samples, if the data set has it."""
    found = name in dataset and dataset[name].dims == (sample_dim,)
    return dataset[name] if found else None


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
        found, positions = np.unique(codes, return_inverse=True)
        known = [int(code) for code in found if code >= 0]
        names = [categories[code] if code < len(categories) else str(code) for code in known]
    else:
        missing = xr.DataArray(taken).isnull().to_numpy()
        texts = np.char.strip(np.where(missing, "", taken.astype(str)))
        found, positions = np.unique(texts, return_inverse=True)
        names = [str(name) for name in found if name]
    # what stands for none is the smallest of all
    first = len(found) - len(names)
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
