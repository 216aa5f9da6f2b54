"""Containers of the input, and answers in the same kind of container."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.sources.anndata_source import is_anndata

COMPONENT_DIM = "component"
"""The dimension of components in labelled outputs."""


def is_path(X: Any) -> bool:
    """Return True if the data are given by address."""
    return isinstance(X, str | os.PathLike)


def is_labelled(X: Any) -> bool:
    """Return True if features are found by name."""
    if isinstance(X, list | tuple):
        return bool(X) and all(is_labelled(part) for part in X)
    return is_path(X) or isinstance(X, xr.DataArray | xr.Dataset) or is_anndata(X)


def is_lazy(X: Any) -> bool:
    """Return True if the answer should be lazy."""
    if isinstance(X, xr.Dataset):
        # X.chunks raises where variables have other chunks than each other
        return any(variable.chunks is not None for variable in X.variables.values())
    if isinstance(X, xr.DataArray):
        return X.chunks is not None
    return hasattr(X, "__dask_graph__") or is_path(X)


def labelled_answer(
    X: Any, array: Any, dims: tuple[Hashable, ...], name: str, attrs: Mapping[str, Any]
) -> xr.DataArray:
    """Label an answer with the coordinates along its rows and the attributes of the data.

    Rows of AnnData are labelled by ``obs_names``.

    Parameters
    ----------
    X : path, xarray Dataset or DataArray, or AnnData
        The data that the answer belongs to.
    array : (rows, ...) array
        Answers, one a row.
    dims : tuple of hashable
        The sample dimension first.
    name : str
        Name of the answer.
    attrs : mapping
        Attributes of the answer. They replace attributes of the data.
    """
    if not isinstance(X, xr.DataArray | xr.Dataset):
        names = {dims[0]: X.obs_names.to_numpy(object)} if is_anndata(X) else None
        return xr.DataArray(array, names, dims, name=name, attrs=dict(attrs))
    coords = _coords_along(X, dims[0])
    return xr.DataArray(array, coords, dims, name=name, attrs={**X.attrs, **attrs})


def labelled_like(points: Any, density: NDArray[np.float64]) -> Any:
    """Label a density along the points' dimension and the components."""
    if not isinstance(points, xr.DataArray):
        return density
    dim = points.dims[0]
    coords = _coords_along(points, dim)
    return xr.DataArray(density, coords, (dim, COMPONENT_DIM), name="density")


def _coords_along(X: xr.DataArray | xr.Dataset, dim: Any) -> dict[Any, xr.DataArray]:
    """Return the coordinates along one dimension."""
    return {name: coord for name, coord in X.coords.items() if coord.dims == (dim,)}
