"""Log probabilities of the categories of every view, and the rows that have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace


@dataclass(frozen=True, eq=False)
class CodeTables:
    """Log probabilities of the categories of every view, given the component.

    The categories of all views lie one below the other, in the order of the columns. After those of
    a view comes a line for its missing codes: zeros, so that the view says nothing of the row.

    Parameters
    ----------
    categories : tuple of int
        Number of categories of every view, each of which is one column of the block's values.
    log_tables : (sum of categories + views, components) float64 array
        Natural logarithms, all finite.

    Raises
    ------
    ParameterError
        When the shapes do not belong together, or a logarithm is not finite.
    """

    categories: tuple[int, ...]
    log_tables: FloatArray
    starts: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.log_tables, np.float64)
        object.__setattr__(self, "log_tables", table)
        starts = np.array(table_starts(self.categories), np.int64)
        object.__setattr__(self, "starts", starts)
        if table.ndim != 2 or len(table) != starts[-1] or not np.isfinite(table).all():
            raise ParameterError(
                f"log probabilities of {self.categories} categories need {starts[-1]} finite lines "
                f"with an entry for every component, got the shape {table.shape}"
            )

    @classmethod
    def of_probabilities(cls, probabilities: tuple[FloatArray, ...]) -> CodeTables:
        """Return the tables of ``(categories, components)`` probabilities of every view.

        A category of probability zero in all components did not occur in the fit. Its line is that
        of a missing code.
        """
        missing = np.zeros((1, probabilities[0].shape[1]))
        occurring = (
            np.where(table.any(axis=1, keepdims=True), table, 1.0) for table in probabilities
        )
        parts = [part for table in occurring for part in (np.log(table), missing)]
        return cls(tuple(map(len, probabilities)), np.concatenate(parts))

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.log_tables.shape[1])

    @property
    def width(self) -> int:
        """Length of the rows of joint densities."""
        return self.n_components

    @property
    def dtype(self) -> str:
        """Type of joint densities: a few categories need no memory that float32 would save."""
        return "float64"

    @property
    def log_volume(self) -> float:
        """Zero: probabilities have no unit."""
        return 0.0

    @property
    def block_rows(self) -> int:
        """Rows after which sums over a block are added up: any number serves."""
        return 1

    def of_views(self, lines: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return the lines of the categories of every view."""
        return tuple(
            lines[start : start + count]
            for start, count in zip(self.starts, self.categories, strict=False)
        )

    def lookup_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a lookup of ``rows`` rows."""
        return {"lookup.line": ((len(self.categories), rows), "int32")}

    def lookup(self, rows: int, work: Workspace) -> CodeLookup:
        """Return a lookup of ``rows`` rows."""
        return CodeLookup(self, rows, work)


class CodeLookup:
    """Finds the lines of a fixed number of rows, again and again in the same memory.

    Parameters
    ----------
    tables : CodeTables
        Log probabilities of the categories.
    rows : int
        Number of rows that are looked up at once.
    work : Workspace
        Holds the lines of the rows.
    """

    def __init__(self, tables: CodeTables, rows: int, work: Workspace) -> None:
        self._tables = tables
        (self._line,) = work.take_all(tables.lookup_arrays(rows))

    def locate(self, values: NDArray[Any]) -> None:
        """Find the lines of ``(rows, views)`` codes; negative ones are missing."""
        write_lines(values, self._tables.starts, self._line)

    def write_log_joint(self, log_weights: NDArray[Any], out: NDArray[Any]) -> None:
        """Add up the log weights and the lines of every row.

        Parameters
        ----------
        log_weights : (components,) array
            Natural logarithms of the mixing weights.
        out : (rows, components) array
            C-contiguous.
        """
        write_sums_of_lines(self._line, self._tables.log_tables, log_weights, out)

    def add(self, weights: NDArray[Any], histograms: NDArray[Any]) -> None:
        """Add the weights of every row to its lines.

        Parameters
        ----------
        weights : (rows, components) array
            Posterior probabilities times the weights of the rows.
        histograms : (lines, components) array
            Is added to.
        """
        add_to_lines(self._line, weights, histograms)


def table_starts(categories: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first line of every view, and the number of lines."""
    return tuple(accumulate((count + 1 for count in categories), initial=0))


@row_loop
def write_lines(codes: NDArray[Any], starts: IntArray, line: NDArray[np.int32]) -> None:
    """Write the line of every code.

    Parameters
    ----------
    codes : (rows, views) integer array
        Codes of the rows; negative ones are missing.
    starts : (views + 1,) int64 array
        First line of every view, and the number of lines.
    line : (views, rows) int32 array
        Receives the lines. A missing code has the last line of its view.
    """
    for view in range(line.shape[0]):
        for row in range(line.shape[1]):
            code = codes[row, view]
            line[view, row] = starts[view] + code if code >= 0 else starts[view + 1] - 1


@row_loop
def write_sums_of_lines(
    line: NDArray[np.int32],
    table: FloatArray,
    log_weights: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the log weights plus the lines of every row.

    Parameters
    ----------
    line : (views, rows) int32 array
        Line of every code.
    table : (lines, components) float64 array
        Log probabilities of all views, one below the other.
    log_weights : (components,) array
        Natural logarithms of the mixing weights.
    out : (rows, components) array
        Receives the sums.
    """
    for row in range(out.shape[0]):
        of_row = out[row]
        for h in range(of_row.size):
            of_row[h] = log_weights[h]
        for view in range(line.shape[0]):
            of_line = table[line[view, row]]
            for h in range(of_row.size):
                of_row[h] += of_line[h]


@row_loop
def add_to_lines(line: NDArray[np.int32], weights: NDArray[Any], histograms: NDArray[Any]) -> None:
    """Add the weights of every row to its lines.

    Parameters
    ----------
    line : (views, rows) int32 array
        Line of every code.
    weights : (rows, components) array
        Posterior probabilities times the weights of the rows.
    histograms : (lines, components) array
        Is added to.
    """
    for view in range(line.shape[0]):
        for row in range(line.shape[1]):
            of_line, of_row = histograms[line[view, row]], weights[row]
            for h in range(of_row.size):
                of_line[h] += of_row[h]
