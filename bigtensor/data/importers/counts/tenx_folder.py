"""Folders of 10x Genomics: a Matrix Market file, and the names of features and cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.counts.count_files import CountFile
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.tenx_features import TenxFeatures
from bigtensor.data.importers.counts.triplet_files import TripletFile
from bigtensor.data.importers.counts.vocabulary import listed_names
from bigtensor.errors import FileFormatError

_MATRIX = "matrix.mtx"
_BARCODES = "barcodes.tsv"


class TenxFolder(CountFile):
    """Folder of 10x Genomics, whose cells are the documents and whose features are the words."""

    def __init__(self, folder: Path) -> None:
        matrix = _only(folder, _MATRIX)
        prefix = matrix.name.removesuffix(".gz").removesuffix(_MATRIX)
        self._matrix = matrix
        self._barcodes = _only(folder, prefix + _BARCODES, whole=True)
        features = _only(folder, prefix + "features.tsv", prefix + "genes.tsv", whole=True)
        with reading(matrix, "counts"):
            self._counts = TripletFile(matrix, None, documents="columns")
        self.rows, self.width = self._counts.rows, self._counts.width
        self._features = _features(features, self.width)
        _check_length(matrix, "rows", self.width, features, len(self._features.ids))
        self._features.check(features)
        cells = sum(1 for _ in listed_names(self._barcodes))
        _check_length(matrix, "columns", self.rows or 0, self._barcodes, cells)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the cells."""
        barcodes = listed_names(self._barcodes)
        with reading(self._matrix, "counts"):
            for block in self._counts.blocks():
                own = islice(barcodes, int(block.counts.shape[0]))
                yield CountBlock(block.counts, tuple(name for (name,) in own))

    def words(self) -> list[str]:
        """Return the names of the features."""
        return self._features.names()

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return the IDs and types of the features."""
        return self._features.columns()


def is_tenx_folder(folder: Path) -> bool:
    """Return True for a folder with a matrix and barcodes, as 10x Genomics names these files.

    A matrix alone is not enough, because programs of cytometry name compensations alike.
    """
    return folder.is_dir() and all(_ending_in(folder, name) for name in (_MATRIX, _BARCODES))


def _ending_in(folder: Path, name: str) -> list[Path]:
    """Return the files of a folder whose names end in a name, also compressed."""
    # macOS puts files with the prefix "._" beside those that it copies to other disks
    files = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("._"))
    return sorted(file for file in files if file.name.removesuffix(".gz").endswith(name))


def _only(folder: Path, *names: str, whole: bool = False) -> Path:
    """Return the file of a folder whose name ends in one of some names, or is `whole` the name."""
    files = [file for name in names for file in _ending_in(folder, name)]
    if whole:
        files = [file for file in files if file.name.removesuffix(".gz") in names]
    if not files:
        raise FileFormatError(
            f"the folder {folder} has no {' or '.join(names)}, also compressed (.gz): a folder of "
            "10x Genomics holds matrix.mtx, barcodes.tsv, and features.tsv or genes.tsv; give the "
            "folder that holds them, or copy it again"
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
