"""A small store and a model of it, made by the commands themselves, once for all tests."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigtensor.cli import main

ROOT = Path(__file__).resolve().parents[2]
ROWS, COMPONENTS = 20_000, 4

Command = Callable[..., Result]


def invoke(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def launch(*arguments: object) -> subprocess.Popen[str]:
    """Start a command as its own process group, which Ctrl-C interrupts.

    A shell starts commands in its background with the signal ignored, and every process hands that
    on to those that it starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "bigtensor", *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def run() -> Command:
    """Return a function that runs a command in this process."""
    return invoke


@pytest.fixture(scope="session")
def start() -> Callable[..., "subprocess.Popen[str]"]:
    """Return a function that starts a command as a process of its own."""
    return launch


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of simulated cells."""
    path = tmp_path_factory.mktemp("cli") / "cells.zarr"
    result = invoke("simulate", "cytometry", path, "--rows", ROWS, "--components", COMPONENTS)
    assert result.exit_code == 0, result.stderr
    return path


@pytest.fixture(scope="session")
def fitted(cells: Path) -> tuple[Path, Result]:
    """Return a model of the cells, and what the fit said."""
    path = cells.with_name("model.zarr")
    result = invoke(
        "fit", cells, "--components", COMPONENTS, "--out", path, "--scheduler", "threads"
    )
    assert result.exit_code == 0, result.stderr
    return path, result


@pytest.fixture(scope="session")
def model(fitted: tuple[Path, Result]) -> Path:
    """Return a model of the cells."""
    return fitted[0]
