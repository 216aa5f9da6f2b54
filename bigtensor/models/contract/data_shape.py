"""Size, names and types of the data, known before the first pass."""

from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

NamedViews = tuple[tuple[str, tuple[str, ...]], ...]
"""Every view's name with the names of its features, in order."""

GroupLabels: TypeAlias = tuple[str | float, ...]
"""Label of every group of rows: all names, or all numbers."""


def view_slices(views: NamedViews) -> dict[str, slice]:
    """Return the columns of every view in the values of a block."""
    slices, start = {}, 0
    for name, members in views:
        slices[name] = slice(start, start + len(members))
        start += len(members)
    return slices


@dataclass(frozen=True)
class DataShape:
    """Size, names and types of the data.

    Attributes
    ----------
    rows : int
        Number of rows.
    views : tuple of (name, features)
        In the order in which blocks lay them out.
    dtype : str
        Type of the values.
    has_weight : bool
        True if rows have weights.
    effective_rows : float
        Number of rows that the weighted rows stand for: the sum of their weights.
    weights_repeat_rows : bool
        True if a row of weight 2 stands for two rows, and is not one row that counts more.
    common_units : bool
        True if an import put all features of the views on one scale.
    left_out : tuple of str
        Features that default views leave out and no view holds.
    categories : tuple of tuple of str
        Names of the codes of every feature of the views; empty for other data.
    groups : tuple of str, or of int or float
        Names of the groups of rows, or their numbers; empty without groups.
    expected_rows : float, optional
        Number of rows of all sites of a fit in rounds; None for a fit of these data alone.
    """

    rows: int
    views: NamedViews
    dtype: str
    has_weight: bool
    effective_rows: float
    weights_repeat_rows: bool = True
    common_units: bool = False
    left_out: tuple[str, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ()
    groups: GroupLabels = ()
    expected_rows: float | None = None

    @property
    def in_rounds(self) -> bool:
        """True for a fit in rounds, whose later passes see rows of other sites."""
        return self.expected_rows is not None

    @property
    def all_rows(self) -> float:
        """Number of rows of all sites, which weighted rows stand for."""
        return self.expected_rows or self.effective_rows

    @property
    def most_rows(self) -> int:
        """Upper bound of the number of rows; in rounds, the number expected of all sites."""
        return max(self.rows, ceil(self.expected_rows or 0))

    @property
    def most_occurrences(self) -> int:
        """Upper bound of the number of rows if rows are repeated as often as their weights say."""
        return max(self.rows, ceil(self.effective_rows))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all features, one view beside the other."""
        return tuple(name for _, members in self.views for name in members)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return view_slices(self.views)
