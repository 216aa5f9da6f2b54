"""Names in tables: formulas are text, and quotes are right."""

import csv
import io

import pytest

from bigtensor.data.values.spreadsheet_cells import as_cell, as_text


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1", "＝1", "'=1"])  # noqa: RUF001
def test_as_text__formulas_begin_with_an_apostrophe(name):
    assert as_text(name) == f"'{name}"


@pytest.mark.parametrize("name", ["CD3", "", "a=b", "CD3-", "'1", 'a "b", c', "two\nlines"])
def test_as_cell__is_read_back(name):
    assert as_text(name) == name
    assert next(csv.reader(io.StringIO(f"{as_cell(name)},x\n"))) == [name, "x"]
