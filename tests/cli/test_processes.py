"""What only a process of its own shows: speed of help, workers, signals."""

import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bigtensor
from bigtensor.termination import _RAISE_WAIT, Terminated, signals_raise
from tests.parameters import first_quick

ROOT = Path(__file__).resolve().parents[2]
ROWS = 300_000


@pytest.fixture(scope="module")
def many_cells(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "cells.zarr"
    result = run("simulate", "cytometry", path, "--rows", ROWS, "--components", 8)
    assert result.exit_code == 0, result.stderr
    return path


def run_script(script, *arguments):
    """Run a script of Python in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def wait_for(process, text):
    """Read standard error up to a line that starts with some text; return what was read."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(text):
            return lines
    raise AssertionError(f"{text!r} never came; there was {lines}")


@pytest.mark.alone
def test_help__answers_at_once(start):
    code = "import sys, bigtensor.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "click" in loaded
    heavy = {"numpy", "dask", "distributed", "zarr", "xarray", "sklearn", "scipy", "rich"}
    assert not heavy & set(loaded)
    program, imports = [], []
    for _ in range(5):
        began = time.perf_counter()
        process = start("--help")
        output, _ = process.communicate(timeout=120)
        answered = time.perf_counter()
        assert process.returncode == 0
        subprocess.run([sys.executable, "-c", "import click, numpy"], cwd=ROOT, check=True)
        program.append(answered - began)
        imports.append(time.perf_counter() - answered)
    print(
        f"help takes {min(program) / min(imports):.2f} times as long as to import click and NumPy"
    )
    assert min(program) < 2 * min(imports)
    for command in ("demo", "simulate", "import", "info", "plan", "fit", "predict", "report"):
        assert re.search(rf"^  {command} ", output, re.MULTILINE)


def test_exit_code__1_with_nothing_on_standard_output(start, tmp_path):
    process = start("info", tmp_path / "none.zarr")
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (1, "")
    (line,) = errors.splitlines()
    assert line.startswith("error: ")
    assert str(tmp_path / "none.zarr") in line


@pytest.mark.slow
def test_fit__two_workers_give_the_bits_of_threads(start, run, tmp_path):
    cells, model, out = (tmp_path / name for name in ("cells.zarr", "threads.zarr", "m.zarr"))
    # two chunks, hence two tasks
    run("simulate", "cytometry", cells, "--rows", 70_000, "--components", 4)
    run("fit", cells, "--components", 4, "--out", model, "--scheduler", "threads")
    process = start("fit", cells, "--components", 4, "--out", out, "--workers", 3)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert "runs on    2 processes x 1 thread" in output
    passes = [line for line in errors.splitlines() if " rows, " in line]
    assert [line.split(":")[0] for line in passes] == [
        "pilot",
        "moments",
        "posterior 1",
        "posterior 2",
    ]
    np.testing.assert_array_equal(bigtensor.load(out).weights_, bigtensor.load(model).weights_)


@pytest.mark.parametrize(
    "option",
    first_quick(
        [
            lambda address, _: ("--scheduler", address),
            lambda _, path: ("--scheduler-file", path),
        ]
    ),
    ids=["address", "file"],
)
def test_scheduler__is_used_and_left_running(run, cells, model, tmp_path, option):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            protocol="tcp",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        address, out = cluster.scheduler_address, tmp_path / "m.zarr"
        path = tmp_path / "scheduler.json"
        path.write_text(json.dumps({"address": address}))
        result = run("fit", cells, "-k", 4, "--out", out, *option(address, path))
        assert result.exit_code == 0, result.stderr
        assert "runs on    1 process x 2 threads" in result.stdout
        assert client.submit(sum, [1, 2]).result() == 3
    np.testing.assert_array_equal(bigtensor.load(out).weights_, bigtensor.load(model).weights_)


def test_scheduler__without_workers_is_planned_for_and_waited_for(run, cells, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as cluster:
        address, out = cluster.scheduler_address, tmp_path / "m.zarr"
        where = ("--scheduler", address, "--wait-for-workers", "1s")
        result = run("fit", cells, "-k", 4, "--out", out, *where)
    assert result.exit_code == 1
    assert "a cluster without workers" in result.stdout
    assert "give --memory-limit" in result.stdout
    waiting, error = result.stderr.splitlines()
    assert waiting == "pilot: waiting for workers"
    assert f"{address} has no workers after" in error
    assert "--wait-for-workers 12h" in error
    assert not out.exists()


@pytest.mark.parametrize(
    "where",
    [("--scheduler", "threads"), pytest.param(("--workers", "2"), marks=pytest.mark.slow)],
)
def test_interrupt__in_mid_fit_keeps_finished_parts_and_nothing_half_written(
    start, many_cells, run, tmp_path, where
):
    out, parts = tmp_path / "m.zarr", tmp_path / "parts"
    command = ("fit", many_cells, "-k", 8, "--out", out, "--checkpoint", parts, "--init", "kmeans")
    process = start(*command, *where)
    wait_for(process, "posterior 1")
    # To the whole group, as a terminal does it: workers must not answer with tracebacks.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    last = errors.splitlines()[-1]
    assert last.startswith("interrupted: ")
    assert str(parts) in last
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == ["parts"]  # noqa: PTH208
    again = run(*command, "--scheduler", "threads")
    assert again.exit_code == 0, again.stderr
    # the whole pass, or a part of it where the interrupt came before its end
    (line,) = (line for line in again.stderr.splitlines() if line.startswith("posterior 1:"))
    assert line.endswith("from the checkpoint")


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [pytest.param(("--scheduler", "threads"), marks=pytest.mark.slow), ("--workers", "2")],
)
def test_termination__says_what_an_interrupt_says(start, many_cells, tmp_path, where):
    """SIGTERM comes before a batch system kills."""
    out, parts = tmp_path / "m.zarr", tmp_path / "parts"
    process = start(
        *("fit", many_cells, "-k", 8, "--out", out, "--checkpoint", parts, "--init", "kmeans"),
        *where,
    )
    wait_for(process, "posterior 1")
    process.terminate()
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 143, errors
    last = errors.splitlines()[-1]
    assert last.startswith("terminated: ")
    assert str(parts) in last
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == ["parts"]  # noqa: PTH208


UNFINISHED_READ = """
import asyncio, os, signal, sys

import click
import zarr

from bigtensor.cli.command import Command

class Endless(zarr.storage.MemoryStore):
    async def get(self, key, *args, **kwargs):
        # one of the files that Zarr asks for at once sends the signal, when its caller waits
        await asyncio.sleep(0.2)
        if key == "zarr.json":
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        await asyncio.sleep(600)

click.command(cls=Command)(lambda: zarr.open_group(Endless(), mode="r"))([])
"""


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [("SIGTERM", 143, "terminated"), ("SIGINT", 130, "interrupted"), ("SIGHUP", 129, "terminated")],
)
def test_signal__while_a_store_is_read_prints_one_line(name, code, word):
    """What was left of the read on Zarr's thread was reported with a traceback."""
    done = run_script(UNFINISHED_READ, name)
    assert (done.returncode, done.stderr) == (code, f"{word}: nothing was written\n")


SIGNAL_AFTER_THE_END = """
import os, signal, sys, threading, time

import click

from bigtensor.__main__ import main
from bigtensor.cli import main as commands
from bigtensor.cli.command import Command

def send_again():
    # the interpreter ends, and waits for this thread
    threading.main_thread().join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)

def work():
    threading.Thread(target=send_again).start()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)

commands.add_command(click.command("work", cls=Command)(work))
sys.argv = ["bigtensor", "work"]
main()
"""


def test_termination__twice_has_the_exit_code_of_the_first():
    """The second signal, after the command had ended, killed the process."""
    done = run_script(SIGNAL_AFTER_THE_END)
    assert (done.returncode, done.stderr) == (143, "terminated: nothing was written\n")


PROGRESS = """
import os, time

import click

from bigtensor.cli.command import Command
from bigtensor.cli.progress import reporter

def work():
    with reporter():
        os.write(1, b"shown")
        time.sleep(30)

click.command(cls=Command)(work)([])
"""


def test_hangup__of_a_terminal_with_progress_has_its_exit_code():
    """What could not be written on the closed terminal was an error that nobody expected."""
    ours, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRESS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    with process:
        assert process.stdout.read(5) == b"shown"
        os.close(terminal)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 129


def test_hangup__that_is_ignored_stays_ignored():
    """So does nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_raise():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


INTERRUPTED_MODULE_LOCK = """
import signal, sys, threading

import click

from bigtensor.cli.command import Command

class Interrupting:
    def find_spec(self, name, *_):
        # the frame that has called is of the import system, as that which removes locks
        signal.getsignal(signal.SIGINT)(signal.SIGINT, sys._getframe(1))
        print("not raised here", flush=True)

def work():
    sys.meta_path.insert(0, Interrupting())
    import colorsys
    threading.Event().wait(10)

signal.signal(signal.SIGINT, signal.default_int_handler)
click.command(cls=Command)(work)([])
"""


def test_interrupt__in_the_import_system_is_raised_later():
    """The signal was lost, and threads waited for ever for the lock of imports."""
    done = run_script(INTERRUPTED_MODULE_LOCK)
    assert (done.returncode, done.stdout) == (130, "not raised here\n"), done.stderr
    assert done.stderr == "interrupted: nothing was written\n"


def test_signal__in_a_callback_of_the_garbage_collector_is_raised_after_it() -> None:
    def terminate(phase: str, _: dict[str, int]) -> None:
        if phase == "stop":
            gc.callbacks.remove(terminate)
            os.kill(os.getpid(), signal.SIGTERM)

    def collect_and_wait() -> None:
        gc.callbacks.append(terminate)
        gc.collect()
        time.sleep(5)

    with signals_raise(), pytest.raises(Terminated):
        collect_and_wait()


def test_interrupt__that_waits_for_an_import_ends_with_the_command(monkeypatch):
    """A signal of a moment before the end ended the next command, or Python with a traceback."""
    ended = []
    monkeypatch.setattr(os, "kill", lambda *_: ended.append(True))
    code = compile("import sys; call(2, sys._getframe())", "<frozen importlib._bootstrap>", "exec")
    with signals_raise():
        exec(code, {"call": signal.getsignal(signal.SIGINT)})
    time.sleep(4 * _RAISE_WAIT)
    assert not ended


def test_interrupt__while_options_are_read_has_its_exit_code(run, monkeypatch, tmp_path):
    """Click said "Aborted!", with the exit code of a failure."""

    def convert(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bigtensor.cli.options.DATA.convert", convert)
    result = run("plan", tmp_path / "cells.zarr")
    assert (result.exit_code, result.stderr) == (130, "interrupted: nothing was written\n")


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "bigtensor.cli":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
from bigtensor.__main__ import main
main()
"""


def test_interrupt__while_the_command_line_is_imported_prints_one_line():
    """It ended with a traceback of the import."""
    done = run_script(INTERRUPTED_IMPORT)
    assert (done.returncode, done.stderr) == (130, "interrupted: nothing was written\n")


UNSTARTED_CALL = """
import os, signal, threading, time

import click

from bigtensor.cli.command import Command

async def read():
    pass

def end():
    threading.Thread(target=lambda call: time.sleep(0.5), args=[read()]).start()
    os.kill(os.getpid(), signal.SIGTERM)

click.command(cls=Command)(end)([])
"""


def test_signal__before_a_call_has_started_prints_one_line():
    """A thread let go of the call after the command had ended, and Python warned of it."""
    done = run_script(UNSTARTED_CALL)
    assert (done.returncode, done.stderr) == (143, "terminated: nothing was written\n")


def test_termination__of_an_import_leaves_nothing(start, tmp_path):
    table = tmp_path / "cells.csv"
    header = ",".join(f"m{j}" for j in range(6))
    lines = io.StringIO()
    np.savetxt(lines, np.random.default_rng(0).normal(size=(4_000, 6)), "%.6g", ",")
    table.write_text(f"{header}\n" + 100 * lines.getvalue())
    process = start("import", table, "--out", tmp_path / "cells.zarr")
    while not any("unfinished" in name for name in os.listdir(tmp_path)):  # noqa: PTH208
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 143, errors
    assert errors.splitlines()[-1] == "terminated: nothing was written"
    assert os.listdir(tmp_path) == ["cells.csv"]  # noqa: PTH208


@pytest.mark.slow
def test_interrupt__while_workers_start_is_as_clean(start, many_cells, tmp_path):
    process = start("fit", many_cells, "-k", 8, "--out", tmp_path / "m.zarr", "--workers", 2)
    for line in process.stdout:
        if line.startswith("fits"):
            break
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    (line,) = errors.splitlines()
    assert line.startswith("interrupted: nothing was written")
    assert os.listdir(tmp_path) == []  # noqa: PTH208
