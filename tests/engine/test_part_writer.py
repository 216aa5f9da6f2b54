"""Parts that are stored in the background: all of them, or as many as there is time for."""

import subprocess
import sys
import time
from threading import Event
from typing import Any

import numpy as np
import pytest

from bigtensor.engine import part_writer
from bigtensor.engine.part_writer import WRITES_AT_ONCE, PartWriter

STATE = {"x": np.ones(3)}


class Network:
    """Stands for a checkpoint behind a network, which answers when it is allowed to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.answers = Event()
        self.parts: list[tuple[int, int]] = []
        self._error = error

    def store(self, part: tuple[int, int], _: Any) -> None:
        self.answers.wait(10)
        if self._error is not None:
            raise self._error
        self.parts.append(part)


def test_parts__are_all_stored_when_the_context_ends() -> None:
    network = Network()
    network.answers.set()
    with PartWriter(network) as writer:
        for row in range(20):
            writer.store((row, row + 1), STATE)
    assert sorted(network.parts) == [(row, row + 1) for row in range(20)]


def test_error_of_a_write__is_raised() -> None:
    network = Network(OSError(28, "No space left on device"))
    network.answers.set()
    with pytest.raises(OSError, match="No space left"), PartWriter(network) as writer:
        writer.store((0, 1), STATE)


def test_interrupted_run__does_not_wait_for_a_silent_network(monkeypatch) -> None:
    monkeypatch.setattr(part_writer, "LAST_SECONDS", 0.1, raising=False)
    network = Network()

    def run() -> None:
        with PartWriter(network) as writer:
            for row in range(WRITES_AT_ONCE):
                writer.store((row, row + 1), STATE)
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run()
    assert time.monotonic() - begin < 5
    network.answers.set()


def test_interrupted_process__ends() -> None:
    code = """
import time
from bigtensor.engine import part_writer
part_writer.LAST_SECONDS = 0.1
class Silent:
    def store(self, part, state):
        time.sleep(60)
with part_writer.PartWriter(Silent()) as writer:
    writer.store((0, 1), {})
    raise KeyboardInterrupt
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=40, check=False)
