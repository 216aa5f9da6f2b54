"""Data and outputs are named by paths and by URLs alike."""

import fsspec
import pytest

from bigtensor.data.stores.zarr_groups import open_whole_group

THREADS = ("--scheduler", "threads")
TWO_FEATURES = ("--features", "CD3,CD4", "--init", "kmeans")


def test_every_command__takes_a_url(run, cells, tmp_path, undrawn):
    """Both schemes for files are read by the same code, so that each command needs one."""
    model, labels, page = (tmp_path / name for name in ("m.zarr", "l.zarr", "r.html"))
    file, local = f"file://{cells}", f"local://{cells}"
    steps = (
        ("plan", file, "-k", 4),
        ("plan", local, "-k", 4),
        # of two features, because a report draws every pair
        ("fit", local, "-k", 4, *TWO_FEATURES, "--out", model, *THREADS),
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


@pytest.fixture
def memory():
    """The file system in memory, empty before and after."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def test_every_command__writes_to_urls(run, memory, tmp_path):
    names = ("c", "m", "labels", "p", "s", "both", "solved")
    cells, model, labels, prepared, first, both, solved = (f"memory://x/{n}.zarr" for n in names)
    (tmp_path / "t.csv").write_text("a,b\n" + "1.5,2\n-1,3.25\n" * 50)
    mixture = ("--model", "gaussian-mixture", "-k", 2)
    steps = (
        ("simulate", "gaussian-mixture", cells, "--rows", 500, "-k", 2),
        ("import", tmp_path / "t.csv", "--out", "memory://x/t.zarr"),
        ("fit", cells, *mixture, "--out", model, "--checkpoint", "memory://x/parts", *THREADS),
        ("predict", model, cells, "--out", labels, "--csv", "memory://x/l.csv", *THREADS),
        ("predict", model, cells, "--into", "answers", *THREADS),
        ("export", labels, "--to", "memory://x/again.csv"),
        ("prepare", cells, *mixture, "--out", prepared, *THREADS),
        ("accumulate", prepared, cells, "--out", first, *THREADS),
        ("merge", first, "--out", both),
        ("solve", prepared, both, "--out", solved),
        ("info", model, labels, cells, first),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, (step, result.stderr)
    assert memory.cat_file("/x/l.csv") == memory.cat_file("/x/again.csv")
    assert open_whole_group(f"{cells}/answers")["label"].shape == (500,)
    assert not [name for name in memory.find("/") if "unfinished" in name]
    # what exists stays
    assert [run(*step).exit_code for step in steps[:5]] == [1] * 5
    result = run("export", labels, "a.fcs", "--to", "memory://x/folder", "--cells", cells)
    assert result.exit_code == 2
    assert "FCS files are copied to a folder" in result.stderr


def test_output_behind_a_url__that_is_read_is_refused(run):
    result = run("fit", "memory://c.zarr/", "-k", 2, "--out", "memory://c.zarr", "--overwrite")
    assert result.exit_code == 2
    assert "is read and would be replaced" in result.stderr
