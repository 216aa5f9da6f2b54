"""Sequences of categories in memory, as codes one behind the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike
from bigtensor.errors import DataError, MissingValueWarning, warn
from bigtensor.features.row_loops import row_loop
from bigtensor.models.contract.data_kinds import category_values

WINDOW = 3

MISSING = -1
"""Code of a missing category."""

_MOST_NAMES = 10
"""Unknown categories that a warning names."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Categories of several sequences, one behind the other.

    Attributes
    ----------
    values : (steps,) array
        Integers or strings as they were given, or codes.
    lengths : (sequences,) int64 array
        Steps of every sequence.
    """

    values: NDArray[Any]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def sequence(self) -> NDArray[np.int64]:
        """Position of the sequence of every step: ``(steps,)``."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def categories(self) -> NDArray[Any]:
        """Return the categories that occur, ascending, without the missing one."""
        occurring = np.unique(self.values)
        return occurring[~_is_missing(occurring)]

    def encoded(self, categories: NDArray[Any]) -> Sequences:
        """Return the sequences as int32 codes of known categories; unknown ones are missing.

        Parameters
        ----------
        categories : (categories,) array
            Ascending.

        Raises
        ------
        DataError
            When the sequences hold integers, and the categories are strings, or the reverse.
        """
        if (self.values.dtype.kind == "U") != (categories.dtype.kind == "U"):
            raise DataError(
                f"the sequences hold {_kind(self.values)}, and the classifier was fitted to "
                f"{_kind(categories)}; give categories of the same type"
            )
        place = np.minimum(np.searchsorted(categories, self.values), len(categories) - 1)
        codes = np.where(categories[place] == self.values, place, MISSING).astype(np.int32)
        return Sequences(codes, self.lengths)

    def warn_of_unknown(self, categories: NDArray[Any]) -> None:
        """Warn of categories that the fit did not have, by name.

        Parameters
        ----------
        categories : (categories,) array
            Categories of the fit, of the type of the sequences.
        """
        unknown = np.setdiff1d(self.categories(), categories).tolist()
        if unknown:
            names = ", ".join(map(repr, unknown[:_MOST_NAMES]))
            names += f" and {len(unknown) - _MOST_NAMES} more" * (len(unknown) > _MOST_NAMES)
            warn(
                f"the sequences have categories that the fit did not have: {names}; their steps "
                "count as missing",
                MissingValueWarning,
            )

    def chosen(self, mask: NDArray[np.bool_]) -> Sequences:
        """Return some of the sequences: ``mask`` has one entry a sequence."""
        return Sequences(self.values[mask[self.sequence]], self.lengths[mask])


@dataclass(frozen=True, eq=False)
class TripleHistograms:
    """Distinct windows of three known categories of every sequence.

    Attributes
    ----------
    codes : (distinct, 3) int64 array
        Windows of all sequences together, each once.
    sequence : (entries,) int64 array
        Position of a sequence, ascending.
    window : (entries,) int64 array
        Line of `codes`.
    count : (entries,) float64 array
        How often the sequence has the window.
    total : (sequences,) float64 array
        Windows of every sequence.
    """

    codes: NDArray[np.int64]
    sequence: NDArray[np.int64]
    window: NDArray[np.int64]
    count: NDArray[np.float64]
    total: NDArray[np.float64]

    @classmethod
    def of_sequences(cls, sequences: Sequences, n_categories: int) -> TripleHistograms:
        """Return the windows of sequences of codes."""
        cell = np.empty(len(sequences.values), np.int64)
        write_window_cells(sequences.values, sequences.sequence, n_categories, cell)
        whole = cell >= 0
        cells, position = np.unique(cell[whole], return_inverse=True)
        keys = sequences.sequence[whole] * max(len(cells), 1) + position
        distinct, times = np.unique(keys, return_counts=True)
        sequence, window = np.divmod(distinct, max(len(cells), 1))
        codes = np.column_stack(np.unravel_index(cells, (n_categories,) * WINDOW))
        count = times.astype(np.float64)
        total = np.asarray(np.bincount(sequence, count, len(sequences)), np.float64)
        return cls(codes, sequence, window, count, total)

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of a value of every entry over the entries of every sequence."""
        return np.asarray(np.bincount(self.sequence, values, len(self.total)), np.float64)


def sequences_of(X: DataLike) -> Sequences:
    """Return the sequences of an array with one row a sequence, or of a list of sequences.

    Parameters
    ----------
    X : (sequences, steps) array-like, or iterable of (steps,) array-likes or str
        Whole numbers, of which negative ones and NaN are missing, or strings, of which empty ones
        and None are. A str is a sequence of its letters.

    Raises
    ------
    DataError
        When there is no sequence, or the values are neither whole numbers nor strings.
    """
    if isinstance(X, xr.Dataset):
        raise DataError(
            f"an xarray Dataset of the variables {[*map(str, X.data_vars)]} was given; give the "
            "variable with one row a sequence, such as data['X']"
        )
    if hasattr(X, "tocsr"):
        raise DataError("sparse rows are no sequences; give dense ones, for example .toarray()")
    X = np.asarray(X) if hasattr(X, "__array__") else X
    if hasattr(X, "shape") and len(X.shape) == 2:
        table = np.asarray(X)
        check_shape(table)
        lengths = np.full(len(table), table.shape[1], np.int64)
        return Sequences(_checked(table.reshape(-1)), lengths)
    if not isinstance(X, Iterable):
        raise DataError(
            f"{X!r} was given for the sequences; expected an array with one row a sequence, or a "
            "list of sequences"
        )
    parts = [_one(part) for part in X]
    lengths = np.array([len(part) for part in parts], np.int64)
    if not lengths.sum():
        raise DataError("no sequence with a step was given; give at least one")
    mixed = {part.dtype.kind == "U" for part in parts if len(part)}
    if len(mixed) > 1:
        raise DataError("some sequences hold strings and others numbers; give one type for all")
    return Sequences(_checked(np.concatenate([part for part in parts if len(part)])), lengths)


@row_loop
def write_window_cells(
    codes: NDArray[np.int32],
    sequence: NDArray[np.int64],
    n_categories: int,
    cell: NDArray[np.int64],
) -> None:
    """Write the position of every window in the table of triples, at its first step.

    Parameters
    ----------
    codes : (steps,) int32 array
        Category of every step; negative where it is missing.
    sequence : (steps,) int64 array
        Position of the sequence of every step, ascending.
    n_categories : int
        Number of categories, the width of the table in all directions.
    cell : (steps,) int64 array
        -1 where no window of three known categories starts.
    """
    for step in range(cell.size):
        cell[step] = -1
        last = step + 2
        if last < cell.size and sequence[last] == sequence[step]:
            a, b, c = codes[step], codes[step + 1], codes[last]
            if a >= 0 and b >= 0 and c >= 0:
                cell[step] = (np.int64(a) * n_categories + b) * n_categories + c


def check_shape(table: NDArray[Any]) -> None:
    """Raise a DataError for a table without a sequence or without a step."""
    for axis, what in enumerate(("sample", "feature")):
        if not table.shape[axis]:
            raise DataError(
                f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is "
                "required: give one row a sequence, and one column a step"
            )


def _one(part: object) -> NDArray[Any]:
    """Return the steps of one sequence."""
    steps = np.asarray(list(part)) if isinstance(part, str | Iterable) else np.asarray(part)
    if steps.ndim != 1:
        raise DataError(
            f"a sequence of shape {steps.shape} was given; expected (steps,), with one category a "
            "step. Reshape your data with .reshape(1, -1) if they are one sequence"
        )
    return steps


def _checked(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers or strings, or raise a DataError."""
    values = category_values(values)
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: a step is one category")
    if values.dtype.kind not in "iuU" or not values.size:
        raise DataError(
            f"sequences of {values.size} values of type {values.dtype} were given; expected "
            "whole numbers (negative or NaN where missing) or strings (empty where missing)"
        )
    return values


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for missing categories."""
    return np.asarray(values == "" if values.dtype.kind == "U" else values < 0)


def _kind(values: NDArray[Any]) -> str:
    """Return the type of categories in words."""
    return "strings" if values.dtype.kind == "U" else "integers"
