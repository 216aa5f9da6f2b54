"""Lists of words: where a name ends, and in which encoding it is."""

import gzip
import tracemalloc

import anndata
import numpy as np
import pytest

from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.errors import FileFormatError


def names(folder, raw, n, ending=".txt"):
    """Import counts of n words with a list of bytes; return the names in the store."""
    counts = folder / "counts.txt"
    counts.write_text(f"1\n{n}\n1\n1 1 1\n")
    path = folder / f"words{ending}"
    path.write_bytes(gzip.compress(raw) if ending.endswith(".gz") else raw)
    import_counts(counts, folder / "out.zarr", vocabulary=path, overwrite=True)
    return list(anndata.io.read_zarr(folder / "out.zarr").var_names)


def test_names__end_at_line_feeds_alone(tmp_path):
    expected = ["a\x85b", "c\u2028d", "e\x0bf", "g\x1ch", "i\rj", "\xa0k"]
    text = "\n".join(expected)
    for raw in (text, text + "\n", "\ufeff" + text, text.replace("\n", "\r\n") + "\r\n"):
        assert names(tmp_path, raw.encode(), 6) == expected
    assert names(tmp_path, (text + "\n").encode(), 6, ".tsv.gz") == expected


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings__are_refused_with_the_line(tmp_path, encoding):
    raw = "über\n" if encoding == "utf-16" else "plain\nüber\n"
    with pytest.raises(FileFormatError, match=r"words\.txt: line \d .*iconv") as caught:
        names(tmp_path, raw.encode(encoding), 2)
    assert ("line 2" in str(caught.value)) == (encoding == "latin-1")


def test_bytes_in_npz__are_utf8(tmp_path):
    parts = {"data": [1], "indices": [0], "indptr": [0, 1], "shape": (1, 2)}
    np.savez(tmp_path / "b.npz", vocab=np.array(["ä".encode(), b"b"]), **parts)
    import_counts(tmp_path / "b.npz", tmp_path / "out.zarr")
    assert list(anndata.io.read_zarr(tmp_path / "out.zarr").var_names) == ["ä", "b"]
    np.savez(tmp_path / "b.npz", vocab=np.array(["ä".encode("latin-1"), b"b"]), **parts)
    with pytest.raises(FileFormatError, match="not UTF-8"):
        import_counts(tmp_path / "b.npz", tmp_path / "other.zarr")


def test_wrong_lengths__are_refused(tmp_path):
    for raw in (b"a\n", b"a\nb\nc\n"):
        with pytest.raises(FileFormatError, match="2 words, but the list of their names"):
            names(tmp_path, raw, 2)


@pytest.mark.parametrize("raw", [b"a" * 2**26, b"a\n" * 2**25], ids=["one line", "many lines"])
def test_compressed_lists__are_read_as_far_as_needed(tmp_path, raw):
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            names(tmp_path, raw, 3, ".gz")
        # without the bytes that this test itself compresses
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
