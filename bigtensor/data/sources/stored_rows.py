"""Rows of stored AnnData, dense or sparse: shape, type and features, known without reading."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.copies_on_workers import contents_digest, require_same_contents
from bigtensor.data.addresses.read_errors import row_errors
from bigtensor.data.anndata.files import Arrays, StoredMatrix, element_stamps, open_arrays
from bigtensor.data.sources.row_sources import Columns, zarr_reading
from bigtensor.data.stores.zarr_groups import new_opening
from bigtensor.errors import without_passwords

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of a matrix of stored AnnData.

    Attributes
    ----------
    path : str
        Path or URL.
    matrix : StoredMatrix
        Place, kind, type and features of the matrix.
    group : (rows,) int32 array, optional
        The group of every row, in memory.
    sequence : (rows,) integer array, optional
        The sequence of every row, in memory.
    obs : DataFrame, optional
        Table of the rows of the object that the file backs. None if it is the one in the file.
    opening : str
        Token of the opening, by which a process keeps the arrays of a Zarr store open.
    contents : str, optional
        Digest of the driver's files, which a worker's files must have.
    """

    path: str
    matrix: StoredMatrix
    group: NDArray[np.int32] | None = None
    sequence: NDArray[Any] | None = None
    obs: pd.DataFrame | None = field(default=None, repr=False)
    opening: str = field(default_factory=new_opening, repr=False)
    contents: str | None = field(default=None, kw_only=True, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out ``obs``, which a task does not need."""
        return {**self.__dict__, "obs": None}

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.matrix.features

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.matrix.rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.matrix.dtype

    @property
    def has_weight(self) -> bool:
        """None: AnnData has no place for them."""
        return False

    @property
    def held_nbytes(self) -> int:
        """Bytes of groups and sequences. Tasks read the values that they need."""
        return sum(int(part.nbytes) for part in (self.group, self.sequence) if part is not None)

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the sequence of the rows."""
        return None if self.sequence is None else self.sequence[start:stop]

    def read_weight(self, start: int, stop: int) -> None:
        """Return None: AnnData has no place for sample weights."""

    def columns(self, values: NDArray[Any] | csr_array, start: int, stop: int) -> Columns:
        """Return values that were read with the groups and sequences of their rows."""
        rows = slice(start, stop)
        group = None if self.group is None else self.group[rows]
        return Columns(values, sequence=self.read_sequence(start, stop), group=group)

    def fingerprint(self) -> str:
        """Return the digest of the sizes and times of the files, of groups and sequences."""
        digest = hashlib.sha256(repr((self.matrix.name, self.rows, str(self.dtype))).encode())
        for entry in element_stamps(self.path, self.matrix.name):
            digest.update(repr(entry).encode())
        for name, part in (("group", self.group), ("sequence", self.sequence)):
            if part is not None:
                digest.update(name.encode() + part.tobytes())
        return digest.hexdigest()

    def for_workers(self) -> Self:
        """Return the source with the digest of the files that workers must find."""
        return replace(self, contents=contents_digest(self.path, (self.matrix.name,)))

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        prefix = "" if self.matrix.name == "X" else f"{self.matrix.name} of "
        kind = "sparse rows" if self.matrix.kind == "csr" else "rows"
        return f"{prefix}{without_passwords(self.path)} ({self.rows:,} {kind})"

    @contextmanager
    def opened(self, part: str, start: int, stop: int) -> Iterator[Arrays]:
        """Give access to the arrays of the file, with errors that name rows and matrix."""
        if self.contents is not None:
            require_same_contents(self.path, (self.matrix.name,), self.contents)
        with (
            row_errors(f"{self.matrix.name}{part}", self.path, start, stop),
            zarr_reading,
            open_arrays(self.path, self.opening) as arrays,
        ):
            yield arrays
