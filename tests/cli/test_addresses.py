"""Data are named by paths and by URLs alike."""

THREADS = ("--scheduler", "threads")


def test_every_command__takes_a_url(run, cells, tmp_path):
    """Both schemes for files are read by the same code, so that each command needs one."""
    model, labels, page = (tmp_path / name for name in ("m.zarr", "l.zarr", "r.html"))
    file, local = f"file://{cells}", f"local://{cells}"
    steps = (
        ("plan", file, "-k", 4),
        ("plan", local, "-k", 4),
        ("fit", local, "-k", 4, "--start", "kmeans", "--out", model, *THREADS),
        ("predict", model, file, "--out", labels, "--by", "sample_id", *THREADS),
        ("report", model, "--data", local, "--labels", f"file://{labels}", "--out", page),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.stderr


def test_outputs__that_are_read_are_refused_by_their_url_too(run, cells):
    result = run("fit", f"file://{cells}", "-k", 4, "--out", cells, "--overwrite")
    assert result.exit_code == 2
    assert "is read and would be replaced" in result.stderr
