"""Errors of reading name the rows and a remedy."""

import pytest

from bigtensor.data.addresses.read_errors import row_errors
from bigtensor.errors import StoreReadError


def test_rows_larger_than_memory__are_named_with_a_remedy() -> None:
    """The header of a damaged chunk may promise any length."""
    with (
        pytest.raises(StoreReadError, match=r"'X' of rows 10 to 19 .* memory: "),
        row_errors("X", "cells.zarr", 10, 20),
    ):
        raise MemoryError
