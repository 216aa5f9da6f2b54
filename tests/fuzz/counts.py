"""Files of sparse counts in every format, and their import."""

from __future__ import annotations

import gzip
import io
import math
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from bigtensor.data.importers.counts.import_counts import import_counts
from tests.fuzz.steps import new_entry, values
from tests.fuzz.text_edits import WORDS

SIZES = 3
"""Numbers before the triplets: of documents, of words and of entries, on one line or several."""

DOCUMENTS = 40
VOCABULARY = ("apple", "Birne", "ciruela", "dâte", "élan", "fig")
TRIPLETS = ("counts", "docword.x.txt", "docword.x.txt.gz", "cells.mtx", "cells.mtx.gz")

NUMBERS = (
    *("0", "-1", "1", "3000000000", "2147483648", "99999999999", str(2**53 + 1), str(2**63)),
    *("9" * 30, "1e308", "1e39", "1e-320", "nan", "inf", "-0", "1.5", "0x10", "", "a", "\u0661"),
)
"""What takes the place of numbers of documents, words and counts."""

NAMES: tuple[bytes, ...] = (
    *(b"", b"apple", b"a\xc2\x85b", b"a\xe2\x80\xa8b", b"caf\xe9", b"\xff\xfe", b"\xef\xbb\xbfa"),
    *(b"a\x00b", b"\x1b[2J", b"a\tb\tc", b"a\rb", b"  ", b"x" * 20_000, b"=1+1", b"\x0b", b"\x1c"),
)
"""What takes the place of words of a vocabulary."""

ARRAYS: tuple[Any, ...] = (
    *(np.int8(-1), np.uint8(200), True, 2**31, 2**40, 2**62, np.uint64(2**64 - 1), np.nan),
    *(np.inf, 1e39, 0.5, -1.0, 1j, "text", b"bytes", np.datetime64("2020-01-01"), [], [[1, 2]]),
    *([2**40, 2**40], [2, 2**40], [0, 0], [-1, 5], [40.0, 6.0], [40, 6, 1], [np.nan, 6]),
)
"""What takes the place of arrays in npz."""


def _counts() -> sp.csr_array:
    """Return the counts that all files hold."""
    rng = np.random.default_rng(2)
    return sp.csr_array(rng.poisson(1.0, (DOCUMENTS, len(VOCABULARY))).astype(np.int32))


def _lines(counts: sp.csr_array) -> str:
    """Return triplets of document, word and count, counted from one."""
    entries = sp.coo_array(counts)
    triplets = zip(entries.row + 1, entries.col + 1, entries.data, strict=True)
    return "".join(f"{document} {word} {count}\n" for document, word, count in triplets)


def make_docword(folder: Path) -> None:
    """Write UCI bags of words with a vocabulary beside them, also packed."""
    counts = _counts()
    text = "".join(f"{size}\n" for size in (*counts.shape, counts.nnz)) + _lines(counts)
    words = "\n".join(VOCABULARY).encode()
    for name, ending, packed in (("plain", "", bytes), ("gzip", ".gz", _packed)):
        corpus = new_entry(folder, name, "corpus")
        corpus.mkdir()
        (corpus / f"docword.x.txt{ending}").write_bytes(packed(text.encode()))
        (corpus / f"vocab.x.txt{ending}").write_bytes(packed(words))


def make_market(folder: Path) -> None:
    """Write Matrix Market files of whole and of other numbers, with names of features."""
    counts = _counts()
    sizes = f"{DOCUMENTS} {len(VOCABULARY)} {counts.nnz}\n"
    names = "".join(f"{word}\tGene Expression\n" for word in VOCABULARY).encode()
    for field, ending, packed in (("integer", "", bytes), ("real", ".gz", _packed)):
        head = f"%%MatrixMarket matrix coordinate {field} general\n% of cells\n"
        cells = new_entry(folder, field, "corpus")
        cells.mkdir()
        text = head + sizes + _lines(counts)
        (cells / f"cells.mtx{ending}").write_bytes(packed(text.encode()))
        (cells / f"features.tsv{ending}").write_bytes(packed(names))


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def make_npz(folder: Path) -> None:
    """Write a matrix as SciPy does, and a bag of words of plain arrays."""
    counts = _counts()
    sp.save_npz(new_entry(folder, "scipy", "counts.npz"), sp.csr_matrix(counts))
    parts = {name: getattr(counts, name) for name in ("data", "indices", "indptr")}
    bag = new_entry(folder, "bag", "counts.npz")
    np.savez(bag, shape=counts.shape, vocab=np.array(VOCABULARY), **parts)


def make_long_tables(folder: Path) -> None:
    """Write tables of document, word and count."""
    entries = sp.coo_array(_counts())
    table = pd.DataFrame(
        {
            "document": [f"d{row:02}" for row in entries.row],
            "word": [VOCABULARY[word] for word in entries.col],
            "count": entries.data,
        }
    )
    table.to_csv(new_entry(folder, "csv", "counts.csv"), index=False)
    table.to_parquet(new_entry(folder, "parquet", "counts.parquet"))


def read_corpus(path: Path, chance: random.Random) -> Any:
    """Import triplets with their words, and compare the sum of all counts with the text."""
    source = next((path / name for name in TRIPLETS if (path / name).exists()), path)
    features = [beside for beside in sorted(path.glob("features.*")) if chance.random() < 0.7]
    documents = "columns" if source.name.startswith("cells") and chance.random() < 0.2 else "rows"
    held = _imported(source, vocabulary=(features or [None])[0], documents=documents)
    total = _total(source)
    if not math.isclose(held["total"], total, rel_tol=1e-6):
        raise RuntimeError(f"the counts add up to {held['total']!r}, and the text to {total!r}")
    return held


def _total(path: Path) -> float:
    """Return the sum of the counts of a text."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    lines = (line.split() for line in text.splitlines() if line[:1] != b"%")
    sizes = 0
    while sizes < SIZES:
        sizes += len(next(lines))
    triplets = (fields for fields in lines if fields)
    return math.fsum(float(fields[2]) if len(fields) > 2 else 1.0 for fields in triplets)


def read_counts(path: Path, chance: random.Random) -> Any:
    """Import counts that name their words themselves."""
    return _imported(path)


def _imported(path: Path, **options: Any) -> dict[str, Any]:
    """Import counts and read the store: no count is negative or not finite."""
    out = path.parent / "imported.zarr"
    summary = import_counts(path, out, **options)
    held = values(out)
    rows = held.pop("values")
    if not (np.isfinite(rows.data).all() and (rows.data >= 0).all()):
        raise RuntimeError(f"stored counts are {rows.data.min()!r} to {rows.data.max()!r}")
    arrays = {name: getattr(rows, name) for name in ("data", "indices", "indptr")}
    total = float(rows.data.sum(dtype=np.float64))
    return held | arrays | {"stored": summary.stored, "total": total}


def edit_triplets(files: dict[str, bytes], chance: random.Random) -> str:
    """Change a number, a line or the separators of triplets."""
    name = next((name for name in TRIPLETS if name in files), None)
    lines = None if name is None else _unpacked_lines(files[name])
    if name is None or lines is None:
        return ""
    place = chance.randrange(min(6, len(lines)) if chance.random() < 0.4 else len(lines))
    how = chance.choice(("number", "number", "number", "double", "out", "swap", "comment", "space"))
    word = chance.choice(NUMBERS).encode()
    if how == "number":
        fields = lines[place].split(b" ")
        fields[chance.randrange(len(fields))] = word
        lines[place] = b" ".join(fields)
    elif how == "double":
        lines[place:place] = [lines[place]] * chance.choice((1, 1000))
    elif how == "out":
        del lines[place]
    elif how == "swap":
        other = chance.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    elif how == "comment":
        word = chance.choice((b"", b"% comment", b"#", WORDS[-1].encode()))
        lines.insert(place, word)
    else:
        lines[place] = lines[place].replace(b" ", chance.choice((b"  ", b"\t", b" \t ", b",")))
    _write_lines(files, name, lines)
    return f"line {place} of {name}: {how} {word[:40]!r}"


def edit_vocabulary(files: dict[str, bytes], chance: random.Random) -> str:
    """Change, double or leave out a word of a vocabulary."""
    name = next((name for name in sorted(files) if name[:5] in ("vocab", "featu")), None)
    lines = None if name is None else _unpacked_lines(files[name])
    if name is None or lines is None:
        return ""
    place = chance.randrange(len(lines))
    how = chance.choice(("word", "word", "word", "double", "out", "ends"))
    word = chance.choice(NAMES)
    if how == "word":
        lines[place] = word
    elif how == "double":
        lines.insert(place, lines[place])
    elif how == "out":
        del lines[place]
    else:
        lines = [line + b"\r" for line in lines]
    _write_lines(files, name, lines)
    return f"line {place} of {name}: {how} {word[:40]!r}"


def _unpacked_lines(raw: bytes) -> list[bytes] | None:
    """Return the lines of a text, None where it is packed and damaged."""
    try:
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).split(b"\n")
    except (OSError, EOFError, zlib.error):
        return None


def _write_lines(files: dict[str, bytes], name: str, lines: list[bytes]) -> None:
    """Put lines into a file, packed if its name says so."""
    text = b"\n".join(lines)
    files[name] = _packed(text) if name.endswith(".gz") else text


def edit_npz(files: dict[str, bytes], chance: random.Random) -> str:
    """Change values, types and shapes of the arrays of an archive."""
    try:
        with np.load(io.BytesIO(files[""]), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (KeyError, OSError, ValueError, EOFError, zlib.error):
        return ""
    if not arrays:
        return ""
    name = chance.choice(sorted(arrays))
    how = chance.choice(("value", "value", "type", "type", "shape", "array", "out", "objects"))
    arrays[name] = _changed(arrays[name], how, chance)
    if how == "out":
        del arrays[name]
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    files[""] = packed.getvalue()
    return f"{name}: {how} {str(arrays.get(name))[:60]!r}"


def _changed(array: Any, how: str, chance: random.Random) -> Any:
    """Return another array."""
    if how == "value" and array.size and array.dtype.kind in "iuf":
        other = array.copy()
        extreme = np.array(chance.choice((0, -1, 1, 2**15, 2**31 - 1, -(2**31), 2**62)))
        other.flat[chance.randrange(array.size)] = extreme.astype(array.dtype)
        return other
    if how == "type" and array.dtype.kind in "iuf":
        return array.astype(chance.choice(("i1", "u1", "?", "f2", ">i4", ">f8", "c8", "S3", "U3")))
    if how == "shape":
        shapes = (array[..., None], array.ravel()[:-1], array.ravel()[:0], np.tile(array, 2))
        return chance.choice(shapes)
    if how == "objects":
        return np.array([None, *array.ravel().tolist()], object)
    return np.asarray(chance.choice(ARRAYS)) if how == "array" else array
