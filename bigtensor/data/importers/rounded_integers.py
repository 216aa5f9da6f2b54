"""Record of the integers in files that are rounded by the type of a store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from bigtensor.array_types import FloatArray
from bigtensor.data.values.checked_casts import are_whole
from bigtensor.errors import Message, Setting

_EXACT = {"float32": 2**24, "float64": 2**53}
"""Largest integer up to which all integers are exact, by the type of the store."""

_LARGEST = 2**64
"""Bound of integers of 64 bits. Larger numbers, such as 1e39, are measurements."""


class RoundedIntegers:
    """Features with integers that the store rounds, such as identifiers and times.

    Parameters
    ----------
    features : sequence of str
        Names of the columns.
    dtype : dtype
        Type of the store, float32 or float64.
    """

    def __init__(self, features: Sequence[str], dtype: DTypeLike) -> None:
        self._features, self._dtype = features, np.dtype(dtype)
        self._places = dict[str, str]()
        self._any_beyond_float64 = False

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
        sizes = np.abs(values)
        if not (sizes >= _EXACT[self._dtype.name]).any():
            return
        # values are float64, in which larger integers have lost their last digits before
        beyond = (sizes >= _EXACT["float64"]) & (sizes <= _LARGEST)
        rounded = (beyond | (values.astype(self._dtype) != values)) & are_whole(values)
        self._any_beyond_float64 |= bool((rounded & beyond).any())
        for column in map(int, np.flatnonzero(rounded.any(axis=0))):
            feature, row = self._features[column], int(rounded[:, column].argmax())
            if feature in self._places:
                continue
            value = values[row, column]
            place = f"{file}: row {first + row} (from 0) of {feature!r} holds "
            if beyond[row, column]:
                place += f"{value:.17g} or an integer that is rounded to it"
            else:
                place += f"{int(value):,}, which float32 rounds to {int(np.float32(value)):,}"
            self._places[feature] = place

    def note(self) -> Message | None:
        """Return a sentence on the rounded features, or None if no integer is rounded."""
        if not self._places:
            return None
        first, *others = self._places
        also = f", and integers of {', '.join(map(repr, others))} are rounded too" if others else ""
        if not self._any_beyond_float64:
            remedy = "import with " + Setting("dtype", "float64") + " to keep every digit"
        else:
            remedy = (
                f"no store holds every integer beyond {_EXACT['float64']:,}: use identifiers as "
                + Setting("label")
                + ", "
                + Setting("sample_id")
                + " or "
                + Setting("sequence")
                + ", or leave them out with "
                + Setting("exclude")
                + ". Measurements may stay as they are"
            )
        return self._places[first] + also + "; " + remedy
