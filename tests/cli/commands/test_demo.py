import os
import re

import pytest

from bigtensor.cli.commands.demo import REPORT, _folder, _kept_report


def number(name, output):
    return float(re.search(rf"^{name} +([\d.]+)", output, re.MULTILINE)[1])


@pytest.mark.slow  # the demo is a part of CI by itself
def test_demo__finds_the_populations_and_keeps_what_was_asked_for(start, tmp_path):
    out = tmp_path / "demo"
    process = start("demo", "--rows", "200_000", "--out", out)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert number("accuracy", output) > 0.97
    assert number("mean F1", output) > 0.9
    assert number("adjusted Rand index", output) > 0.95
    assert number("fitted", output) < 60
    table = re.findall(r"^ +\d+  (\S.*?) +[\d,]+ +[\d.% ]+  (.+)$", output, re.MULTILINE)
    names = dict(table)
    assert len(names) == len(set(names.values())) == 8
    # as an immunologist writes them
    assert {"CD3+", "CD4+", "CD8-"} <= {*names["CD4 T cells"].split()}
    assert {"CD3+", "CD8+"} <= {*names["CD8 T cells"].split()}
    assert "CD19+" in names["B cells"]
    assert "CD14+" in names["classical monocytes"]
    stores = {"cells.zarr", "model.zarr", "labels.zarr"}
    assert stores <= set(os.listdir(out)) <= stores | {"report.html"}  # noqa: PTH208


def test_demo__a_folder_with_something_in_it_is_refused(run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 1
    assert "not an empty folder" in result.stderr


def test_demo__few_rows_are_wrong_usage(run):
    assert run("demo", "--rows", 10).exit_code == 2


def test_report__is_kept_where_nothing_else_is(tmp_path):
    folder, kept = tmp_path / "temporary", tmp_path / "bigtensor-demo"
    folder.mkdir()
    assert _kept_report(folder, kept).startswith("Nothing was kept; ")
    for page, replaced in (("first", ""), ("second", " in place of an earlier report")):
        (folder / REPORT).write_text(page)
        assert _kept_report(folder, kept).startswith(f"kept       {kept / REPORT}{replaced}; ")
        assert (kept / REPORT).read_text() == page
    (tmp_path / "file").touch()
    assert "Nothing was kept (" in _kept_report(folder, tmp_path / "file")


def test_folder__a_temporary_one_is_removed():
    with _folder(None) as folder:
        (folder / "cells.zarr").mkdir()
    assert not folder.exists()
