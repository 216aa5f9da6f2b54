"""Record of the integers in files that are rounded in a store of float32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from bigtensor.array_types import FloatArray
from bigtensor.data.values.checked_casts import are_whole
from bigtensor.errors import Message, Setting

_EXACT = 2.0**24
"""Largest integer up to which all integers are exact in float32."""


class RoundedIntegers:
    """Features with integers that float32 rounds, such as identifiers and times.

    Parameters
    ----------
    features : sequence of str
        Names of the columns.
    dtype : dtype
        Type of the store. Nothing is recorded for float64.
    """

    def __init__(self, features: Sequence[str], dtype: DTypeLike) -> None:
        self._features, self._rounds = features, np.dtype(dtype) == np.float32
        self._places = dict[str, str]()

    def record(self, file: str, values: FloatArray, first: int) -> None:
        """Record the first integer of every feature that is rounded.

        Parameters
        ----------
        file : str
            Name of the file, for the message.
        values : (n, d) array
            Rows of the file, one column a feature.
        first : int
            Row of the file that the block begins with.
        """
        if not self._rounds or not (np.abs(values) > _EXACT).any():
            return
        rounded = (values.astype(np.float32) != values) & are_whole(values)
        for column in map(int, np.flatnonzero(rounded.any(axis=0))):
            row = int(rounded[:, column].argmax())
            value = values[row, column]
            place = f"{file}: row {first + row} (from 0) of {self._features[column]!r} holds "
            place += f"{int(value):,}, which float32 rounds to {int(np.float32(value)):,}"
            self._places.setdefault(self._features[column], place)

    def note(self) -> Message | None:
        """Return a sentence on the rounded features, or None if no integer is rounded."""
        if not self._places:
            return None
        first, *others = self._places
        also = f", and integers of {', '.join(map(repr, others))} are rounded too" if others else ""
        return (
            self._places[first] + also + "; import with " + Setting("dtype", "float64") + " to keep"
            " every digit"
        )
