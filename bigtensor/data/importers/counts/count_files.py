"""Files of sparse counts, read document by document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from bigtensor.data.importers.counts.declared_sizes import check_declared
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.vocabulary import read_vocabulary, wrong_number
from bigtensor.data.values.checked_casts import are_whole
from bigtensor.data.values.sparse_matrices import checked_csr
from bigtensor.errors import FileFormatError, Message, Setting

COUNT_TEXTS = Message(
    "Texts have to be counted first: by CountVectorizer of scikit-learn, whose matrix "
    "scipy.sparse.save_npz writes for this import, and whose get_feature_names_out() are the lines "
    "of "
) + Setting("vocabulary")
"""Way from texts to counts, for messages."""


class CountFile:
    """Documents of a file, and the words once all documents were read.

    Attributes
    ----------
    rows : int, optional
        Number of documents, where the file tells it beforehand.
    width : int
        Number of words. It is complete after `blocks`.
    whole : bool
        True if all counts are whole numbers.
    row_name, column_name : str
        Terms for a document and a word.
    left_out : int
        Number of words of the file that are not in the list of words, complete after `blocks`.
    """

    row_name: str = "document"
    column_name: str = "word"
    rows: int | None = None
    width: int = 0
    whole: bool = True
    left_out: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type to store the counts in."""
        return np.dtype(np.int32 if self.whole else np.float32)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents."""
        raise NotImplementedError

    def words(self) -> list[str] | None:
        """Return the names of the words after `blocks`, or None if words are only numbered."""
        raise NotImplementedError

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return further texts of the words, such as the IDs of genes, by the names of columns."""
        return {}


class MatrixFile(CountFile):
    """``.npz`` of SciPy, or of CSR parts with the words as ``vocab``."""

    def __init__(self, path: Path, vocabulary: Path | None) -> None:
        with np.load(path, allow_pickle=False) as parts:
            names = set(parts.files)
            missing = [name for name in ("data", "indices", "indptr", "shape") if name not in names]
            if missing:
                raise FileFormatError(
                    f"{path} has no {', '.join(missing)}: a bag of words in .npz has the arrays "
                    "data, indices, indptr and shape of CSR rows"
                )
            self.rows, self.width = (int(length) for length in parts["shape"])
            check_declared(path, documents=self.rows, words=self.width)
            self._words = _names_in(parts["vocab"]) if "vocab" in names else None
            if "format" in names:
                matrix = load_npz(path)
            else:
                arrays = parts["data"], parts["indices"], parts["indptr"]
                matrix = csr_array(arrays, shape=(self.rows, self.width))
        self._counts = checked_csr(matrix)
        self.whole = bool(are_whole(self._counts.data).all())
        if vocabulary is not None:
            self._words = read_vocabulary(vocabulary, self.width, path)
        elif self._words is not None and len(self._words) != self.width:
            raise wrong_number(path, self.width, f"{len(self._words):,}")

    def blocks(self) -> Iterator[CountBlock]:
        """Return all documents, which are in memory."""
        yield CountBlock(self._counts)

    def words(self) -> list[str] | None:
        """Return the names of the words."""
        return self._words


def _names_in(array: NDArray[Any]) -> list[str]:
    """Return names from an array of strings, of bytes in UTF-8 or of numbers."""
    text = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    return [str(name) for name in text.tolist()]
