"""Type of callbacks that follow the rows of an import or an export."""

from collections.abc import Callable
from typing import TypeAlias

RowProgress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of rows done, and the number of all rows or None where it is not known."""
