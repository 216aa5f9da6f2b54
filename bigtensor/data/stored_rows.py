"""Rows of stored AnnData, dense or sparse: shape, type and features, known without reading."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.anndata_files import Arrays, StoredMatrix, element_stamps, open_arrays
from bigtensor.data.read_errors import row_errors
from bigtensor.data.sources import zarr_reading


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of a matrix of stored AnnData.

    Attributes
    ----------
    path : str
        Path or URL.
    matrix : StoredMatrix
    group : (rows,) int32 array, optional
        The group of every row, in memory.
    """

    path: str
    matrix: StoredMatrix
    group: NDArray[np.int32] | None = None

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
        """Bytes of the groups. Tasks read the values that they need."""
        return 0 if self.group is None else int(self.group.nbytes)

    def read_sequence(self, start: int, stop: int) -> None:
        """Return None: AnnData has no place for sequences."""

    def fingerprint(self) -> str:
        """Return the digest of the sizes and times of the files, and of the groups."""
        digest = hashlib.sha256(repr((self.matrix.name, self.rows, str(self.dtype))).encode())
        for entry in element_stamps(self.path, self.matrix.name):
            digest.update(repr(entry).encode())
        if self.group is not None:
            digest.update(self.group.tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        of = "" if self.matrix.name == "X" else f"{self.matrix.name} of "
        kind = "sparse rows" if self.matrix.kind == "csr" else "rows"
        return f"{of}{self.path} ({self.rows:,} {kind})"

    @contextmanager
    def opened(self, part: str, start: int, stop: int) -> Iterator[Arrays]:
        """Give access to the arrays of the file, with errors that name rows and matrix."""
        with (
            row_errors(f"{self.matrix.name}{part}", self.path, start, stop),
            zarr_reading,
            open_arrays(self.path) as arrays,
        ):
            yield arrays
