"""Folders and patterns stand for files, in the order that people number them in."""

import gzip
from pathlib import Path

import pytest
import xarray as xr

from bigtensor.data.importers.expansion import expand_paths
from bigtensor.data.importers.files import import_files
from bigtensor.errors import FileFormatError

ENDINGS = (".fcs", ".csv")


@pytest.fixture
def day(tmp_path: Path) -> Path:
    folder = tmp_path / "day1"
    folder.mkdir()
    for name in ("s10.fcs", "s2.fcs", "S1.FCS", "s3.csv.gz", "notes.txt", "s[1].fcs"):
        (folder / name).touch()
    (folder / "cells.zarr").mkdir()
    (folder / "inner.fcs").mkdir()
    return folder


def names(paths):
    return [path.name for path in paths]


def test_folder__stands_for_its_files_with_known_endings(day):
    found = expand_paths([day], ENDINGS)
    # a table beside FCS files is that of the panel or of the samples
    assert names(found) == ["S1.FCS", "s2.fcs", "s10.fcs", "s[1].fcs"]
    assert names(expand_paths([day], (".csv",))) == ["s3.csv.gz"]


def test_pattern__stands_for_what_matches_it(day):
    assert names(expand_paths([day / "s?.fcs", day / "s10.fcs"], ENDINGS)) == ["s2.fcs", "s10.fcs"]


def test_names_that_exist__are_no_patterns(day):
    given = [day / "s[1].fcs", day / "cells.zarr", day / "absent.fcs"]
    assert expand_paths(given, ENDINGS) == given


def test_nothing__is_an_error(day, tmp_path):
    with pytest.raises(FileFormatError, match=r"no file matches .*x\*\.fcs"):
        expand_paths([day / "x*.fcs"], ENDINGS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match=r"no file that .* \.fcs, \.csv"):
        expand_paths([tmp_path / "empty"], ENDINGS)


def test_import__of_a_folder_and_of_a_relative_pattern(tmp_path, monkeypatch):
    for number, name in enumerate(("s10.csv.gz", "s2.csv.gz")):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write(f"a,b\n{number},1\n")
    monkeypatch.chdir(tmp_path)
    for given, out in ((".", "folder.zarr"), ("*.csv.gz", "pattern.zarr")):
        import_files(given, out)
        with xr.open_zarr(out) as store:
            assert store["sample_id"].attrs["categories"] == ["s2", "s10"]
            assert store["X"][:, 0].values.tolist() == [1.0, 0.0]
    assert not list(tmp_path.glob("*.toml"))
