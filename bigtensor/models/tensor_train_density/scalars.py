"""Single values as callers write them: numbers, texts, and scalars of arrays."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeGuard, cast

import numpy as np


def plain_scalar(value: Any) -> Any:
    """Return the number, truth value or text of an array without dimensions; others as they are.

    Dates would be numbers of nanoseconds, and a masked entry zero.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or np.ndim(value) or value is np.ma.masked:
        return value
    return value.item() if dtype.kind in "biufU" else value


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Return True for one real number that float64 holds, whatever its type."""
    largest = float(np.finfo(np.float64).max)
    return isinstance(value, Real) and abs(cast("float", value)) <= largest
