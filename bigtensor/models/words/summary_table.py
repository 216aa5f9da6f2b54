"""Table of the components, populations, states or topics of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SummaryTable:
    """Table with a line for each component, population, state or topic.

    Attributes
    ----------
    head : tuple of str
        Names of the columns.
    rows : sequence of sequences of str or float
        Cells of every line. A number is a share of the whole, such as a mixing weight.
    """

    head: tuple[str, ...] = ()
    rows: Sequence[Sequence[str | float]] = ()

    def as_text(self, most: int | None = None) -> list[list[str]]:
        """Return the cells of all lines as text.

        Parameters
        ----------
        most : int, optional
            Number of lines that are shown one by one. Of further ones the number and the sum of
            the shares are shown. By default all lines are shown.
        """
        shown, rest = self.rows[:most], [] if most is None else self.rows[most:]
        lines = [[_cell(cell) for cell in row] for row in shown]
        if rest:
            columns = list(zip(*rest, strict=True))[1:]
            lines.append([f"{len(rest)} more", *(_sum_of(column) for column in columns)])
        return lines


def _cell(cell: str | float) -> str:
    """Return a cell as text."""
    return cell if isinstance(cell, str) else f"{cell:.5f}"


def _sum_of(column: Sequence[str | float]) -> str:
    """Return the sum of the shares of a column; nothing if it holds text."""
    shares = [cell for cell in column if not isinstance(cell, str)]
    return _cell(sum(shares)) if shares else ""
