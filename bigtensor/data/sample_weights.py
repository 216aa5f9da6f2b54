"""Sample weights: one number a row, of the caller or stored with the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bigtensor.data.csr_source import CsrSource
from bigtensor.data.plain_arrays import without_mask
from bigtensor.data.samples import Samples
from bigtensor.data.sources import ArraySource, LazySource, Source
from bigtensor.data.xarray_source import XarraySource
from bigtensor.errors import DataError


def check_weight_dtype(dtype: Any, owner: str) -> None:
    """Raise an error for weights that are not real numbers, such as strings and times.

    Parameters
    ----------
    dtype : dtype
        Of the weights.
    owner : str
        The words that name the weights in the message.

    Raises
    ------
    DataError
    """
    if np.dtype(dtype).kind not in "fiub":
        raise DataError(f"{owner} holds {dtype}; expected one real number a row")


def with_weight(samples: Samples, weight: Any) -> Samples:
    """Attach sample weights to rows in memory or in a graph.

    Parameters
    ----------
    samples : Samples
        Of one source in memory or in a graph.
    weight : (rows,) array-like
        Lazy weights stay lazy where the rows are.

    Returns
    -------
    Samples

    Raises
    ------
    DataError
        When the weights are no numbers, not one a row, all zero, or the rows lie in a store.
    """
    weight = weight.data if isinstance(weight, xr.DataArray) else weight
    lazy = hasattr(weight, "__dask_graph__") and isinstance(samples.sources[0], LazySource)
    weights = weight if lazy else _as_numbers(weight)
    check_weight_dtype(weights.dtype, "sample_weight")
    if weights.shape != (samples.rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape}; expected ({samples.rows},), one a row"
        )
    source: Source = samples.sources[0]
    in_memory = isinstance(source, ArraySource | CsrSource | LazySource | XarraySource)
    if len(samples.sources) > 1 or not in_memory:
        raise DataError(
            "sample_weight goes with one data set in memory; store the weights of a Zarr store as "
            "its variable 'weight' along the sample dimension"
        )
    weights = weights.astype(np.float64, copy=False)
    if not lazy and not np.any(weights):
        raise DataError(
            "every sample weight is zero; give at least one row a positive weight, or leave the "
            "weights out"
        )
    if isinstance(source, XarraySource):
        source = replace(source, weight=xr.DataArray(weights, dims=[source.sample_dim]))
    elif isinstance(source, ArraySource | CsrSource | LazySource):
        source = replace(source, weight=weights)
    return replace(samples, sources=(source,))


def _as_numbers(weight: Any) -> Any:
    """Return weights as an array; objects become numbers where they are numbers."""
    try:
        array = np.asarray(without_mask(weight))
        return array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight holds no numbers ({error}); expected one a row") from error
