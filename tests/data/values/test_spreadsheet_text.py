import pytest

from bigtensor.data.values.spreadsheet_text import separator_of


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
