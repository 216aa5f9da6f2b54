"""Kinds of data: measured values, codes of categories, and counts in sparse rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Kind = Literal["measured", "codes", "counts"]


def kind_of(dtype: np.dtype[Any], *, sparse: bool = False) -> Kind:
    """Return the kind of values of a type.

    Parameters
    ----------
    dtype : dtype
        Type of the stored values.
    sparse : bool, default False
        The rows are sparse.
    """
    if sparse:
        return "counts"
    return "codes" if dtype.kind in "iub" else "measured"
