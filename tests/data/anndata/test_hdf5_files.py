"""Files that the HDF5 library does not survive are refused, by way of a process that reads them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import psutil
import pytest
from click.testing import CliRunner

from bigtensor.cli import main
from bigtensor.data.anndata import hdf5_files
from bigtensor.data.anndata.hdf5_files import check_structure, open_hdf5
from bigtensor.data.exporters.in_place import open_in_place
from bigtensor.data.importers.anndata import open_anndata, open_obs
from bigtensor.data.opening import open_samples
from bigtensor.data.sources.anndata_datasets import anndata_dataset
from bigtensor.data.sources.anndata_source import anndata_file_source
from bigtensor.errors import FileFormatError
from tests.parameters import first_quick

VARIABLES = 500

PLAIN_STRING = bytes.fromhex("1901010010000000")
"""Type of a string of variable length, as it lies in an attribute."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write AnnData whose names of variables fill several heaps."""
    path: Path = tmp_path_factory.mktemp("whole") / "cells.h5ad"
    obs = pd.DataFrame(
        {"kind": pd.Categorical(["T", "B"] * 3), "note": [f"note {row}" for row in range(6)]},
        index=[f"cell {row}" for row in range(6)],
    )
    var = pd.DataFrame(index=[f"gene {column}" for column in range(VARIABLES)])
    data = anndata.AnnData(np.ones((6, VARIABLES), "f4"), obs=obs, var=var)
    data.write_h5ad(path, convert_strings_to_categoricals=False)
    return path


@pytest.fixture
def whole(written: Path, tmp_path: Path) -> Path:
    """Return a copy of the file."""
    return Path(shutil.copy(written, tmp_path))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the library less time than users do."""
    monkeypatch.setattr(hdf5_files, "SECONDS_A_STEP", 1.0)


def make_endless(path: Path, text: bytes) -> None:
    """Clear the header of a string in a heap: the library then looks for the next one forever."""
    raw = bytearray(path.read_bytes())
    assert raw.count(text) == 1
    place = raw.index(text)
    raw[place - 16 : place] = bytes(16)
    path.write_bytes(raw)


def make_crashing(path: Path) -> None:
    """Give the first attribute a variable length of nothing that the library knows."""
    raw = path.read_bytes()
    path.write_bytes(raw.replace(PLAIN_STRING, b"\x19\x03" + PLAIN_STRING[2:], 1))


def open_to_change(path: Path) -> None:
    """Open a file as an export does."""
    with open_in_place(path):
        pass


DOORS: dict[str, Callable[[Path], Any]] = {
    "import": open_anndata,
    "import of codes": open_obs,
    "fit": lambda path: open_samples(str(path)),
    "URL": lambda path: open_samples(f"file://{path}"),
    "xarray": lambda path: anndata_dataset(anndata_file_source(str(path)), "cell"),
    "export": open_to_change,
}


@pytest.mark.parametrize("door", first_quick(DOORS, 2))
@pytest.mark.quick_cases("import of codes")
def test_endless_loop__is_refused_wherever_the_file_is_opened(door: str, whole: Path) -> None:
    DOORS[door](whole)
    make_endless(whole, b"anndata\0")
    with pytest.raises(FileFormatError) as caught:
        DOORS[door](whole)
    message = str(caught.value)
    assert message.startswith(f"{whole} is damaged")
    assert "1 s" in message


def test_info__says_in_one_line_that_the_library_cannot_read_the_file(whole: Path) -> None:
    assert CliRunner().invoke(main, ["info", str(whole)]).exit_code == 0
    make_endless(whole, b"anndata\0")
    result = CliRunner().invoke(main, ["info", str(whole)])
    assert result.exit_code == 1
    assert "HDF5 library makes no progress for 1 s" in result.output


@pytest.mark.parametrize("text", first_quick([b"gene 3\0", b"gene 499", b"note 3"]))
def test_names__are_read_to_their_end(text: bytes, whole: Path) -> None:
    assert whole.read_bytes().count(b"GCOL") >= 2
    make_endless(whole, text)
    with pytest.raises(FileFormatError, match="makes no progress"):
        check_structure(whole)


def test_attributes__are_read_where_members_cannot_be_listed(whole: Path) -> None:
    make_endless(whole, b"anndata\0")
    whole.write_bytes(whole.read_bytes().replace(b"TREE", b"tree", 1))
    with pytest.raises(FileFormatError, match="makes no progress"):
        check_structure(whole)


def test_crash__is_refused(whole: Path) -> None:
    make_crashing(whole)
    with pytest.raises(FileFormatError, match="that the HDF5 library crashes"):
        open_hdf5(whole)


def test_other_damage__is_left_to_the_opening(tmp_path: Path) -> None:
    (tmp_path / "text.h5ad").write_text("no HDF5")
    os.mkfifo(tmp_path / "pipe.h5ad")
    for name in ("text.h5ad", "pipe.h5ad", "absent.h5ad", "nul\0.h5ad"):
        check_structure(tmp_path / name)
    with pytest.raises(OSError, match="file signature not found"):
        open_hdf5(tmp_path / "text.h5ad")


@pytest.mark.timeout(60)
def test_circles_and_lengths_without_values__end(tmp_path: Path) -> None:
    path = tmp_path / "circle.h5ad"
    with h5py.File(path, "w") as file:
        names = {"shape": (2**40,), "chunks": (2**16,), "dtype": h5py.string_dtype()}
        file.create_dataset("obs/name", **names)
        file["obs/root"] = file["/"]
        file["lost"] = h5py.SoftLink("/nowhere")
    with open_hdf5(path) as file:
        assert file["obs/root/obs/name"].shape == (2**40,)


def test_numbers_and_names_of_observations__are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "many.h5ad"
    with h5py.File(path, "w") as file:
        file["obs/_index"] = ["the only cell"]
    make_endless(path, b"the only cell")
    check_structure(path)


def counted_processes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that grows by the command of every process."""
    started: list[Any] = []
    run = subprocess.run

    def counted(command: Any, **options: Any) -> Any:
        started.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    return started


def test_file__is_checked_once_until_it_changes(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = counted_processes(monkeypatch)
    samples = open_samples(str(whole))
    samples.sources[0].read(0, 6)
    open_anndata(whole)
    assert len(started) == 1
    make_endless(whole, b"anndata\0")
    for _ in range(2):
        with pytest.raises(FileFormatError):
            open_anndata(whole)
    assert len(started) == 2


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/blender", "/nowhere/python3"])
def test_file__is_opened_where_no_interpreter_can_be_run(
    executable: str | None, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with open_hdf5(whole) as file:
        assert file["X"].shape == (6, VARIABLES)


def test_file__is_opened_by_a_frozen_program(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    started = counted_processes(monkeypatch)
    check_structure(whole)
    assert not started


def test_file__is_opened_where_the_interpreter_lacks_the_library(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_endless(whole, b"anndata\0")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    check_structure(whole)


def start_check(path: Path, seconds: float) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """Check a file in a process, and return it with the process that reads the file."""
    program = (
        # a shell starts commands in its background with the signal ignored
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bigtensor.data.anndata import hdf5_files\n"
        f"hdf5_files.SECONDS_A_STEP = {seconds}\n"
        f"hdf5_files.check_structure({str(path)!r})\n"
    )
    checking = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in psutil.Process(checking.pid).children():
            # after imports of a fraction of a second it reads
            if "hdf5_walk.py" in " ".join(child.cmdline()) and child.cpu_times().user > 0.5:
                return checking, child
        time.sleep(0.05)
    checking.kill()
    raise AssertionError("no process reads the file")


def test_interrupt__ends_the_process_that_reads(whole: Path) -> None:
    make_endless(whole, b"anndata\0")
    checking, reading = start_check(whole, seconds=120.0)
    checking.send_signal(signal.SIGINT)
    _, errors = checking.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    psutil.wait_procs([reading], timeout=60)
    assert not reading.is_running()


def test_process_that_reads__ends_by_itself_where_nobody_waits(whole: Path) -> None:
    make_endless(whole, b"anndata\0")
    checking, reading = start_check(whole, seconds=3.0)
    checking.kill()
    checking.communicate(timeout=60)
    psutil.wait_procs([reading], timeout=60)
    assert not reading.is_running()
