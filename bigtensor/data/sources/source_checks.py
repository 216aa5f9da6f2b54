"""Checks of data sets before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import LazySource, Source
from bigtensor.data.values.matrices import DATES_REMEDY
from bigtensor.data.values.plain_arrays import native_dtype
from bigtensor.errors import DataError, FileFormatWarning, MissingValueWarning, warn

_MISSING_TEXTS = {"nan", "<NA>", "NaT"}
"""Texts that NumPy and pandas make of missing values where they convert them to strings."""


def check_alike(sources: Sequence[Source]) -> None:
    """Refuse data sets that cannot be read as one."""
    first = sources[0]
    for source in sources[1:]:
        if isinstance(source, LazySource) != isinstance(first, LazySource):
            raise DataError(
                f"{source.describe()} and {first.describe()} cannot be read as one; give either "
                "only lazy arrays or none"
            )
        if is_sparse(source) != is_sparse(first):
            raise DataError(
                f"{source.describe()} and {first.describe()} cannot be read as one; give either "
                "only sparse rows or none"
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
        if source.categories != first.categories:
            raise DataError(
                f"the codes of {source.describe()} have other categories than those of "
                f"{first.describe()}; import the files into one store"
            )


def check_values(source: Source) -> None:
    """Refuse values that no model can use."""
    if source.rows == 0:
        raise DataError(f"Found array with 0 sample(s): {source.describe()} is empty")
    if not source.features:
        raise DataError(
            f"Found array with 0 feature(s) (shape=({source.rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if source.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and imaginary parts as features")
    if source.dtype.kind in "mM":
        raise DataError(
            f"the values of {source.describe()} are {source.dtype}; {DATES_REMEDY}, or leave them "
            "out"
        )
    if not (
        (source.dtype.kind == "f" and source.dtype.itemsize <= 8) or source.dtype.kind in "iub"
    ):
        raise DataError(
            f"the values of {source.describe()} are {source.dtype}; expected floats of at most 64 "
            "bits for measurements, or integers for codes: convert with .astype('float32') if the "
            "numbers are measurements"
        )


def warn_of_missing_texts(source: Source) -> None:
    """Warn of categories in memory that probably were missing values before a conversion."""
    if source.categories is None or not source.held_nbytes:
        return
    named = [
        feature
        for feature, names in zip(source.features, source.categories, strict=True)
        if not _MISSING_TEXTS.isdisjoint(names)
    ]
    if named:
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        warn(
            f"features {named[:5]}{more} have a category 'nan', '<NA>' or 'NaT', which str makes "
            "of a missing value; to have it missing, give None in its place, or convert the "
            "original pandas table with .astype('category') rather than .astype(str)",
            MissingValueWarning,
        )


def warn_of_undecoded(numbers: Sequence[tuple[xr.DataArray, xr.Dataset | None]]) -> None:
    """Warn of packed values and of values that stand for missing ones, by the attributes alone.

    xarray moves these attributes of the CF conventions to ``encoding`` when it decodes values.

    Parameters
    ----------
    numbers : sequence of (DataArray, Dataset)
        Numbers as the caller gives them, and the Dataset that holds them, if there is one. The
        first ones that are not decoded are warned of.
    """
    for variable, dataset in numbers:
        names = _undecoded(variable)
        if not names:
            continue
        listed = ", ".join(f"{name}={variable.attrs[name]}" for name in names)
        decoded = "data" if dataset is not None else "data.to_dataset(name='X')"
        warn(
            f"{variable.name or 'the array'} has the attributes {listed}, which xarray removes "
            "when it decodes values, so that packed numbers and fill values are probably taken for "
            "measured ones; open the data with mask_and_scale of xarray on, its default, or "
            f"use xarray.decode_cf({decoded}). If the values are decoded, remove "
            f"{' and '.join(names)} from the attributes",
            FileFormatWarning,
        )
        return


def _undecoded(variable: xr.DataArray) -> list[str]:
    """Return the attributes that decoding would have removed, without those that change nothing.

    Scale 1 and offset 0 remain on decoded images of rioxarray. 0 as ``_FillValue`` is the default
    of Zarr v2, and -1 is the code of a missing category.
    """
    codes = {-1} if variable.dtype.kind == "i" else set()
    passed: dict[str, set[int]] = {
        "scale_factor": {1},
        "add_offset": {0},
        "_FillValue": {0} | codes,
        "missing_value": codes,
    }
    names = []
    for name, neutral in passed.items():
        numbers = np.atleast_1d(variable.attrs.get(name, np.nan))
        if numbers.dtype.kind in "iuf" and not set(numbers[numbers == numbers].tolist()) <= neutral:
            names.append(name)
    return names
