"""HDF5 files of 10x Genomics, such as ``filtered_feature_bc_matrix.h5``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.anndata.hdf5_files import open_hdf5
from bigtensor.data.importers.counts.declared_sizes import check_declared
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.tenx_cells import TenxCells, warn_of_repeated_barcodes
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


class TenxHdf5(TenxCells):
    """Matrix of 10x Genomics, whose columns are cells. They are stored as CSR rows are."""

    def __init__(self, path: Path, feature_types: Sequence[str]) -> None:
        self._path = path
        with open_hdf5(path) as file:
            missing = [part for part in _PARTS if part not in file.get("matrix", ())]
            if missing:
                raise FileFormatError(
                    f"{path} has no {', '.join(missing)} in a group 'matrix', as Cell Ranger 3 and "
                    "later write it; give the folder with matrix.mtx and barcodes.tsv instead"
                )
            matrix = file["matrix"]
            self._n_features, self.rows = (int(length) for length in matrix["shape"][:])
            check_declared(path, cells=self.rows, features=self._n_features)
            texts = [matrix["features"][name] for name in _TEXTS]
            # counts before the first cell would be dropped
            stored = int(matrix["indptr"][-1] - matrix["indptr"][0])
            lengths = (
                ("barcodes", len(matrix["barcodes"]), self.rows),
                ("indptr", len(matrix["indptr"]), self.rows + 1),
                *((name, len(matrix[name]), stored) for name in ("data", "indices")),
                *(("features", len(array), self._n_features) for array in texts),
            )
            for name, length, expected in lengths:
                if length != expected:
                    raise FileFormatError(
                        f"{path} declares {self.rows:,} cells and {self._n_features:,} features, "
                        f"but its {name} have the length {length:,} in place of {expected:,}; "
                        "copy the file again"
                    )
            features = TenxFeatures(*map(_texts, texts))
        super().__init__(path, features, feature_types)
        warn_of_repeated_barcodes(path, self._names_of_cells)

    def _names_of_cells(self) -> Iterator[str]:
        """Read the barcodes."""
        with reading(self._path, "counts"), open_hdf5(self._path) as file:
            for start in range(0, self.rows or 0, _CELLS):
                yield from _texts(file["matrix/barcodes"], slice(start, start + _CELLS))

    def _blocks_of_all_features(self) -> Iterator[CountBlock]:
        """Read the cells."""
        with reading(self._path, "counts"), open_hdf5(self._path) as file:
            matrix = file["matrix"]
            for start in range(0, self.rows or 0, _CELLS):
                pointers = matrix["indptr"][start : start + _CELLS + 1].astype(np.int64)
                entries = slice(int(pointers[0]), int(pointers[-1]))
                parts = matrix["data"][entries], matrix["indices"][entries], pointers - pointers[0]
                counts = csr_array(parts, shape=(len(pointers) - 1, self._n_features))
                names = _texts(matrix["barcodes"], slice(start, start + _CELLS))
                yield CountBlock(checked_csr(counts), tuple(names))


def _texts(array: Any, rows: slice = slice(None)) -> list[str]:
    """Read texts in UTF-8."""
    return [str(text) for text in array.asstr("utf-8")[rows]]
