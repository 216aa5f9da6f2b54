"""From what is stored of the rows' groups to codes: the same code for the same name everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_GROUP = -1
"""The code of rows without a group."""


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows, such as patients or files.

    Attributes
    ----------
    variable : str
        What says which group a row belongs to.
    names : tuple of str
        The name of group 0, 1, ...
    """

    variable: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Coding:
    """The code of every value that a variable of one source may have.

    Parameters
    ----------
    values : tuple
        Distinct values as they are stored: numbers in ascending order, or strings.
    codes : tuple of int
        One a value.
    """

    values: tuple[Any, ...]
    codes: tuple[int, ...]

    def __call__(self, stored: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of values: ``(rows,)`` int32, -1 for values that are not listed."""
        if not self.values:
            return np.full(len(stored), NO_GROUP, np.int32)
        if stored.dtype.kind not in "iufb":
            table = dict(zip(self.values, self.codes, strict=True))
            found = (table.get(value, NO_GROUP) for value in stored.tolist())
            return np.fromiter(found, np.int32, len(stored))
        values = np.array(self.values)
        place = np.minimum(np.searchsorted(values, stored), len(values) - 1)
        codes = np.array(self.codes, np.int32)[place]
        codes[values[place] != stored] = NO_GROUP
        return codes
