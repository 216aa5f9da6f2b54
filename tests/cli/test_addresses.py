"""Data are named by paths and by URLs alike."""

import pytest

THREADS = ("--scheduler", "threads")


@pytest.mark.parametrize("slashes", ["file://", "local://"])
def test_every_command__takes_a_url(run, cells, tmp_path, slashes):
    url, model = f"{slashes}{cells}", tmp_path / "m.zarr"
    labels, page = tmp_path / "l.zarr", tmp_path / "r.html"
    steps = (
        ("plan", url, "-k", 4),
        ("fit", url, "-k", 4, "--start", "kmeans", "--out", model, *THREADS),
        ("predict", model, url, "--out", labels, "--by", "sample_id", *THREADS),
        ("report", model, "--data", url, "--labels", f"{slashes}{labels}", "--out", page),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.stderr


def test_outputs__that_are_read_are_refused_by_their_url_too(run, cells):
    result = run("fit", f"file://{cells}", "-k", 4, "--out", cells, "--overwrite")
    assert result.exit_code == 2
    assert "is read and would be replaced" in result.stderr
