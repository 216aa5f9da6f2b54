"""HDF5 files of 10x Genomics, such as ``filtered_feature_bc_matrix.h5``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.anndata.hdf5_files import open_hdf5
from bigtensor.data.importers.counts.count_files import CountFile
from bigtensor.data.importers.counts.declared_sizes import check_declared
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.tenx_features import TenxFeatures
from bigtensor.data.values.sparse_matrices import checked_csr
from bigtensor.errors import FileFormatError

_CELLS = 2**10
"""Cells that are read at once."""

_TEXTS = ("id", "name", "feature_type")

_PARTS = (
    *("barcodes", "data", "indices", "indptr", "shape"),
    *(f"features/{name}" for name in _TEXTS),
)


class TenxHdf5(CountFile):
    """Matrix of 10x Genomics, whose columns are cells. They are stored as CSR rows are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_hdf5(path) as file:
            missing = [part for part in _PARTS if part not in file.get("matrix", ())]
            if missing:
                raise FileFormatError(
                    f"{path} has no {', '.join(missing)} in a group 'matrix', as Cell Ranger 3 and "
                    "later write it; give the folder with matrix.mtx and barcodes.tsv instead"
                )
            matrix = file["matrix"]
            self.width, self.rows = (int(length) for length in matrix["shape"][:])
            check_declared(path, documents=self.rows, words=self.width)
            texts = [matrix["features"][name] for name in _TEXTS]
            # counts before the first cell would be dropped
            stored = int(matrix["indptr"][-1] - matrix["indptr"][0])
            lengths = (
                ("barcodes", len(matrix["barcodes"]), self.rows),
                ("indptr", len(matrix["indptr"]), self.rows + 1),
                *((name, len(matrix[name]), stored) for name in ("data", "indices")),
                *(("features", len(array), self.width) for array in texts),
            )
            for name, length, expected in lengths:
                if length != expected:
                    raise FileFormatError(
                        f"{path} declares {self.rows:,} cells and {self.width:,} features, but "
                        f"its {name} have the length {length:,} in place of {expected:,}; copy the "
                        "file again"
                    )
            self._features = TenxFeatures(*map(_texts, texts))
        self._features.check(path)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the cells."""
        with reading(self._path, "counts"), open_hdf5(self._path) as file:
            matrix = file["matrix"]
            for start in range(0, self.rows or 0, _CELLS):
                pointers = matrix["indptr"][start : start + _CELLS + 1].astype(np.int64)
                entries = slice(int(pointers[0]), int(pointers[-1]))
                parts = matrix["data"][entries], matrix["indices"][entries], pointers - pointers[0]
                counts = csr_array(parts, shape=(len(pointers) - 1, self.width))
                names = _texts(matrix["barcodes"], slice(start, start + _CELLS))
                yield CountBlock(checked_csr(counts), tuple(names))

    def words(self) -> list[str]:
        """Return the names of the features."""
        return self._features.names()

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return the IDs and types of the features."""
        return self._features.columns()


def _texts(array: Any, rows: slice = slice(None)) -> list[str]:
    """Read texts in UTF-8."""
    return [str(text) for text in array.asstr("utf-8")[rows]]
