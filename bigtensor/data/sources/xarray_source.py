"""Rows of xarray objects that no graph computes: in memory, or behind a backend of xarray."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.read_errors import read_remedy, too_much_memory
from bigtensor.data.sources.row_sources import Columns, row_variables
from bigtensor.data.values.categories import FeatureCategories
from bigtensor.errors import StoreReadError, hide_passwords


@dataclass(frozen=True, eq=False)
class XarraySource:
    """Rows of a two-dimensional DataArray that is not backed by a graph."""

    array: xr.DataArray
    sample_dim: str
    features: tuple[str, ...]
    weight: xr.DataArray | None = None
    sequence: xr.DataArray | None = None
    group: xr.DataArray | None = None
    categories: FeatureCategories | None = None
    numbered: bool = False
    """True if the categories are the integers of values without names."""

    store: str | None = None
    """Address of the file or store that xarray reads the rows from."""

    variables: xr.Dataset | None = None
    """Variables along the samples of the Dataset that holds the array."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a task is sent: it looks up no variable by name."""
        return {**self.__dict__, "variables": None}

    @property
    def feature_dim(self) -> str:
        """Name of the dimension of the features."""
        return next(str(dim) for dim in self.array.dims if dim != self.sample_dim)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.array.sizes[self.sample_dim])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    @property
    def unit_rows(self) -> int:
        """Rows that the backend prefers to read together."""
        chunks = self.array.encoding.get("preferred_chunks", {})
        return int(chunks.get(self.sample_dim, 1))

    @property
    def has_weight(self) -> bool:
        """True if the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """Bytes of the values, unless a backend reads them when they are needed."""
        return 0 if "preferred_chunks" in self.array.encoding else int(self.array.nbytes)

    def read(self, start: int, stop: int) -> Columns:
        """Load the rows."""
        rows = {self.sample_dim: slice(start, stop)}
        with self._errors(start, stop):
            values = self.array.isel(rows).transpose(self.sample_dim, ...).to_numpy()
            return Columns(
                values,
                *(
                    None if array is None else array.isel(rows).to_numpy()
                    for array in row_variables(self)
                ),
            )

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Load the sequence of the rows."""
        if self.sequence is None:
            return None
        with self._errors(start, stop):
            return self.sequence[start:stop].to_numpy()

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Load the sample weights of the rows."""
        if self.weight is None:
            return None
        with self._errors(start, stop):
            return self.weight[start:stop].to_numpy()

    @contextmanager
    def _errors(self, start: int, stop: int) -> Iterator[None]:
        """Turn errors of reading into errors that name the rows and the remedy."""
        try:
            yield
        except MemoryError as error:
            raise too_much_memory(
                f"{self.store or self.describe()} of rows {start:,} to {stop - 1:,}"
            ) from error
        except Exception as error:
            # the backend of xarray reads now, and raises what its libraries raise
            raise StoreReadError(
                f"rows {start:,} to {stop - 1:,} of {self.store or self.describe()} cannot be read "
                f"({type(error).__name__}: {error}); "
                + read_remedy(error, "restore the store from a copy or write it again")
            ) from hide_passwords(error)

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256()
        step = 65_536
        for start in range(0, self.rows, step):
            columns = self.read(start, min(start + step, self.rows))
            for part in (columns.values, *row_variables(columns)):
                if part is not None:
                    digest.update(f"{part.dtype}{part.shape}".encode())
                    digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"DataArray {self.array.name or ''} of {self.rows:,} rows".replace("  ", " ")
