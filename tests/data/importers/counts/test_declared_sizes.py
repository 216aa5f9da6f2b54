"""Sizes that a file declares: nothing is made of them that its bytes do not bear out."""

import gzip
import io
import resource
import zipfile

import anndata
import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtensor import open_samples
from bigtensor.data.importers.counts import document_blocks, text_lines
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.values.matrices import MOST_NUMBERED
from bigtensor.errors import FileFormatError, LayoutError

ROOM = 3 * 2**30
"""Bytes of address space that a test may take beyond what is in use."""


@pytest.fixture
def little_memory():
    """Limit the address space, so that an allocation of a declared size fails at once."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        used = int(file.read().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, old)


def npz(path, shape, indptr=(0, 1, 1)):
    np.savez(path, data=[1], indices=[0], indptr=np.array(indptr), shape=np.array(shape))
    return path


@pytest.mark.parametrize("name", ["docword.x.txt", "docword.x.txt.gz"])
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((2, 99_999_999_999, 2), "99,999,999,999 words"),
        ((99_999_999_999, 2, 2), "99,999,999,999 documents"),
    ],
)
def test_sizes_of_text__are_refused_before_anything_is_made(
    tmp_path, little_memory, name, sizes, words
):
    text = "\n".join(map(str, sizes)) + "\n1 1 1\n2 2 1\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    with pytest.raises(FileFormatError, match=words):
        import_counts(path, tmp_path / "out.zarr")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_shape_of_npz__is_refused(tmp_path, little_memory):
    with pytest.raises(FileFormatError, match="1,099,511,627,776 words"):
        import_counts(npz(tmp_path / "wide.npz", (2, 2**40)), tmp_path / "out.zarr")
    with pytest.raises(FileFormatError, match="1,099,511,627,776 documents"):
        import_counts(npz(tmp_path / "long.npz", (2**40, 2)), tmp_path / "out.zarr")


def test_array_of_npz__that_is_too_large_for_memory_is_named(tmp_path, little_memory):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (2**40,)}
    )
    path = npz(tmp_path / "x.npz", (2, 3))
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, header.getvalue() if name == "data.npy" else content)
    with pytest.raises(FileFormatError, match=r"too much memory.*1099511627776"):
        import_counts(path, tmp_path / "out.zarr")


def test_wide_matrix_in_memory__is_refused(little_memory):
    with pytest.raises(LayoutError, match="1,099,511,627,776 features"):
        open_samples(csr_array(([1.0], [0], [0, 1, 1]), shape=(2, 2**40)))


def test_text_without_a_line_feed__is_read_as_far_as_a_line_may_be(tmp_path, little_memory):
    for name, before in (("docword.a.txt.gz", b""), ("docword.b.txt.gz", b"2\n2\n2\n1 1 1\n")):
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
            file.write(before)
            for _ in range(40):
                file.write(b"1" * 2**20)
        with pytest.raises(FileFormatError, match="line of more than 1,048,576 bytes"):
            import_counts(tmp_path / name, tmp_path / "out.zarr")


def test_many_empty_documents_and_words__are_stored_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(document_blocks, "_MOST_ROWS", 7)
    path = tmp_path / "counts.txt"
    path.write_text("50\n70000\n2\n1 70000 4\n40 2 1\n")
    summary = import_counts(path, tmp_path / "out.zarr")
    found = anndata.io.read_zarr(tmp_path / "out.zarr")
    assert (summary.rows, summary.words) == found.shape == (50, 70_000)
    assert found.X[0, 69_999] == 4
    assert found.X[39, 1] == 1
    assert list(found.var_names[[0, 65_536, 69_999]]) == ["0", "65536", "69999"]
    assert MOST_NUMBERED >= 70_000


def test_repeated_words_of_one_long_document__are_added_up_as_they_come(tmp_path, monkeypatch):
    monkeypatch.setattr(document_blocks, "_MANY_ENTRIES", 10)
    monkeypatch.setattr(text_lines, "BATCH_NBYTES", 60)
    path = tmp_path / "counts.txt"
    path.write_text("2\n3\n301\n" + "1 2 1\n1 1 2\n1 2 3\n" * 100 + "2 3 1\n")
    import_counts(path, tmp_path / "out.zarr")
    found = anndata.io.read_zarr(tmp_path / "out.zarr").X.toarray()
    assert found.tolist() == [[200, 400, 0], [0, 0, 1]]
