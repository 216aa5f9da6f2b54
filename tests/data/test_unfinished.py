"""Outputs of runs that were killed: the next run of the same output removes them."""

import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.data.stores import leftovers
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.leftovers import unfinished_name, unfinished_path
from bigtensor.errors import StoreReadError


def left_by(process: int, name: str, host: str | None = None) -> str:
    """Return the name under which a process was writing."""
    here = unfinished_name("name").split(".")[1]
    return f"{name}.{here if host is None else host}.{process}.0123abcd.unfinished"


@pytest.fixture
def ended() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def make_store(path: Path, age: float = 0.0) -> None:
    """Make a store whose newest file has an age in seconds."""
    zarr.create_group(path).create_array("X", data=np.ones(3))
    then = time.time() - age
    for entry in path.rglob("*"):
        os.utime(entry, (then, then))
    os.utime(path, (time.time() - 10 * 86_400,) * 2)


def test_leftovers__of_the_same_output_are_removed(tmp_path: Path, ended: int) -> None:
    two_days = 2 * 86_400
    ages = {
        left_by(ended, "a.zarr"): 0,
        left_by(7, "a.zarr", "another-machine"): two_days,
        # kept: somebody may finish them, or they are of other outputs
        left_by(os.getpid(), "a.zarr"): 0,
        left_by(8, "a.zarr", "another-machine"): 0,
        left_by(ended, "b.zarr"): two_days,
        "a.zarr": two_days,
    }
    for name, age in ages.items():
        make_store(tmp_path / name, age)
    path = unfinished_path(tmp_path / "a.zarr")
    assert not path.exists()
    assert {entry.name for entry in tmp_path.iterdir()} == set(list(ages)[2:])


def test_leftovers__are_none_of_a_living_process_that_began_before_the_last_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import may take longer than a day; a process with a number used again wrote nothing."""
    living = tmp_path / left_by(os.getpid(), "a.zarr")
    make_store(living, age=2 * 86_400)
    for days in (4, None):
        age = None if days is None else timedelta(days=days)
        monkeypatch.setattr(leftovers, "_age", lambda _, age=age: age, raising=False)
        unfinished_path(tmp_path / "a.zarr")
        assert living.exists()
    monkeypatch.undo()
    unfinished_path(tmp_path / "a.zarr")
    assert not living.exists()


def test_age__of_a_process_is_the_time_since_its_start() -> None:
    if not Path("/proc/uptime").exists():
        pytest.skip("needs /proc")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        age = leftovers._age(process.pid)
        own = leftovers._age(os.getpid())
        assert age is not None
        assert own is not None
        assert age < own < timedelta(hours=12)
        process.communicate()
    assert leftovers._age(process.pid) is None


def test_leftovers__of_another_space_of_processes_are_kept_for_a_day(
    tmp_path: Path, ended: int
) -> None:
    """Two containers, or two copies of a machine, may have one name: their numbers differ."""
    host, digest = left_by(ended, "a").split(".")[1].rsplit("-", 1)
    twin = f"{host}-{digest[::-1]}"
    assert twin != f"{host}-{digest}"
    names = [left_by(ended, "a.zarr", machine) for machine in (twin, host)]
    for name in names:
        make_store(tmp_path / name)
    unfinished_path(tmp_path / "a.zarr")
    assert sorted(names) == sorted(entry.name for entry in tmp_path.iterdir())
    for name in names:
        shutil.rmtree(tmp_path / name)
        make_store(tmp_path / name, age=2 * 86_400)
    unfinished_path(tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []


NEW_SPACE = ["unshare", "--pid", "--fork", "--mount-proc"]

WRITE = """
import sys
from pathlib import Path
from bigtensor.data.stores.leftovers import unfinished_path
path = unfinished_path(Path(sys.argv[1]))
path.mkdir()
(path / "zarr.json").touch()
print(path.name, flush=True)
sys.stdin.read()
"""

WRITE_AFTER_OTHERS = f"""
import os, sys
# the next process has a number that is in use here alone
for _ in range(40):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {{}}), 0)
writer = os.posix_spawn(sys.executable, [sys.executable, "-c", {WRITE!r}, sys.argv[1]], os.environ)
os.waitpid(writer, 0)
"""


def test_leftovers__of_a_living_process_in_another_pid_namespace_are_kept(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*NEW_SPACE, "true"]).returncode:
        pytest.skip("this user may not make PID namespaces")
    output = str(tmp_path / "a.zarr")
    with subprocess.Popen(
        [*NEW_SPACE, sys.executable, "-c", WRITE_AFTER_OTHERS, output],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as living:
        assert living.stdin is not None
        assert living.stdout is not None
        name = living.stdout.readline().strip()
        assert int(name.split(".")[-3]) > 40
        subprocess.run(
            [*NEW_SPACE, sys.executable, "-c", WRITE, output],
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=True,
        )
        assert (tmp_path / name / "zarr.json").exists()
        living.stdin.close()


def test_leftovers__that_are_files_or_links_are_removed(tmp_path: Path, ended: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / left_by(ended, "a.csv")).write_text("row,label\n")
    (tmp_path / left_by(ended, "a.csv").replace("0123", "4567")).symlink_to(tmp_path / "kept")
    unfinished_path(tmp_path / "a.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_unfinished_path__of_an_unfinished_store_is_of_the_same_output(tmp_path: Path) -> None:
    inner = unfinished_path(unfinished_path(tmp_path / "a.zarr"))
    assert inner.name.count("unfinished") == 1
    assert inner.name.startswith("a.zarr.")


def test_unfinished_path__in_no_folder_leaves_the_error_to_the_writer(tmp_path: Path) -> None:
    assert unfinished_path(tmp_path / "none" / "a.zarr").parent == tmp_path / "none"


def test_replaced_store__of_a_killed_run_is_kept_until_a_new_one_is_in_place(
    tmp_path: Path, ended: int
) -> None:
    replaced = tmp_path / left_by(ended, "a.zarr.replaced")
    make_store(replaced)
    with SampleStoreWriter(tmp_path / "a.zarr", ["f"], overwrite=True) as store:
        store.append(np.ones((4, 1)))
        assert (replaced / "X" / "zarr.json").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]


KILLED_BETWEEN_RENAMES = """
import os, sys
from pathlib import Path
import numpy as np
from bigtensor.data.stores.layout import SampleStoreWriter

def rename(self, target, rename=Path.rename):
    rename(self, target)
    os._exit(9)

Path.rename = rename
with SampleStoreWriter(Path(sys.argv[1]), ["new"], overwrite=True) as store:
    store.append(np.ones((4, 1)))
"""


def test_overwrite__that_was_killed_between_its_renames_names_both_copies(tmp_path: Path) -> None:
    """Two whole stores were there, and the error said that the path was wrong."""
    path = tmp_path / "a.zarr"
    with SampleStoreWriter(path, ["earlier"]) as store:
        store.append(np.ones((4, 1)))
    command = [sys.executable, "-c", KILLED_BETWEEN_RENAMES, str(path)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 9
    copies = {".replaced." in entry.name: entry for entry in tmp_path.iterdir()}
    with pytest.raises(StoreReadError, match=r"rename one .* to a\.zarr") as both:
        open_samples(path)
    for replaced, feature in ((True, "earlier"), (False, "new")):
        assert str(copies[replaced]) in str(both.value)
        assert open_samples(copies[replaced]).features == (feature,)
    shutil.rmtree(copies[False])
    with pytest.raises(StoreReadError, match="rename") as one:
        open_samples(path)
    assert str(copies[False]) not in str(one.value)
    copies[True].rename(path)
    assert open_samples(path).features == ("earlier",)


def test_copies__that_are_no_stores_of_that_name_are_not_named(tmp_path: Path, ended: int) -> None:
    # of another store, half removed, and written by a run that was killed before it had finished
    make_store(tmp_path / left_by(ended, "b.zarr.replaced"))
    (tmp_path / left_by(ended, "a.zarr.replaced")).mkdir()
    make_store(tmp_path / left_by(ended, "a.zarr"))
    with pytest.raises(StoreReadError, match="check the path"):
        open_samples(tmp_path / "a.zarr")
