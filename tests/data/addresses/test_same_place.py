"""Outputs that would replace an input are found, however the addresses are spelled."""

from pathlib import Path

import pytest

from bigtensor.data.addresses.same_place import would_replace


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("s3a://bucket/cells.zarr", "s3://bucket/cells.zarr"),
        ("s3://bucket//cells.zarr/", "s3://bucket/cells.zarr"),
        ("simplecache::s3://bucket/cells.zarr", "s3://bucket/cells.zarr"),
        ("memory:///folder/cells.zarr", "memory://folder/cells.zarr"),
        ("simplecache::file:///data/cells.zarr", "/data/cells.zarr"),
        ("file:///data/cells.zarr", "/data/more/../cells.zarr"),
        ("/data", "/data/cells.zarr"),
    ],
)
def test_would_replace__is_true_for_one_place(out: str, source: str) -> None:
    if "s3" in out:
        pytest.importorskip("s3fs")
    assert would_replace(out, source)


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("s3://bucket/labels.zarr", "s3://bucket/cells.zarr"),
        ("memory://cells.zarr", "/cells.zarr"),
        ("/data/cells.zarr/labels", "/data/cells.zarr"),
        ("/data/cells", "/data/cells.zarr"),
    ],
)
def test_would_replace__is_false_for_other_places(out: str, source: str) -> None:
    if "s3" in out:
        pytest.importorskip("s3fs")
    assert not would_replace(out, source)


def test_would_replace__follows_links(tmp_path: Path) -> None:
    (tmp_path / "cells.zarr").mkdir()
    (tmp_path / "link.zarr").symlink_to(tmp_path / "cells.zarr")

    assert would_replace(tmp_path / "link.zarr", tmp_path / "cells.zarr")
