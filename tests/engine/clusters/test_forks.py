"""A fit in a forked process: threads of the parent do not exist there."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from bigtensor.data.stores.process_wide import ProcessWide

ROOT = Path(__file__).resolve().parents[3]

SECONDS = 120
"""Far more than a fit takes: one that waits for a thread of the parent waits for ever."""

PROGRAM = """
import os, sys

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from bigtensor import GaussianMixture
from bigtensor.data.stores.layout import SampleStoreWriter

rows = np.repeat([[0.0], [8.0]], 200, axis=0) + np.random.default_rng(0).normal(size=(400, 3))
store = os.path.join(sys.argv[1], "rows.zarr")

def fit(X=rows, **options):
    model = GaussianMixture(2, random_state=0).fit(X, **options)
    return [*model.weights_, *model.predict(X[:10] if X is not store else X)]

def in_child(function):
    process = os.fork()
    if process == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def again(X=rows, **options):
    np.testing.assert_array_equal(fit(X, **options), expected)

if __name__ == "__main__":
"""

THREADS = """
    expected = fit()
    print("array", in_child(again))
    print("grandchild", in_child(lambda: (again(), os._exit(in_child(again)))))

    expected = fit(workers=3, scheduler="threads")
    print("several threads", in_child(lambda: again(workers=3, scheduler="threads")))

    lazy = da.from_array(rows, chunks=(100, 3))
    expected = fit(lazy)
    print("lazy array", in_child(lambda: again(lazy)))

    with SampleStoreWriter(store, list("abc")) as writer:
        writer.append(rows)
    expected = fit(store)
    print("store", in_child(lambda: again(store)))
"""

CLUSTERS = """
    with (
        LocalCluster(1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        expected = fit()
        print("current client", in_child(again))
        in_child(lambda: fit(client=client))
    fit(workers=1)
    in_child(lambda: fit(workers=1))
"""


def run(tmp_path: Path, body: str) -> list[str]:
    """Return the lines that a program prints in a bounded time."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAM + body)
    done = subprocess.run(
        [sys.executable, "-u", str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_fit__after_a_fit_and_a_fork_gives_the_same_bits(tmp_path: Path) -> None:
    cases = ["array", "grandchild", "several threads", "lazy array", "store"]
    assert run(tmp_path, THREADS) == [f"{case} 0" for case in cases]


@pytest.mark.slow
def test_clusters_of_the_parent__are_not_waited_for(tmp_path: Path) -> None:
    current, client, processes = run(tmp_path, CLUSTERS)
    assert current == "current client 0"
    assert client.startswith("ClusterError the client was made before this process was forked")
    assert processes.startswith("ClusterError worker processes cannot start here")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_process_wide__can_be_used_after_a_fork_while_another_thread_makes_the_setting() -> None:
    making, made = threading.Event(), threading.Event()

    def make() -> AbstractContextManager[None]:
        making.set()
        made.wait()
        return nullcontext()

    def use() -> None:
        with setting:
            pass

    setting = ProcessWide(make)
    other = threading.Thread(target=use)
    other.start()
    making.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        made.set()
        try:
            use()
            os._exit(0)
        finally:
            os._exit(1)
    made.set()
    other.join()
    assert os.waitpid(process, 0)[1] == 0
