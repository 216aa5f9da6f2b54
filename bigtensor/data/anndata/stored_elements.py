"""Types of the elements of stored AnnData, which are alike in HDF5 and in Zarr."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas.api.extensions import ExtensionArray


@runtime_checkable
class StoredGroup(Protocol):
    """Group of an `h5py.File` or a `zarr.Group`: the root, a data frame, a sparse matrix."""

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Attributes."""

    def __contains__(self, name: str, /) -> bool:
        """Return True if there is an element of this name."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a group or an array, as the library opens it."""

    def get(self, name: str, /) -> Any:
        """Return a group or an array, None if there is no such element."""

    def keys(self) -> Iterable[str]:
        """Return the names of the elements."""


class StoredArray(Protocol):
    """`h5py.Dataset` or `zarr.Array`, of which slices are read."""

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Attributes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length along every dimension."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    def __getitem__(self, rows: slice, /) -> Any:
        """Read values."""


StoredElement: TypeAlias = StoredGroup | StoredArray
"""Group or array. Names with missing entries, for example, are groups."""

ColumnValues: TypeAlias = "NDArray[Any] | ExtensionArray"
"""Values of a column of obs or var in memory, such as categories."""
