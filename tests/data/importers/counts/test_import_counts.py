"""Import of sparse counts: every kind of file gives the same store, and damage is told."""

import gzip

import anndata
import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from scipy.io import mmwrite
from scipy.sparse import csr_array, csr_matrix, save_npz

from bigtensor import open_samples
from bigtensor.data.importers.counts import text_lines
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.errors import DataError, FileFormatError, OutputError, ParameterError

WORDS = [f"w{i}" for i in range(15)]


@pytest.fixture(scope="module")
def counts():
    rows = default_rng(0).poisson(0.6, (60, 15))
    rows[[3, 58, 59]] = 0
    return csr_array(rows)


def triplets(counts):
    coo = counts.tocoo()
    order = np.lexsort((coo.col, coo.row))
    return np.stack([coo.row + 1, coo.col + 1, coo.data], axis=1)[order]


def docword(counts, path, lines=None):
    lines = triplets(counts) if lines is None else lines
    head = f"{counts.shape[0]}\n{counts.shape[1]}\n{counts.nnz}\n"
    text = head + "".join(f"{a} {b} {c}\n" for a, b, c in lines)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def long_table(counts):
    found = triplets(counts)
    return pd.DataFrame(
        {
            "document": [f"d{row:02}" for row in found[:, 0] - 1],
            "word": [WORDS[word] for word in found[:, 1] - 1],
            "count": found[:, 2],
        }
    )


def written(kind, counts, folder):
    """Write counts to a file of a kind; return its path and further arguments."""
    if kind.startswith("docword"):
        (folder / "vocab.x.txt").write_text("\n".join(WORDS))
        return docword(counts, folder / kind), {}
    path = folder / kind
    if kind == "scipy.npz":
        save_npz(path, csr_matrix(counts))
    elif kind == "bag.npz":
        parts = {name: getattr(counts, name) for name in ("data", "indices", "indptr")}
        np.savez(path, shape=counts.shape, vocab=np.array(WORDS), **parts)
    elif kind == "rows.mtx":
        mmwrite(path, counts, field="integer")
    elif kind == "cells.mtx":
        mmwrite(path, counts.T.tocsc(), field="integer")
        return path, {"documents": "columns"}
    elif kind == "long.parquet":
        long_table(counts).to_parquet(path)
    else:
        separator = "\t" if ".tsv" in kind else ","
        long_table(counts).to_csv(path, index=False, sep=separator)
    return path, {}


KINDS = [
    "docword.x.txt",
    "docword.x.txt.gz",
    "scipy.npz",
    "bag.npz",
    "rows.mtx",
    "cells.mtx",
    "long.parquet",
    "long.csv",
    "long.tsv",
    "long.csv.gz",
    "long.tsv.gz",
    "long.csv.xz",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases(
    "docword.x.txt", "scipy.npz", "bag.npz", "rows.mtx", "cells.mtx", "long.parquet", "long.csv.gz"
)
def test_every_kind__gives_the_same_store(counts, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(text_lines, "BATCH_NBYTES", 200)
    path, settings = written(kind, counts, tmp_path)
    calls = []
    summary = import_counts(
        path, tmp_path / "out.zarr", **settings, progress=lambda *now: calls.append(now)
    )
    found = anndata.io.read_zarr(tmp_path / "out.zarr")
    expected = pd.DataFrame(counts.toarray(), columns=WORDS)
    if kind.startswith("long"):
        # a long table has no empty documents, and words in the order in which they appear
        expected = expected[expected.sum(axis=1) > 0]
        assert list(found.obs_names) == [f"d{row:02}" for row in expected.index]
        got = pd.DataFrame(found.X.toarray(), columns=found.var_names)[WORDS]
    else:
        got = pd.DataFrame(found.X.toarray(), columns=WORDS)
    assert np.array_equal(got.to_numpy(), expected.to_numpy())
    if kind.startswith(("docword", "bag")):
        assert list(found.var_names) == WORDS
    assert (summary.rows, summary.words) == found.shape
    assert summary.stored == counts.nnz
    assert calls[-1][0] == len(expected)
    assert open_samples(tmp_path / "out.zarr").dtype == np.int32


def test_vocabulary__is_one_name_a_line(counts, tmp_path):
    path = docword(counts, tmp_path / "counts.txt")
    names = tmp_path / "features.tsv.gz"
    names.write_bytes(gzip.compress("\n".join(f"{w}\tx\ty" for w in WORDS).encode()))
    import_counts(path, tmp_path / "out.zarr", vocabulary=names)
    assert list(anndata.io.read_zarr(tmp_path / "out.zarr").var_names) == WORDS
    names.write_bytes(gzip.compress(b"a\nb"))
    with pytest.raises(FileFormatError, match=r"15 words, .* names has 2"):
        import_counts(path, tmp_path / "other.zarr", vocabulary=names)


def test_damaged_files__are_refused(counts, tmp_path):
    lines, path = triplets(counts), tmp_path / "docword.y.txt"
    out = tmp_path / "out.zarr"
    cases = [
        (lines[:-4], "truncated"),
        (lines[::-1], "not consecutive"),
        (np.vstack([lines[:-1], [[60, 99, 1]]]), r"entry \d+ has the word number 99, .*1 to 15"),
        (np.vstack([lines[:-1], [[61, 1, 1]]]), "document number 61, .*1 to 60"),
        (np.vstack([lines[:-1], [[60, 1, -2]]]), r"entry \d+ has the count -2, .*negative"),
        (np.vstack([lines[:-1], [[60, 1, 0.5]]]), r"entry \d+ has the count 0.5, .*not a whole"),
    ]
    for bad, message in cases:
        as_whole = [[int(a), int(b), c if c % 1 else int(c)] for a, b, c in bad]
        with pytest.raises(DataError, match=message):
            import_counts(docword(counts, path, as_whole), out)
        assert not out.exists()
    path.write_text("60\n15\n3\n1 2 x\n")
    with pytest.raises(FileFormatError, match="entry 1 is '1 2 x'"):
        import_counts(path, out)
    path.write_text("some words\nthat are\nno counts\n")
    with pytest.raises(FileFormatError, match="give a UCI docword file"):
        import_counts(path, out)
    packed = docword(counts, tmp_path / "docword.y.txt.gz")
    packed.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(FileFormatError, match="damaged"):
        import_counts(packed, out)
    assert not [entry for entry in tmp_path.iterdir() if "unfinished" in entry.name]


def test_other_files__are_told(counts, tmp_path):
    out = tmp_path / "out.zarr"
    with pytest.raises(FileFormatError, match="there is no file"):
        import_counts(tmp_path / "no.mtx", out)
    for name in ("x.pdf", "x.npz.gz"):
        (tmp_path / name).write_text("")
        with pytest.raises(FileFormatError, match="of no known kind of counts"):
            import_counts(tmp_path / name, out)
    (tmp_path / "x.h5ad").write_text("")
    with pytest.raises(FileFormatError, match="read in place"):
        import_counts(tmp_path / "x.h5ad", out)
    mmwrite(tmp_path / "dense.mtx", counts.toarray())
    with pytest.raises(FileFormatError, match="Matrix Market file"):
        import_counts(tmp_path / "dense.mtx", out)
    pd.DataFrame({"doc": [1], "word": ["a"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(FileFormatError, match="and not document, count"):
        import_counts(tmp_path / "t.csv", out)
    with pytest.raises(ParameterError, match="for Matrix Market files"):
        import_counts(tmp_path / "t.csv", out, documents="columns")
    np.savez(tmp_path / "a.npz", data=[1.0])
    with pytest.raises(FileFormatError, match="has no indices, indptr, shape"):
        import_counts(tmp_path / "a.npz", out)


def test_existing_store__is_kept(counts, tmp_path):
    path, _ = written("rows.mtx", counts, tmp_path)
    import_counts(path, tmp_path / "out.zarr")
    with pytest.raises(OutputError, match="exists already"):
        import_counts(path, tmp_path / "out.zarr")
    import_counts(path, tmp_path / "out.zarr", overwrite=True)


def test_sizes_on_one_line_and_patterns__are_read(tmp_path):
    path = tmp_path / "pattern.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n% x\n3 4 2\n1 2\n3 1\n")
    import_counts(path, tmp_path / "out.zarr")
    found = anndata.io.read_zarr(tmp_path / "out.zarr").X.toarray()
    assert found.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_spaces_and_comments_between_entries__are_read(tmp_path):
    path = tmp_path / "spaced.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate integer general\n%\n 3  4\t3\n"
        "1  2 5\n% in between\n2\t3 1  \r\n\n  % indented\n 3 1   7 "
    )
    import_counts(path, tmp_path / "out.zarr")
    found = anndata.io.read_zarr(tmp_path / "out.zarr").X.toarray()
    assert found.tolist() == [[0, 5, 0, 0], [0, 0, 1, 0], [7, 0, 0, 0]]


def test_vocabulary__of_a_table_chooses_its_words_in_order(tmp_path):
    path, names = tmp_path / "t.csv", tmp_path / "words.txt"
    path.write_text("document,word,count\na,x,1\na,new,2\nb,new,4\nc,x,3\nc,z,5\n")
    names.write_text("z\ny\nx\n")
    summary = import_counts(path, tmp_path / "t.zarr", vocabulary=names)
    table = anndata.io.read_zarr(tmp_path / "t.zarr")
    assert table.X.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [5, 0, 3]]
    assert [*table.var_names] == ["z", "y", "x"]
    assert [*table.obs_names] == ["a", "b", "c"]
    assert (summary.left_out, summary.stored) == (1, 3)


def test_vocabulary__without_a_word_of_the_table_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("document,word,count\na,x,1\n")
    (tmp_path / "words.txt").write_text('"x"\n"y"\n')
    with pytest.raises(FileFormatError, match=r"words.txt.*t.csv.*'x'"):
        import_counts(tmp_path / "t.csv", tmp_path / "t.zarr", vocabulary=tmp_path / "words.txt")


def test_vocabulary__of_a_table_with_a_repeated_word_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("document,word,count\na,x,1\n")
    (tmp_path / "words.txt").write_text("x\ny\nx\n")
    with pytest.raises(FileFormatError, match="'x' more than once"):
        import_counts(tmp_path / "t.csv", tmp_path / "t.zarr", vocabulary=tmp_path / "words.txt")


def test_tables_of_texts__are_sent_to_a_counter_of_words(tmp_path):
    (tmp_path / "t.csv").write_text('id,text\n1,"the cat sat"\n')
    with pytest.raises(FileFormatError, match="CountVectorizer"):
        import_counts(tmp_path / "t.csv", tmp_path / "t.zarr")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("the cat sat")
    with pytest.raises(FileFormatError, match="CountVectorizer"):
        import_counts(tmp_path / "texts", tmp_path / "t.zarr")


@pytest.mark.parametrize(
    ("table", "words"),
    [("document,word,count\n", "no counts"), ("document,word,count\na,x,1\na, ,2\n", "word 1")],
)
def test_tables__without_rows_or_names_are_refused(tmp_path, table, words):
    path = tmp_path / "long.csv"
    path.write_text(table)
    with pytest.raises(FileFormatError, match=words):
        import_counts(path, tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr").exists()


def test_names_in_tables__stay_as_they_are_written(tmp_path):
    path = tmp_path / "long.csv"
    table = 'document;word;count\n001;NA;3\n001;null;2\n002;"a;\nb";1\n002;1.50;1\n'
    path.write_text("\ufeff" + table, encoding="utf-8")
    import_counts(path, tmp_path / "out.zarr")
    stored = anndata.io.read_zarr(tmp_path / "out.zarr")
    assert list(stored.obs_names) == ["001", "002"]
    assert list(stored.var_names) == ["NA", "null", "a;\nb", "1.50"]
    assert stored.X.toarray().tolist() == [[3, 2, 0, 0], [0, 0, 1, 1]]


def test_names_in_tables__lose_the_apostrophe_before_a_formula(tmp_path):
    (tmp_path / "x.csv").write_text("document,word,count\n'-1,'=a,2\n'-1,'tis,1\n''-1,o'er,1\n")
    import_counts(tmp_path / "x.csv", tmp_path / "out.zarr")
    held = anndata.io.read_zarr(tmp_path / "out.zarr")
    assert list(held.obs_names) == ["-1", "'-1"]
    assert list(held.var_names) == ["=a", "'tis", "o'er"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("d2,w,many", r"count of row 1 \(from 0\) is 'many'"),
        ('d2,"a\nb","1,5"', r"count of row 1 \(from 0\) is '1,5'"),
        ("d2,w", r"row 1 \(from 0\) has 2 cells for 3"),
    ],
)
def test_bad_row_of_a_table__is_located(tmp_path, row, message):
    path = tmp_path / "x.csv"
    path.write_text(f"document,word,count\nd1,w,1\n{row}\nd3,w,1\n")
    with pytest.raises(FileFormatError, match=message) as error:
        import_counts(path, tmp_path / "out.zarr")
    assert "Arrow" not in str(error.value)


@pytest.mark.parametrize(
    "kind",
    [
        *("docword.x.txt.gz", "scipy.npz", "rows.mtx", "long.parquet"),
        *("long.csv", "long.tsv", "long.csv.gz"),
    ],
)
def test_endings_in_capitals__are_read(counts, tmp_path, kind):
    path, _ = written(kind, counts, tmp_path)
    capitals = path.rename(tmp_path / f"{kind.partition('.')[0]}.{kind.partition('.')[2].upper()}")
    assert import_counts(capitals, tmp_path / "out.zarr").stored == counts.nnz


def test_folder_of_parquet__is_one_table(counts, tmp_path):
    folder = tmp_path / "long.parquet"
    folder.mkdir()
    table = long_table(counts)
    for number, rows in enumerate((slice(0, 9), slice(9, None))):
        table[rows].to_parquet(folder / f"part-{number}.parquet")
    import_counts(folder, tmp_path / "out.zarr")
    table.to_parquet(tmp_path / "whole.parquet")
    import_counts(tmp_path / "whole.parquet", tmp_path / "whole.zarr")
    parts, whole = (anndata.io.read_zarr(tmp_path / f"{name}.zarr") for name in ("out", "whole"))
    assert list(parts.obs_names) == list(whole.obs_names)
    assert (parts.X != whole.X).nnz == 0


@pytest.mark.parametrize("head", ["\n \ndocument,word,count", 'document,word,count,"a\nnote"'])
def test_header_of_tables__may_follow_empty_lines_and_have_several(tmp_path, head):
    row = "a,x,1" + ",kept" * ("note" in head)
    (tmp_path / "long.csv").write_text(f"{head}\n{row}\n")
    import_counts(tmp_path / "long.csv", tmp_path / "out.zarr")
    assert anndata.io.read_zarr(tmp_path / "out.zarr").X.toarray().tolist() == [[1]]


@pytest.mark.parametrize("empty", ["document", "word", "count"])
def test_tables__with_an_empty_cell_are_refused(tmp_path, empty):
    row = {"document": "a", "word": "x", "count": "1", empty: ""}
    (tmp_path / "long.csv").write_text("document,word,count\nb,y,2\n" + ",".join(row.values()))
    with pytest.raises(FileFormatError, match=rf"row 1 \(from 0\) has no {empty}"):
        import_counts(tmp_path / "long.csv", tmp_path / "out.zarr")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("d,a,1_000\nd,b,2", "row 0 .*'1_000'.*no number"),
        ("d,a,1\nd,b,1.5", r"row 1 \(from 0\) has the count 1.5"),
        ("d,a,1\nd,b,-2\nd,c,x", r"row 1 \(from 0\) has the count -2"),
        ("d,a,1\nd,b,nan", r"row 1 \(from 0\) has no count"),
        ("d,a,1\nd,b\nd,c,x", r"row 1 \(from 0\) has 2 cells"),
        ("d,a,1\nd,b,3,4\nd,c,x", r"row 1 \(from 0\) has 4 cells"),
        ("d,a,1\nd,b,x\nd,c", "row 1 .*'x'.*no number"),
    ],
)
def test_long_table__names_the_row_of_its_first_fault(tmp_path, rows, message):
    (tmp_path / "long.csv").write_text(f"document,word,count\n{rows}\n")
    with pytest.raises(DataError, match=message):
        import_counts(tmp_path / "long.csv", tmp_path / "out.zarr")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("1 1 2\n1 2 1_000", "entry 2 is '1 2 1_000'"),
        ("1 1 2\n1 2.0 1", "entry 2 is '1 2.0 1'"),
        ("1 1 2\n1 2 1.5", "entry 2 has the count 1.5"),
        ("1 1 2\n1 9 1\n2 x 1", "entry 2 has the word number 9"),
    ],
)
def test_matrix_market__names_its_first_bad_entry(tmp_path, entries, message):
    head, path = "%%MatrixMarket matrix coordinate integer general\n3 3", tmp_path / "counts.mtx"
    path.write_text(f"{head} {len(entries.splitlines())}\n{entries}\n")
    with pytest.raises(FileFormatError if " is " in message else DataError, match=message):
        import_counts(path, tmp_path / "out.zarr")


def test_bag_of_words__names_the_document_and_the_word_of_a_bad_count(tmp_path):
    save_npz(tmp_path / "c.npz", csr_array(np.array([[1, 0, 2], [0, 3, -1]])))
    with pytest.raises(DataError, match=r"document 1 .*word 2 .*-1"):
        import_counts(tmp_path / "c.npz", tmp_path / "out.zarr")


def test_compressed_table__that_is_truncated_is_refused(counts, tmp_path):
    path, _ = written("long.csv.gz", counts, tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match=r"long\.csv\.gz cannot be read"):
        import_counts(path, tmp_path / "out.zarr")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_vocabulary__with_an_empty_line_is_refused(tmp_path):
    save_npz(tmp_path / "c.npz", csr_array(np.ones((2, 3), int)))
    (tmp_path / "words.txt").write_text("a\n\nc\n")
    with pytest.raises(FileFormatError, match="word 1 "):
        import_counts(tmp_path / "c.npz", tmp_path / "out.zarr", vocabulary=tmp_path / "words.txt")


@pytest.mark.parametrize("documents", ["rows", "columns"])
def test_unsorted_matrix__is_told_to_read_columns_only_if_it_does_not(tmp_path, documents):
    path = tmp_path / "counts.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate integer general\n3 3 3\n2 2 1\n1 1 1\n3 3 1\n"
    )
    with pytest.raises(FileFormatError, match="not consecutive") as raised:
        import_counts(path, tmp_path / "out.zarr", documents=documents)
    assert ("documents='columns'" in str(raised.value)) == (documents == "rows")
