"""One value a row from tables of text, as programs and spreadsheets of any country write them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bigtensor.data.importers import column_files
from bigtensor.data.importers.column_files import read_row_values
from bigtensor.errors import DataError, FileFormatError


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dose\n1,5\n2,5\n3,5\n", r"row 0 .* 2 cells.*decimal points"),
        ("id,dose\n7,1\n8,2,99\n9\n", r"row 1 \(from 0\) has 3 cells"),
        ("id,dose\n7,1\n8\n9,3\n", r"row 1 \(from 0\) has 1 cells"),
        ("id;dose\n7;1\n8;2;99\n", r"row 1 \(from 0\) has 3 cells"),
        ("dose\n1,2,3,4,5\n", r"row 0 \(from 0\) has 5 cells"),
    ],
)
def test_uneven_rows__are_refused_as_by_import(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_row_values(table(tmp_path, text), "dose")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator__is_that_of_the_header(tmp_path: Path, separator: str) -> None:
    text = "id,side,dose\n7,a,1.5\n8,b,2\n9,a,\n".replace(",", separator)
    path = table(tmp_path, text)
    np.testing.assert_array_equal(read_row_values(path, "dose").values[0:3], [1.5, 2, np.nan])
    np.testing.assert_array_equal(read_row_values(path, "id").values[0:3], [7, 8, 9])
    side = read_row_values(path, "side")
    np.testing.assert_array_equal(side.values[0:3], [0, 1, 0])
    assert side.attrs["categories"] == ["a", "b"]
    with pytest.raises(DataError, match="'id', 'side', 'dose'"):
        read_row_values(path, "age")


def test_decimal_commas__are_numbers_beside_semicolons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_files, "_ROWS_PER_BLOCK", 2)
    path = table(tmp_path, "dose;site\n1;1,5\n2;2,5\n;x\n0,5;3,5\n")
    dose = read_row_values(path, "dose")
    np.testing.assert_array_equal(dose.values[0:4], [1, 2, np.nan, 0.5])
    assert not dose.attrs
    assert read_row_values(path, "site").attrs["categories"] == ["1,5", "2,5", "x", "3,5"]


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv", ".tsv.xz"])
def test_ending__names_tabs_and_compression(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"dose, mg": [1, 2], "batch": ["x", "y"]})
    path = tmp_path / f"t{ending}"
    frame.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    np.testing.assert_array_equal(read_row_values(path, "dose, mg").values[0:2], [1, 2])


def test_empty_line_of_a_single_column__is_missing(tmp_path: Path) -> None:
    numbers = read_row_values(table(tmp_path, "gate\r\n1\r\n\r\n0\r\n\r\n"), "gate")
    np.testing.assert_array_equal(numbers.values[0:9], [1, np.nan, 0])
    names = read_row_values(table(tmp_path, "gate\nin\n\nout\n"), "gate")
    np.testing.assert_array_equal(names.values[0:9], [0, -1, 1])


def test_true_and_false__stay_so(tmp_path: Path) -> None:
    values = read_row_values(table(tmp_path, "live\nTrue\nFalse\n"), "live").values
    assert values.dtype == bool


def test_column_of_names__is_one_in_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that looks like a number is the same name before and behind other names."""
    monkeypatch.setattr(column_files, "_ROWS_PER_BLOCK", 2)
    read = read_row_values(table(tmp_path, "cluster\n1\n02\n1\nB\n1\n"), "cluster")
    assert read.attrs["categories"] == ["1", "02", "B"]
    np.testing.assert_array_equal(read.values[0:5], [0, 1, 0, 2, 0])


@pytest.mark.parametrize("text", ["", "\n", "dose\n"])
def test_table_without_rows__is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"t\.csv"):
        read_row_values(table(tmp_path, text), "dose")


def test_ids__keep_their_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_files, "_ROWS_PER_BLOCK", 2)
    path = table(tmp_path, "padded,long,age\n10,9007199254740993,7\n,,\n0012,9007199254740995,8\n")
    assert read_row_values(path, "padded").attrs["categories"] == ["10", "0012"]
    long = read_row_values(path, "long")
    assert long.attrs["categories"] == ["9007199254740993", "9007199254740995"]
    np.testing.assert_array_equal(long.values[0:3], [0, -1, 1])
    # few digits are exact beside a missing value too
    age = read_row_values(path, "age")
    np.testing.assert_array_equal(age.values[0:3], [7, np.nan, 8])
    assert not age.attrs


@pytest.mark.parametrize(
    "text", ["dose\n1e300\n\n2e16\n", "dose\n0.5\n01.5\n2\n", "dose\n1.0\n02\n"]
)
def test_measurements__stay_numbers(tmp_path: Path, text: str) -> None:
    assert not read_row_values(table(tmp_path, text), "dose").attrs
