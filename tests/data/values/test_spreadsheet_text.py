import pytest

from bigtensor.data.values.spreadsheet_cells import as_text
from bigtensor.data.values.spreadsheet_text import (
    separator_of,
    with_decimal_points,
    without_apostrophe,
)


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("a,b", ","),
        ("a;b, c", ","),
        ("a;b;c, d", ";"),
        ("a\tb", "\t"),
        ('"CD3, CD4";"dose, mg";file', ";"),
        ("dose", ","),
        ("", ","),
    ],
)
def test_separator_of__is_the_one_of_most_cells(header, separator):
    assert separator_of(header) == separator


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0,5", "1", "", "-2,25", " +,5", "1,5E-3"], ["0.5", "1", "", "-2.25", " +.5", "1.5E-3"]),
        (["0,5", "none"], ["0,5", "none"]),
        (["0,5", "1.5"], ["0,5", "1.5"]),
        (["1.000,5", "2,5"], ["1.000,5", "2,5"]),
        (["1,2,3", "2,5"], ["1,2,3", "2,5"]),
        (["1", "2"], ["1", "2"]),
        ([], []),
    ],
)
def test_decimal_commas__are_points_if_every_cell_is_a_number(cells, expected):
    assert with_decimal_points(cells, ";") == expected
    assert with_decimal_points(cells, ",") == cells
    assert with_decimal_points(cells, "\t") == cells


@pytest.mark.parametrize(
    "text", ["=a", "-CD8", "\n+x", "CD4", "'", "", "'CD4'", "5' end", "'=a", "''-b"]
)
def test_without_apostrophe__gives_back_the_text(text):
    assert without_apostrophe(as_text(text)) == text
