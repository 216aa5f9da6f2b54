from types import SimpleNamespace

import numpy as np
import pytest

from bigtensor.abundance.sample_table import sample_table
from bigtensor.errors import DataError

COLUMNS = {"file": ["a_1.fcs", "a_2.FCS", "a_10"], "dose": [0.0, 0.5, None]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sample_table__reads_files_of_all_delimiters(tmp_path, delimiter):
    path = tmp_path / "samples.csv"
    rows = [("file", "dose", "who"), ("a_1.fcs", "0", "x y"), ("a_2.fcs", "NA", "z")]
    path.write_text("\ufeff" + "".join(delimiter.join(row) + "\n" for row in rows))
    table = sample_table(path)
    assert table.names == ("a_1.fcs", "a_2.fcs")
    assert table.columns == {"dose": ("0", ""), "who": ("x y", "z")}


def test_sample_table__reads_decimal_commas_beside_semicolons(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text("file;dose;plate\n1,5;0,5;1,5\n2,5;NA;b\n3,5;2;c\n")
    table = sample_table(path)
    assert table.names == ("1,5", "2,5", "3,5")
    assert table.columns == {"dose": ("0.5", "", "2"), "plate": ("1,5", "b", "c")}
    path.write_text('file,dose\na,"0,5"\n')
    assert sample_table(path).columns == {"dose": ("0,5",)}


def test_sample_table__reads_line_ends_in_a_cell_as_spaces(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_bytes('file,"dose\r\n(mg)",drug\r\na,1,"x\u2028\ny"\r\nb,2,z\x0bz\r\n'.encode())
    columns = {"dose (mg)": ("1", "2"), "drug": ("x y", "z\x0bz")}
    assert sample_table(path).columns == columns


def test_sample_table__of_mappings_and_frames_is_the_same():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS)
    table = sample_table(COLUMNS)
    assert table.columns == {"dose": ("0", "0.5", "")}
    assert sample_table(frame) == table
    assert sample_table(frame.set_index("file")) == table
    assert sample_table(table) is table


def test_sample_table__takes_names_from_an_index_of_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"arm": ["x", "x", "y"]}, index=["a", "b", "c"])
    table = sample_table(frame)
    assert table.names == ("a", "b", "c")
    assert table.columns == {"arm": ("x", "x", "y")}
    named = pandas.DataFrame({"file": ["a", "b"], "arm": ["x", "x"]}, index=["i", "j"])
    assert sample_table(named).names == ("a", "b")
    with pytest.raises(DataError, match="several rows"):
        sample_table(frame.reset_index(drop=True))


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float16", "category"])
def test_sample_table__of_short_floats_has_no_further_digits(dtype):
    pandas = pytest.importorskip("pandas")
    doses = pandas.Series([0.1, 2.0, float("nan")], dtype=dtype.replace("category", "float32"))
    frame = pandas.DataFrame({"file": ["a", "b", "c"], "dose": doses.astype(dtype)})
    assert sample_table(frame).columns == {"dose": ("0.1", "2", "")}
    assert sample_table({"file": ["a"], "dose": doses[:1].to_numpy()}).columns == {"dose": ("0.1",)}


def test_matched__takes_names_with_and_without_the_ending():
    table = sample_table(COLUMNS).matched(["a_10.fcs", "a_2", "a_1"])
    assert table.names == ("a_10.fcs", "a_2", "a_1")
    assert table.columns["dose"] == ("", "0.5", "0")


def test_matched__takes_letters_in_either_unicode_form():
    decomposed, composed = "Ju\u0308rg0", "J\u00fcrg0"
    for in_table, in_data in ((composed, decomposed), (decomposed, composed)):
        table = sample_table({"sample": [in_table], "dose": ["1"]})
        matched = table.matched([in_data])
        assert matched.names == (in_data,)
        assert matched.columns == {"dose": ("1",)}
        assert table.unused([in_data]) == []
    with pytest.raises(DataError, match="several rows"):
        sample_table({"sample": [composed, decomposed], "dose": ["1", "2"]})


@pytest.mark.parametrize("names", [["a"], ["a.fcs"], ["a", "a.lmd"]])
def test_matched__refuses_several_rows_of_a_sample(names):
    table = sample_table({"file": ["a", "a.fcs"], "dose": ["1", "2"]})
    with pytest.raises(DataError, match=r"a, a\.fcs;"):
        table.matched(names)


def test_matched__tells_files_of_different_kinds_apart_by_the_whole_name():
    table = sample_table({"file": ["a.lmd", "a.fcs", "b"], "dose": ["1", "2", "3"]})
    matched = table.matched(["a.fcs", "a.lmd", "b.fcs"])
    assert matched.columns == {"dose": ("2", "1", "3")}
    assert table.unused(["a.fcs", "a.lmd"]) == ["b"]
    assert table.matched(["a.fcs"]).columns == {"dose": ("2",)}
    assert table.unused(["a.fcs"]) == ["a.lmd", "b"]
    with pytest.raises(DataError, match="several rows"):
        table.matched(["a"])


def test_matched__lists_samples_without_a_row_and_rows_without_a_sample():
    with pytest.raises(DataError, match="2 of 3 samples: b, c") as caught:
        sample_table(COLUMNS).matched(["a_1", "b", "c"])
    assert "a_2.FCS, a_10" in str(caught.value)


def test_matched__counts_the_names_of_long_lists():
    with pytest.raises(DataError, match="s7 and 12 more"):
        sample_table(COLUMNS).matched([f"s{number}" for number in range(20)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,dose\n", "no row"),
        ("file,dose\na\n", "row 2 .* 1 cells"),
        ("file,dose,dose\na,1,2\n", "same name"),
        ("file,dose\na,1\nb,1\na,2\n", "rows for a;"),
        ("file,dose\n,1\n", "lacks the name"),
    ],
)
def test_sample_table__says_what_is_wrong_with_a_file(tmp_path, text, words):
    path = tmp_path / "samples.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        sample_table(path)


def test_sample_table__refuses_what_is_no_table(tmp_path):
    for thing in (tmp_path / "none.csv", {}, {"a": ["x"], "b": [1, 2]}, 3):
        with pytest.raises(DataError):
            sample_table(thing)


def test_column__lists_the_columns_when_one_is_missing():
    with pytest.raises(DataError, match=r"no column 'time'.*dose"):
        sample_table(COLUMNS).column("time")


def test_sample_table__takes_any_frame_with_columns():
    class Frame(SimpleNamespace):
        def __getitem__(self, name):
            return COLUMNS[name]

    table = sample_table(Frame(columns=["file", "dose"]))
    assert table.columns == sample_table(COLUMNS).columns
    assert sample_table({"file": np.array(["a", "b"]), "n": np.array([1, 2])}).columns["n"] == (
        "1",
        "2",
    )


def test_sample_table__reads_names_behind_an_apostrophe_as_tables_write_them(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text("file,'+dose\n'=s3,'-low\n'own,-0.5\n")
    table = sample_table(path)
    assert table.names == ("=s3", "'own")
    assert table.columns == {"+dose": ("-low", "-0.5")}
