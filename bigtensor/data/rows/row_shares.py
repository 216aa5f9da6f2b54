"""Numbers of rows that meet a condition, in all and by sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RowShares:
    """Numbers of rows that meet a condition.

    Attributes
    ----------
    condition : str
        The condition as it was given.
    rows, kept : int
        Number of all rows, and of those that meet the condition.
    rows_by, kept_by : mapping of str to int
        The same by sample, where a variable ``sample_id`` tells samples apart.
    """

    condition: str
    rows: int = 0
    kept: int = 0
    rows_by: Mapping[str, int] = field(default_factory=dict)
    kept_by: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: RowShares) -> RowShares:
        """Return the sums with the numbers of further rows."""
        by = [
            {name: mine.get(name, 0) + theirs.get(name, 0) for name in {**mine, **theirs}}
            for mine, theirs in ((self.rows_by, other.rows_by), (self.kept_by, other.kept_by))
        ]
        return RowShares(self.condition, self.rows + other.rows, self.kept + other.kept, *by)
