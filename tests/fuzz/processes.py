"""Cases in processes of their own, which are replaced when they crash, hang or have done many."""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import resource
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case, Inputs, Kind, Outcome

CASES_A_PROCESS = 1000
"""Cases after which a process is replaced: libraries leak a little after an error."""

PREPARATION_SECONDS = 300.0
"""Time for imports and for reading the undamaged inputs."""

ENDING_SECONDS = 5.0
"""Time for a process to end before it is killed."""


@dataclass(frozen=True)
class Limits:
    """What a case may take.

    Attributes
    ----------
    seconds : float
    nbytes : int
        Memory besides that of a process that has read the undamaged inputs.
    """

    seconds: float = 20.0
    nbytes: int = 2**30


def run_cases(
    cases: Iterable[Case], inputs: Inputs, scratch: Path, limits: Limits, processes: int = 2
) -> Iterator[Outcome]:
    """Run cases side by side.

    Parameters
    ----------
    cases : iterable of Case
    inputs : Inputs
        All of its kinds are made.
    scratch : Path
        A folder for damaged inputs and what is made of them.
    limits : Limits
    processes : int, default 2

    Yields
    ------
    Outcome
        In the order in which cases end.
    """
    waiting = iter(cases)
    workers = [_Worker(inputs, scratch / str(number), limits) for number in range(processes)]
    try:
        for worker in workers:
            worker.take(next(waiting, None))
        while busy := [worker for worker in workers if worker.case is not None]:
            first = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
            wait([worker.connection for worker in busy], timeout=first)
            for worker in busy:
                outcome = worker.outcome()
                if outcome is not None:
                    yield outcome
                    worker.take(next(waiting, None))
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that runs one case after the other."""

    def __init__(self, inputs: Inputs, scratch: Path, limits: Limits) -> None:
        self.case: Case | None = None
        self.deadline = 0.0
        self._inputs, self._scratch, self._limits = inputs, scratch, limits
        self._crash = scratch.with_suffix(".crash")
        self._process: Any = None
        self._damage = ""
        self._done = 0

    def take(self, case: Case | None) -> None:
        """Begin a case."""
        self.case = None
        if self._done == CASES_A_PROCESS:
            self.end()
        if case is None:
            return
        if self._process is None:
            self._start()
        self.case = case
        self._damage = ""
        self.deadline = time.monotonic() + PREPARATION_SECONDS
        # where the process has ended meanwhile, `outcome` finds out
        with suppress(ConnectionError):
            self.connection.send(case)

    def outcome(self) -> Outcome | None:
        """Return what the case came to, None while it runs."""
        assert self.case is not None
        try:
            if self.connection.poll():
                answer = self.connection.recv()
                if isinstance(answer, Outcome):
                    self._done += 1
                    return answer
                # everything is prepared, and the damaged input is read from now on
                self._damage = answer
                self.deadline = time.monotonic() + self._limits.seconds
                return None
        except (EOFError, ConnectionError):
            self._process.join()
            # of all threads the one that crashed
            stack = "".join(self._crash.read_text(errors="replace").partition("Current thread")[1:])
            code = self._process.exitcode
            self.end()
            return Outcome(self.case, "crash", self._damage, f"exit code {code}\n{stack}")
        except Exception as error:
            # damaged memory of a process that goes on makes answers that are none
            self.end()
            detail = f"its answer cannot be read ({type(error).__name__}: {error})"
            return Outcome(self.case, "crash", self._damage, detail)
        if time.monotonic() < self.deadline:
            return None
        self.end()
        detail = f"took more than {self._limits.seconds:g} s"
        return Outcome(self.case, "hang", self._damage, detail)

    def end(self) -> None:
        """End the process: on request where it waits for a case, and by force where it hangs."""
        if self._process is not None:
            with suppress(OSError):
                self.connection.send(None)
            self._process.join(ENDING_SECONDS if self.case is None else 0)
            self._process.kill()
            self._process.join()
            self.connection.close()
            self._process = None

    def _start(self) -> None:
        """Start a process."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True)
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self._inputs.folder, self._inputs.kinds)
        self._process = context.Process(
            target=_serve, args=(*arguments, self._scratch, self._crash, self._limits), daemon=True
        )
        self._process.start()
        theirs.close()
        self._done = 0


def _serve(
    connection: Connection,
    folder: Path,
    kinds: dict[str, Kind],
    scratch: Path,
    crash: Path,
    limits: Limits,
) -> None:
    """Run the cases that arrive, until there are no more."""
    inputs = Inputs(folder, kinds)
    with crash.open("w") as file:
        faulthandler.enable(file)
        # users see warnings and logs, which are no part of a verdict
        warnings.simplefilter("ignore")
        logging.disable()
        while (case := connection.recv()) is not None:
            _limit_memory(None)
            inputs.prepare(case, scratch / "whole")
            _limit_memory(limits.nbytes)
            connection.send(inputs.run(case, scratch / "case", connection.send))
            shutil.rmtree(scratch / "case", ignore_errors=True)


def _limit_memory(nbytes: int | None) -> None:
    """Limit the memory of this process to what it has now and some more, or not at all.

    Reserved addresses that nothing is written to do not count, unlike with ``RLIMIT_AS``.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = hard
    if nbytes is not None:
        status = Path("/proc/self/status").read_text()
        limit = 1024 * int(status.split("VmData:")[1].split()[0]) + nbytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
