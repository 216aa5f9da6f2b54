"""A store of the rows that meet a condition, or that have labels of one population."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
import zarr
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.addresses.same_place import would_replace
from bigtensor.data.addresses.store_address import Address, as_address
from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.feature_table import VALUES
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.row_shares import RowShares
from bigtensor.data.rows.rows_where import RowsWhere, StoredVariable
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.selected_rows import select_rows
from bigtensor.data.stores.layout import (
    FEATURE_DIM,
    SAMPLE_DIM,
    SOURCE_ROW,
    RowVariable,
    SampleStoreWriter,
)
from bigtensor.data.stores.manifest import UNFINISHED
from bigtensor.data.stores.outputs import check_target
from bigtensor.data.stores.zarr_datasets import open_cells
from bigtensor.data.stores.zarr_groups import LAYOUT, open_whole_group, read_rows
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.errors import DataError, OutputError, ParameterError, Setting

_LAYOUT = (LAYOUT, UNFINISHED)
"""Attributes that the writer of a store sets itself."""


@dataclass(frozen=True)
class SubsetSummary:
    """Result of `write_subset`.

    Parameters
    ----------
    path : Path or str
        The store.
    shares : RowShares
        Numbers of rows that were kept, in all and by sample.
    features : tuple of str
        Names of the features.
    omitted : tuple of str
        Variables of the rows that were not copied, because they have further dimensions.
    """

    path: Address
    shares: RowShares
    features: tuple[str, ...]
    omitted: tuple[str, ...]


@dataclass(frozen=True)
class LabelsAmong:
    """True for the rows whose stored label is one of some numbers."""

    labels: StoredVariable
    numbers: tuple[int, ...]

    @property
    def held_nbytes(self) -> int:
        """Zero: labels are read as the rows are."""
        return 0

    def read(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Read the labels of the rows from ``start`` to ``stop``."""
        return np.isin(self.labels.read(start, stop), self.numbers)

    def fingerprint(self) -> str:
        """Return the digest of the labels and the numbers."""
        return repr((self.labels.fingerprint(), self.numbers))


def write_subset(
    cells: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    where: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    populations: Sequence[str | int] = (),
    overwrite: bool = False,
    progress: RowProgress | None = None,
) -> SubsetSummary:
    """Write the rows that meet a condition to a store, shard by whole shard.

    The new store has the features, attributes and variables of the old one. The variable
    ``source_row`` holds the row that each row had before, so that answers can be joined back. A
    subset of a subset keeps the rows of the first store.

    Parameters
    ----------
    cells : path or URL
        Store of samples that `bigtensor.import_files` made.
    out : path or URL
        Store to make.
    where : str, optional
        Condition on the rows; see `bigtensor.open_samples`.
    labels : path or URL, optional
        Store of labels of the same rows, as ``write`` makes it.
    populations : sequence of str or int
        Numbers of labels to keep, or their names in the attribute ``categories`` of the labels.
    overwrite : bool, default False
        Replace an existing store.
    progress : callable, optional
        Called with the rows that were counted and all rows, and then again with the rows that were
        written and all kept rows.

    Raises
    ------
    ParameterError, ConditionError
        When neither a condition nor populations are given, or they cannot be read.
    DataError
        When no row is kept, or the labels are of other rows.
    OutputError
        When the target exists or cannot be written.
    """
    if where is None and not populations:
        raise ParameterError(
            "a subset needs a condition ("
            + Setting("where")
            + ") or populations of labels ("
            + Setting("labels")
            + " and "
            + Setting("populations")
            + ")"
        )
    target = as_address(out)
    if any(would_replace(out, path) for path in (cells, labels) if path is not None):
        raise OutputError(f"{out} is read and would be replaced; give another name")
    check_target(target, overwrite=overwrite)
    address = os.fspath(cells)
    dataset = open_cells(address)
    samples = open_samples(address)
    flags = _flags(labels, populations, samples)
    selected = select_rows(samples, [address], where, SAMPLE_DIM, flags=flags, progress=progress)
    (source,) = selected.sources
    assert isinstance(source, RowsWhere)
    assert selected.shares is not None
    rows = _StoredRows(source, dataset, open_whole_group(address))
    rows.write(target, selected.shares, overwrite=overwrite, progress=progress)
    return SubsetSummary(target, selected.shares, source.features, rows.omitted)


def rows_with_labels(
    cells: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    numbers: Sequence[int],
    sample_dim: str = SAMPLE_DIM,
) -> Samples:
    """Return the rows of a store whose stored label is one of some numbers.

    Parameters
    ----------
    cells : path or URL
        Store of samples.
    labels : path or URL
        Store of labels of the same rows.
    numbers : sequence of int
        Numbers of labels.
    sample_dim : str, default "sample"
        Name of the sample dimension.

    Raises
    ------
    DataError
        When no row has such a label, or the labels are of other rows.
    """
    address = os.fspath(cells)
    samples = open_samples(address, sample_dim=sample_dim)
    flags = _flags(labels, numbers, samples)
    return select_rows(samples, [address], None, sample_dim, flags=flags)


def label_numbers(
    populations: Sequence[str | int], categories: Sequence[str] | None, owner: str
) -> tuple[int, ...]:
    """Return the numbers of labels by number or by name.

    Parameters
    ----------
    populations : sequence of str or int
        A text is looked up among the names before it is taken for a number.
    categories : sequence of str, optional
        Names of labels 0, 1, ...
    owner : str
        The words that name the labels in messages.

    Raises
    ------
    ParameterError
        When there is no label of a name, or no such number among labels that have names.
    """
    names = [str(name) for name in categories or ()]
    numbers: list[int] = []
    for population in populations:
        same = [number for number, name in enumerate(names) if name == population]
        number = _label_number(population)
        if not same and number is not None and (not names or -1 <= number < len(names)):
            same = [number]
        if not same:
            close = get_close_matches(str(population), names, n=3)
            there = (
                f"did you mean {', '.join(map(repr, close))}?"
                if close
                else f"there are {', '.join(map(repr, names))}"
                if names
                else "its labels have no names: give the number of a population"
            )
            raise ParameterError(f"{owner} has no population {population!r}; {there}")
        numbers += same
    return tuple(dict.fromkeys(numbers))


def _label_number(population: str | int) -> int | None:
    """Return the label that a text gives as a number, or None for a name.

    Rows without a label have -1.
    """
    digits = str(population).removeprefix("-").isdecimal()
    return int(population) if digits else None


def _flags(
    labels: str | os.PathLike[str] | None, populations: Sequence[str | int], samples: Samples
) -> dict[str, LabelsAmong]:
    """Return the variable that is true for the rows of populations, by its words."""
    if not populations and labels is None:
        return {}
    if labels is None or not populations:
        raise ParameterError(
            Setting("labels") + " and " + Setting("populations") + " belong together; give both"
        )
    address = os.fspath(labels)
    group = open_whole_group(address)
    stored: Any = group.get("label")
    if stored is None or stored.ndim != 1 or stored.dtype.kind not in "iu":
        raise DataError(
            f"{address} has no labels; give the store that 'bigtensor predict' wrote with --out"
        )
    if stored.shape[0] != samples.rows:
        raise DataError(
            f"{address} has labels of {stored.shape[0]:,} rows and the cells have "
            f"{samples.rows:,} rows; give the labels of these cells"
        )
    warn_of_other_rows(dict(group.attrs), samples)
    numbers = label_numbers(populations, stored.attrs.get("categories"), address)
    words = f"population in [{', '.join(map(str, populations))}]"
    return {words: LabelsAmong(StoredVariable(address, "label"), numbers)}


class _StoredRows:
    """Rows of a store of samples that are kept, with everything that lies beside them."""

    def __init__(self, source: RowsWhere, dataset: xr.Dataset, group: zarr.Group) -> None:
        self.source, self.dataset, self.group = source, dataset, group
        along = [
            str(name)
            for name, variable in dataset.variables.items()
            if SAMPLE_DIM in variable.dims and name not in (VALUES, SAMPLE_DIM)
        ]
        self.variables = [name for name in along if dataset[name].ndim == 1]
        self.has_raw = "raw" in along and dataset["raw"].dims == dataset[VALUES].dims
        copied = {*self.variables, *(["raw"] if self.has_raw else [])}
        self.omitted = tuple(name for name in along if name not in copied)
        # names without codes become codes, because the layout has no strings along the samples
        self.names: dict[str, dict[str, int]] = {
            name: {} for name in self.variables if dataset[name].dtype.kind in "OUST"
        }

    def write(
        self, out: Address, shares: RowShares, *, overwrite: bool, progress: RowProgress | None
    ) -> None:
        """Write the kept rows."""
        record = {"condition": shares.condition, "rows": shares.rows, "kept": shares.kept}
        own = {name: value for name, value in self.group.attrs.items() if name not in _LAYOUT}
        with SampleStoreWriter(
            out,
            self.source.features,
            dtype=self.source.dtype,
            rows=self.source.rows,
            feature_coordinates=self._coordinates(),
            row_variables=self._row_variables(),
            keep_raw=self.has_raw,
            attrs={**own, "subset": record},
            overwrite=overwrite,
        ) as store:
            for written, (values, variables) in self._blocks():
                store.append(values, **variables)
                if progress is not None:
                    progress(written, self.source.rows)
            if self.source.categories is not None:
                store.set_feature_categories(
                    dict(zip(self.source.features, self.source.categories, strict=True))
                )
            for name, codes in self.names.items():
                store.set_categories(name, list(codes))
            table = self._table()
            if table.variables:
                store.add(table)

    def _blocks(self) -> Iterator[tuple[int, tuple[NDArray[Any], dict[str, NDArray[Any]]]]]:
        """Yield the kept rows of some rows at a time, after their number so far."""
        written = 0
        for (start, stop), kept, columns in self.source.pieces(0, self.source.rows):
            variables = {
                name: self._variable(name, start, stop, kept)
                for name in (*self.variables, *(["raw"] if self.has_raw else []))
            }
            variables.setdefault(SOURCE_ROW, start + kept)
            written += len(kept)
            yield written, (np.asarray(columns.values), variables)

    def _variable(self, name: str, start: int, stop: int, kept: IntArray) -> NDArray[Any]:
        """Read the kept rows of a variable as it is stored; names become codes."""
        stored: Any = self.group[name]
        values = read_rows(stored, start, stop)[kept]
        if name not in self.names:
            return values
        codes, names = pd.factorize(np.asarray(values, object))
        table = self.names[name]
        numbers = [table.setdefault(str(entry), len(table)) for entry in names]
        return np.array([*numbers, -1], np.int32)[codes]

    def _row_variables(self) -> dict[str, RowVariable]:
        """Return the types of the variables along the samples, with their attributes."""
        variables: dict[str, RowVariable] = {}
        for name in self.variables:
            stored: Any = self.group[name]
            dtype = np.dtype(np.int32) if name in self.names else stored.dtype
            variables[name] = (dtype, dict(stored.attrs))
        return {SOURCE_ROW: "int64", **variables}

    def _coordinates(self) -> dict[str, list[str]]:
        """Return the further names of the features."""
        return {
            str(name): [str(entry) for entry in variable.to_numpy()]
            for name, variable in self.dataset.variables.items()
            if variable.dims == (FEATURE_DIM,)
            and name != FEATURE_DIM
            and variable.dtype.kind in "OUST"
        }

    def _table(self) -> xr.Dataset:
        """Return the variables that are neither along the samples nor names of features."""
        taken = {*self._coordinates(), FEATURE_DIM}
        others = [
            name
            for name, variable in self.dataset.variables.items()
            if SAMPLE_DIM not in variable.dims and name not in taken
        ]
        return self.dataset[others].drop_vars(FEATURE_DIM, errors="ignore").load()
