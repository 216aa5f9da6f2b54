"""Conditions of samples as variables of the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.importers.column_files import ReadValues
from bigtensor.data.stores.layout import SAMPLES
from bigtensor.data.stores.zarr_groups import open_whole_group, read_rows
from bigtensor.errors import DataError


@dataclass(frozen=True)
class LookedUp:
    """The value of the sample of every row, looked up as it is read."""

    codes: Any
    table: NDArray[Any]
    """One value a code, and last the value of rows without a sample."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows."""
        return (int(self.codes.shape[0]),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.table.dtype

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the values of some rows."""
        codes = read_rows(self.codes, *rows.indices(self.shape[0])[:2])
        inside = (codes >= 0) & (codes < len(self.table) - 1)
        return self.table[np.where(inside, codes, len(self.table) - 1)]


def names_of_samples(store: str | os.PathLike[str], variable: str = SAMPLES) -> list[str]:
    """Return the names of the samples of a store, in the order of their codes.

    Parameters
    ----------
    store : path-like
        Store of samples.
    variable : str, default "sample_id"
        Variable of the rows that has the names of the samples.

    Raises
    ------
    DataError
        When the store does not say which sample a row is of.
    """
    codes: Any = open_whole_group(store).get(variable)
    categories = None if codes is None else codes.attrs.get("categories")
    if categories is None:
        raise DataError(
            f"{store} has no variable {variable!r} with names of samples; import the files again, "
            "with --sample-id for tables"
        )
    return [str(name) for name in categories]


def columns_by_sample(
    store: str | os.PathLike[str], columns: Mapping[str, Sequence[str]]
) -> dict[str, ReadValues]:
    """Return conditions of samples as variables of the rows of a store.

    Parameters
    ----------
    store : path-like
        Store of samples with the variable ``sample_id``.
    columns : mapping of str to sequence of str
        Conditions, each with a text for every sample in the order of `names_of_samples`. A
        condition whose texts are all numbers, or empty, becomes numbers. Others become names.
    """
    codes = open_whole_group(store)[SAMPLES]
    return {name: _by_code(codes, texts) for name, texts in columns.items()}


def _by_code(codes: Any, texts: Sequence[str]) -> ReadValues:
    """Return a condition with one text a sample as a variable of the rows."""
    try:
        numbers = [float(text) if text else np.nan for text in texts]
    except ValueError:
        names = list(dict.fromkeys(text for text in texts if text))
        code = {name: number for number, name in enumerate(names)}
        table = np.array([*(code.get(text, -1) for text in texts), -1], np.int32)
        return ReadValues(LookedUp(codes, table), {"categories": names})
    return ReadValues(LookedUp(codes, np.array([*numbers, np.nan])))
