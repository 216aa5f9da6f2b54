"""Workers of our own that end while they start: others are tried, and the reason is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigtensor.engine.clusters import patience, task_run
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.errors import ClusterError
from tests.distributed.jobs import number_much_later
from tests.parameters import first_quick

ROOT = Path(__file__).resolve().parents[2]

SITE = """
import os, sys

folder = os.environ["ENDS"]
# workers only: the main program and multiprocessing's own helper live
if any("spawn_main" in argument for argument in sys.orig_argv):
    number = len(os.listdir(folder))
    open(os.path.join(folder, str(os.getpid())), "x").close()
    if int(os.environ["FIRST"]) <= number < int(os.environ["LAST"]):
        {end}
"""

SCRIPT = """
import os, signal

from bigtensor.engine.clusters import patience
from bigtensor.engine.clusters import task_run
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.errors import ClusterError
from tests.distributed.jobs import number_after

task_run.LOOK_AFTER = 0.3
got = []

def collect(_, number):
    got.append(number)
    if len(got) == 3 and os.environ["FIRST"] != "0":
        for process in client.run(os.getpid).values():
            os.kill(process, signal.SIGTERM)

if __name__ == "__main__":
    try:
        with local_cluster(1) as client:
            DistributedRuntime(client).run(number_after, None, [(n,) for n in range(20)], collect)
        print("finished", sorted(got) == list(range(20)))
    except ClusterError as error:
        print(error)
"""


def run_script(tmp_path: Path, end: str, first: int, last: int, script: str = SCRIPT) -> str:
    """Run a script whose workers end while they start, from one of them to another."""
    (tmp_path / "ends").mkdir()
    (tmp_path / "sitecustomize.py").write_text(SITE.format(end=end))
    (tmp_path / "script.py").write_text(script)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "ENDS": str(tmp_path / "ends"),
        "FIRST": str(first),
        "LAST": str(last),
    }
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout or done.stderr


ENDS = [
    (
        "os.kill(os.getpid(), 9)",
        "killed by signal 9 (SIGKILL), as the system does when memory runs",
    ),
    ("os.kill(os.getpid(), 11)", "killed by signal 11 (SIGSEGV); look at its own message"),
    ("os._exit(3)", "exited with status 3; look at its own message on standard error, such as an"),
]


@pytest.mark.parametrize(("end", "words"), first_quick(ENDS))
def test_workers__that_always_end_while_they_start_are_explained(
    tmp_path: Path, end: str, words: str
) -> None:
    said = run_script(tmp_path, end, 0, 99)
    assert "ended while they started, 3 times" in said
    assert words in said
    assert "__main__" not in said
    assert len(list((tmp_path / "ends").iterdir())) == 3


@pytest.mark.slow  # workers that always end are quick
def test_worker__that_ends_while_it_starts_is_followed_by_another(tmp_path: Path) -> None:
    assert run_script(tmp_path, "os._exit(3)", 0, 2) == "finished True\n"
    assert len(list((tmp_path / "ends").iterdir())) == 3


@pytest.mark.slow
def test_workers__that_end_when_they_are_replaced_are_explained(tmp_path: Path) -> None:
    said = run_script(tmp_path, "os._exit(3)", 1, 99)
    assert "worker processes ended" in said
    assert "it exited with status 3" in said
    assert "dask worker" not in said


@pytest.mark.parametrize("level", first_quick(["info", "critical"]))
def test_workers__of_a_script_without_a_guard_name_the_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setenv("DASK_LOGGING__DISTRIBUTED", level)
    script = """
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.errors import ClusterError

try:
    with local_cluster(1):
        pass
except ClusterError as error:
    print(error)
"""
    said = run_script(tmp_path, "pass", 99, 99, script)
    assert "because every worker imports the script" in said
    assert "if __name__ == '__main__':" in said
    assert len(list((tmp_path / "ends").iterdir())) == 1


def test_workers__of_a_script_on_standard_input_name_a_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-"],
        input=SCRIPT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FIRST": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "this one came from standard input; save it in a file" in done.stdout
    assert "if __name__ == '__main__':" in done.stdout
    assert "status" not in done.stdout + done.stderr


@pytest.mark.slow  # a script without a guard is quick
def test_workers__whose_imports_fail_are_not_told_of_a_guard(tmp_path: Path) -> None:
    script = SCRIPT.replace(
        "\ntask_run.LOOK_AFTER",
        "\nif __name__ != '__main__':\n    import nosuch\ntask_run.LOOK_AFTER",
    )
    said = run_script(tmp_path, "pass", 99, 99, script)
    assert "it exited with status 1" in said
    assert "__main__" not in said


@pytest.mark.slow  # a worker that is killed is quick
def test_workers__with_less_memory_than_they_start_with_name_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_run, "LOOK_AFTER", 1.0)
    monkeypatch.setattr(patience, "WAIT_SECONDS", 5.0)
    with (
        pytest.raises(ClusterError, match="memory"),
        # less than any process holds, also where the system takes the pages of idle ones
        local_cluster(1, 2**20) as client,
    ):
        # a task takes longer than it takes to look at the memory of its worker
        DistributedRuntime(client).run(number_much_later, None, [(n,) for n in range(4)], ignore)


def ignore(*_: object) -> None:
    """Collect nothing."""
