"""Sample weights: one number a row, of the caller or stored with the data, and their meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import RowVariableLike
from bigtensor.data.rows.sample_weight_totals import WeightTotals, weight_totals
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.csr_source import CsrSource
from bigtensor.data.sources.row_sources import ArraySource, LazySource, Source
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.values.lazy_arrays import is_lazy_array
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.data.values.sample_weight_meanings import RELATIVE
from bigtensor.errors import DataError, Setting, WeightWarning, warn

FEW_COUNTS = 0.5
"""Counts that add up to less than this share of the rows are probably relative weights."""

MANY_COUNTS = 3.0
"""Counts that are no whole numbers, with a larger mean, are probably people of a population."""

FEW_EFFECTIVE = 0.1
"""Effective share of the rows below which weights are called uneven. Log-normal survey weights with
a standard deviation of 1 have .37, and of 1.5 about .1."""

ENOUGH_EFFECTIVE = 1_000
"""Effective rows from which on uneven weights are no matter: a soft gate may keep few of many."""


def check_weight_dtype(dtype: np.dtype[Any], owner: str) -> None:
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
        remedy = "; convert texts of numbers with .astype(float)" * (dtype.kind in "UST")
        raise DataError(f"{owner} holds {dtype}; expected one real number a row{remedy}")


def with_sample_weight(samples: Samples, weight: RowVariableLike) -> Samples:
    """Attach sample weights to rows in memory or in a graph.

    Parameters
    ----------
    samples : Samples
        Of one source in memory or in a graph.
    weight : (rows,) array-like
        Lazy weights stay lazy where the rows are.

    Raises
    ------
    DataError
        When the weights are no numbers, not one a row, all zero, or the rows lie in a store.
    """
    if isinstance(weight, str):
        raise DataError(
            f"sample_weight is the text {weight!r}; expected one number a row, such as "
            f"data[{weight!r}]. A variable 'weight' along the samples is used without sample_weight"
        )
    values = weight.data if isinstance(weight, xr.DataArray) else weight
    lazy_rows = isinstance(samples.sources[0], LazySource)
    weights = values if lazy_rows and is_lazy_array(values) else _as_numbers(values)
    check_weight_dtype(weights.dtype, "sample_weight")
    if weights.shape != (samples.rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape}; expected ({samples.rows},), one a row"
            + "; give the column alone, such as table['weight']" * (weights.ndim == 2)
        )
    source: Source = samples.sources[0]
    in_memory = isinstance(source, ArraySource | CsrSource | LazySource | XarraySource)
    if len(samples.sources) > 1 or not in_memory:
        raise DataError(
            "sample_weight goes with one data set in memory; store the weights of a Zarr store as "
            "its variable 'weight' along the sample dimension"
        )
    weights = weights.astype(np.float64, copy=False)
    if isinstance(weights, np.ndarray) and not np.any(weights):
        raise DataError(
            "every sample weight is zero; give at least one row a positive weight, or leave the "
            "weights out"
        )
    if isinstance(source, XarraySource):
        source = replace(source, weight=xr.DataArray(weights, dims=[source.sample_dim]))
    elif isinstance(source, LazySource):
        source = replace(source, weight=weights)
    elif isinstance(source, ArraySource | CsrSource):
        source = replace(source, weight=np.asarray(weights))
    return replace(samples, sources=(source,))


def with_weight_meaning(samples: Samples, meaning: str) -> Samples:
    """Return samples whose weights add up to the effective number of rows.

    Counts are not changed. Relative weights are scaled so that they add up to the effective sample
    size of Kish. Equal weights become ones, and rows of weight zero have no effect.

    Parameters
    ----------
    samples : Samples
        Only their weights are read.
    meaning : {"counts", "relative"}
        ``"counts"`` if a row of weight 2 stands for two rows, else ``"relative"``.

    Raises
    ------
    DataError
        When no row has a positive weight.

    Warns
    -----
    WeightWarning
        When counts add up to less than half the number of rows, or are no whole numbers and add up
        to more than three times the number of rows. When the effective number of rows is below a
        tenth of the rows of positive weight and below 1,000, unless the weights are counts in
        whole numbers.
    """
    if not samples.has_weight:
        return samples
    totals = weight_totals(samples.sources)
    if not totals.rows:
        raise DataError(
            f"no row of {samples.describe()} has a positive sample weight; give at least one row "
            "a positive weight, or leave the weights out"
        )
    whole = meaning != RELATIVE and totals.whole
    if not whole:
        _warn_of_uneven_weights(totals)
    samples = replace(samples, whole_weights=whole)
    if meaning == RELATIVE:
        scale = totals.effective_rows / totals.total
        return replace(
            samples,
            weight_scale=scale,
            weights_repeat_rows=False,
            total_weight=totals.effective_rows,
        )
    if totals.total < FEW_COUNTS * totals.rows:
        warn(
            f"the sample weights of {totals.rows:,} rows add up to {totals.total:.3g}, so that "
            f"these rows count as {totals.total:.3g} rows only; if the weights only compare rows, "
            "use " + Setting("weights", RELATIVE),
            WeightWarning,
        )
    elif totals.total > MANY_COUNTS * totals.rows and not totals.whole:
        warn(
            f"the sample weights of {totals.rows:,} rows are no whole numbers and add up to "
            f"{totals.total:.3g}, so that a row counts as {totals.total / totals.rows:.3g} rows on "
            "average; if the weights compare rows, as survey weights that stand for people do, use "
            + Setting("weights", RELATIVE),
            WeightWarning,
        )
    return replace(samples, total_weight=totals.total)


def _warn_of_uneven_weights(totals: WeightTotals) -> None:
    """Warn of weights that a few rows hold most of. Whole counts may be frequencies of patterns."""
    if totals.effective_rows < min(FEW_EFFECTIVE * totals.rows, ENOUGH_EFFECTIVE):
        warn(
            f"the sample weights of {totals.rows:,} rows are so uneven that estimates are as "
            f"uncertain as with {totals.effective_rows:,.0f} equal rows (Kish's effective sample "
            f"size; the largest weight is {100 * totals.largest / totals.total:.2g} % of the sum); "
            "check the largest weights, or cap them, such as at ten times the median",
            WeightWarning,
        )


def _as_numbers(weight: RowVariableLike) -> NDArray[Any]:
    """Return weights as an array; objects become numbers, unless they are texts."""
    try:
        array = np.asarray(without_mask(weight))
        if array.dtype != object:
            return array
        if any(isinstance(cell, str) for cell in array.ravel()):
            return array.astype(str)
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight holds no numbers ({error}); expected one a row") from error
