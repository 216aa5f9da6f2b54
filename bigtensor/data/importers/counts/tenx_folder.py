"""Folders of 10x Genomics: a Matrix Market file, and the names of features and cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.counts.count_files import COUNT_TEXTS
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.tenx_cells import TenxCells, warn_of_repeated_barcodes
from bigtensor.data.importers.counts.tenx_features import TenxFeatures
from bigtensor.data.importers.counts.triplet_files import TripletFile
from bigtensor.data.importers.counts.vocabulary import listed_names
from bigtensor.errors import FileFormatError

_MATRIX = "matrix.mtx"
_BARCODES = "barcodes.tsv"


class TenxFolder(TenxCells):
    """Folder of 10x Genomics."""

    def __init__(self, folder: Path, feature_types: Sequence[str]) -> None:
        matrix = _only(folder, _MATRIX)
        prefix = _unpacked_name(matrix).removesuffix(_MATRIX)
        self._matrix = matrix
        self._barcodes = _only(folder, prefix + _BARCODES, whole=True)
        listed = _only(folder, prefix + "features.tsv", prefix + "genes.tsv", whole=True)
        with reading(matrix, "counts"):
            terms = self.row_name, self.column_name
            self._counts = TripletFile(matrix, None, documents="columns", terms=terms)
        self.rows = self._counts.rows
        features = _features(listed, self._counts.width)
        _check_length(matrix, "rows", self._counts.width, listed, len(features.ids))
        super().__init__(listed, features, feature_types)
        cells = warn_of_repeated_barcodes(self._barcodes, self._names_of_cells)
        _check_length(matrix, "columns", self.rows or 0, self._barcodes, cells)

    def _names_of_cells(self) -> Iterator[str]:
        """Read the barcodes."""
        return (name for (name,) in listed_names(self._barcodes))

    def _blocks_of_all_features(self) -> Iterator[CountBlock]:
        """Read the cells."""
        barcodes = self._names_of_cells()
        with reading(self._matrix, "counts"):
            for block in self._counts.blocks():
                yield CountBlock(block.counts, tuple(islice(barcodes, int(block.counts.shape[0]))))


def is_tenx_folder(folder: Path) -> bool:
    """Return True for a folder with a matrix and barcodes, as 10x Genomics names these files.

    A matrix alone is not enough, because programs of cytometry name compensations alike.
    """
    return folder.is_dir() and all(_ending_in(folder, name) for name in (_MATRIX, _BARCODES))


def _ending_in(folder: Path, name: str) -> list[Path]:
    """Return the files of a folder whose names end in a name, also compressed."""
    # macOS puts files with the prefix "._" beside those that it copies to other disks
    files = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("._"))
    return sorted(file for file in files if _unpacked_name(file).endswith(name))


def _unpacked_name(file: Path) -> str:
    """Return the name of a file without the ending of a compression."""
    return file.stem if file.suffix.lower() == ".gz" else file.name


def _only(folder: Path, *names: str, whole: bool = False) -> Path:
    """Return the file of a folder whose name ends in one of some names, or is `whole` the name."""
    files = [file for name in names for file in _ending_in(folder, name)]
    if whole:
        files = [file for file in files if _unpacked_name(file) in names]
    if not files:
        raise FileFormatError(
            f"the folder {folder} has no {' or '.join(names)}, also compressed (.gz): a folder of "
            "10x Genomics holds matrix.mtx, barcodes.tsv, and features.tsv or genes.tsv; give the "
            "folder that holds them, or copy it again. " + COUNT_TEXTS
        )
    if len(files) > 1:
        raise FileFormatError(
            f"the folder {folder} holds {', '.join(file.name for file in files)}; move all but one "
            "of them, with the files that belong to it, to other folders"
        )
    return files[0]


def _features(path: Path, width: int) -> TenxFeatures:
    """Read the names of the features, of which a damaged list may have any number."""
    rows = [*islice(listed_names(path, columns=3), width + 1)]
    symbols = [row[1] if len(row) > 1 else row[0] for row in rows]
    types = [row[2] for row in rows if len(row) > 2]
    return TenxFeatures([row[0] for row in rows], symbols, types if len(types) == len(rows) else [])


def _check_length(matrix: Path, side: str, length: int, names: Path, lines: int) -> None:
    """Refuse a list of names of another length than the matrix."""
    if length != lines:
        counted = f"{lines:,}" if lines <= length else f"more than {length:,}"
        raise FileFormatError(
            f"{matrix} has {length:,} {side}, but {names} has {counted} lines; copy the folder "
            "again, all files from one run"
        )
