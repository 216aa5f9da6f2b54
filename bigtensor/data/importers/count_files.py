"""Files of sparse counts, read document by document."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from bigtensor.data.importers.source import optional_module
from bigtensor.data.matrices import check_csr
from bigtensor.errors import FileFormatError

BATCH_NBYTES = 16 * 2**20
"""Text that is read at once."""

LONG_COLUMNS = ("document", "word", "count")
"""Columns of a long table."""


@dataclass(frozen=True, eq=False)
class CountBlock:
    """Consecutive documents.

    Attributes
    ----------
    counts : (n, V) CSR array
        V may still grow where the file has no list of words.
    names : tuple of str
        Of the documents; empty for numbers.
    """

    counts: csr_array
    names: tuple[str, ...] = ()


class CountFile:
    """Documents of a file, and the words once all documents were read.

    Attributes
    ----------
    rows : int, optional
        Number of documents, where the file tells it beforehand.
    whole : bool
        True if all counts are whole numbers.
    """

    rows: int | None = None
    whole: bool = True

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents."""
        raise NotImplementedError

    def words(self) -> list[str]:
        """Return the names of the words, after `blocks`."""
        raise NotImplementedError


class MatrixFile(CountFile):
    """``.npz`` of SciPy, or of CSR parts with the words as ``vocab``."""

    def __init__(self, path: Path, vocabulary: list[str] | None) -> None:
        with np.load(path, allow_pickle=False) as parts:
            names = set(parts.files)
            missing = [name for name in ("data", "indices", "indptr", "shape") if name not in names]
            if missing:
                raise FileFormatError(
                    f"{path} has no {', '.join(missing)}: a bag of words in .npz has the arrays "
                    "data, indices, indptr and shape of CSR rows"
                )
            own = parts["vocab"].tolist() if "vocab" in names else None
            if "format" in names:
                self._counts = csr_array(load_npz(path))
            else:
                arrays = parts["data"], parts["indices"], parts["indptr"]
                self._counts = csr_array(arrays, shape=tuple(parts["shape"]))
        check_csr(self._counts)
        self._counts.sum_duplicates()
        self.rows = int(self._counts.shape[0])
        self.whole = bool(np.all(self._counts.data % 1 == 0))
        self._words = _checked_words(path, vocabulary or own, int(self._counts.shape[1]))

    def blocks(self) -> Iterator[CountBlock]:
        """Return all documents, which are in memory."""
        yield CountBlock(self._counts)

    def words(self) -> list[str]:
        """Return the names of the words."""
        return self._words


class TripletFile(CountFile):
    """Text of document, word and count: UCI ``docword`` or Matrix Market, sorted by document."""

    def __init__(
        self, path: Path, vocabulary: list[str] | None, *, documents: str = "rows"
    ) -> None:
        self._path, self._documents = path, documents
        with _opened(path) as file:
            first = file.readline().decode("utf-8", "replace")
            market = first.startswith("%%MatrixMarket")
            kind = first.split() if market else []
            if market and (len(kind) < 5 or kind[2] != "coordinate" or kind[4] != "general"):
                raise FileFormatError(
                    f"{path} is a Matrix Market file {' '.join(kind[1:])!r}; give a 'matrix "
                    "coordinate' file of integers that is 'general'"
                )
            self._pattern = market and kind[3] == "pattern"
            self._skip = 1
            sizes: list[str] = [] if market else first.split()
            while len(sizes) < 3:
                line = file.readline()
                self._skip += 1
                if not line:
                    raise _cut(path, "its sizes")
                if not line.startswith(b"%"):
                    sizes += line.decode("utf-8", "replace").split()
        if not all(size.isdecimal() for size in sizes) or len(sizes) != 3:
            raise FileFormatError(
                f"{path} begins with {' '.join(sizes)[:60]!r} and not with the numbers of "
                "documents, words and entries, as UCI docword files do, nor as Matrix Market does"
            )
        shape = [int(size) for size in sizes]
        if documents == "columns":
            shape[:2] = shape[1::-1]
        self.rows, self._width, self._entries = shape
        self._words = _checked_words(path, vocabulary, self._width)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents."""
        gathered, entries = _Gathered(self._path), 0
        for rows, words, counts in self._batches():
            entries += len(rows)
            self._check(rows, self.rows or 0, "document", entries)
            self._check(words, self._width, "word", entries)
            yield from gathered.add(rows - 1, words - 1, counts, self._width)
        if entries != self._entries:
            raise _cut(self._path, f"{self._entries:,} entries: it has {entries:,}")
        yield from gathered.finish(self.rows or 0, self._width)

    def words(self) -> list[str]:
        """Return the names of the words."""
        return self._words

    def _batches(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Read triplets of document, word and count."""
        arrow = optional_module("pyarrow", "tables")
        csv = optional_module("pyarrow.csv", "tables")
        names = ["row", "column"] if self._pattern else ["row", "column", "count"]
        types = {"row": arrow.int64(), "column": arrow.int64(), "count": arrow.float64()}
        with _opened(self._path) as file:
            for _ in range(self._skip):
                file.readline()
            try:
                reader = csv.open_csv(
                    file,
                    csv.ReadOptions(column_names=names, block_size=BATCH_NBYTES, use_threads=False),
                    csv.ParseOptions(delimiter=" "),
                    csv.ConvertOptions(column_types=types),
                )
                for batch in reader:
                    rows, words = (batch.column(i).to_numpy() for i in range(2))
                    if self._documents == "columns":
                        rows, words = words, rows
                    counts = np.ones(len(rows)) if self._pattern else batch.column(2).to_numpy()
                    yield rows, words, counts
            except arrow.ArrowInvalid as error:
                if "Empty" in str(error):
                    return
                raise FileFormatError(
                    f"{self._path} has a line that is no document, word and count: {error}"
                ) from error

    def _check(self, numbers: NDArray[Any], most: int, what: str, entries: int) -> None:
        """Refuse numbers that are out of range."""
        bad = np.flatnonzero((numbers < 1) | (numbers > most))
        if bad.size:
            place = entries - len(numbers) + int(bad[0]) + 1
            raise FileFormatError(
                f"{self._path}: entry {place:,} is of {what} {int(numbers[bad[0]]):,} of {most:,}"
                + (
                    "; if documents are columns, as genes in rows and cells in columns, say so"
                    if what == "document"
                    else ""
                )
            )


class LongTable(CountFile):
    """Table with the columns document, word and count, in which rows of a document are together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._codes: dict[str, int] = {}

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents; words are numbered as they appear."""
        gathered, known = _Gathered(self._path), dict[str, int]()
        for batch in self._batches():
            documents, words = (batch[name].astype(str) for name in LONG_COLUMNS[:2])
            numbers = np.array([known.setdefault(name, len(known)) for name in documents], np.int64)
            codes = [self._codes.setdefault(name, len(self._codes)) for name in words]
            counts = np.asarray(batch[LONG_COLUMNS[2]], np.float64)
            for block in gathered.add(numbers, np.array(codes, np.int64), counts, len(self._codes)):
                yield _named(block, known, gathered.done)
        for block in gathered.finish(len(known), len(self._codes)):
            yield _named(block, known, gathered.done)

    def words(self) -> list[str]:
        """Return the names of the words."""
        return list(self._codes)

    def _batches(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Read batches of rows as columns."""
        dataset = optional_module("pyarrow.dataset", "tables")
        kind = "parquet" if self._path.suffix in (".parquet", ".pq") else "csv"
        table = dataset.dataset(str(self._path), format=kind)
        missing = [name for name in LONG_COLUMNS if name not in table.schema.names]
        if missing:
            raise FileFormatError(
                f"{self._path} has the columns {', '.join(table.schema.names[:10])}, and not "
                f"{', '.join(missing)}: a long table of counts has the columns "
                f"{', '.join(LONG_COLUMNS)}"
            )
        for batch in table.to_batches(columns=list(LONG_COLUMNS), use_threads=False):
            frame = {
                name: batch.column(name).to_numpy(zero_copy_only=False) for name in LONG_COLUMNS
            }
            empty = [name for name in LONG_COLUMNS if batch.column(name).null_count]
            if empty:
                raise FileFormatError(f"{self._path} has rows without a {empty[0]}; leave them out")
            yield frame


class _Gathered:
    """Documents of triplets, which come in any pieces but together for every document."""

    def __init__(self, path: Path) -> None:
        self._path, self.done = path, 0
        none = np.empty(0, np.int64)
        self._left: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] = none, none, np.empty(0)

    def add(
        self,
        rows: NDArray[Any],
        words: NDArray[Any],
        counts: NDArray[Any],
        width: int,
    ) -> Iterator[CountBlock]:
        """Return the documents that are complete."""
        pairs = zip(self._left, (rows, words, counts), strict=True)
        rows, words, counts = (np.concatenate(pair) for pair in pairs)
        if not len(rows):
            return
        if np.any(np.diff(rows) < 0) or rows[0] < self.done:
            raise FileFormatError(
                f"{self._path}: the entries of a document do not stand together; sort the file by "
                "document, or say that documents are columns"
            )
        last = int(rows[-1])
        cut = int(np.searchsorted(rows, last))
        self._left = rows[cut:], words[cut:], counts[cut:]
        yield from self._block((rows[:cut], words[:cut], counts[:cut]), last, width)

    def finish(self, n_documents: int, width: int) -> Iterator[CountBlock]:
        """Return the documents that are left, empty ones at the end too."""
        yield from self._block(self._left, n_documents, width)

    def _block(
        self, triplets: tuple[NDArray[Any], ...], stop: int, width: int
    ) -> Iterator[CountBlock]:
        """Return the documents before one."""
        if stop == self.done:
            return
        rows, words, counts = triplets
        starts = np.searchsorted(rows, np.arange(self.done, stop + 1))
        found = csr_array((counts, words, starts), shape=(stop - self.done, width))
        found.sum_duplicates()
        self.done = stop
        yield CountBlock(found)


def _named(block: CountBlock, known: dict[str, int], done: int) -> CountBlock:
    """Return documents with their names, of which so many were returned."""
    names = list(known)[done - int(block.counts.shape[0]) : done]
    return CountBlock(block.counts, tuple(names))


def _opened(path: Path) -> Any:
    """Open a file that may be compressed."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _cut(path: Path, what: str) -> FileFormatError:
    """Describe a file that ends too early."""
    return FileFormatError(f"{path} does not have {what}; the file is cut or damaged")


def _checked_words(path: Path, words: list[str] | None, width: int) -> list[str]:
    """Return as many names as there are words, numbers where there are none."""
    if words is None:
        return [str(word) for word in range(width)]
    if len(words) != width:
        raise FileFormatError(
            f"{path} has {width:,} words, and the list of their names {len(words):,}; give the "
            "list that belongs to it"
        )
    return [str(word) for word in words]
