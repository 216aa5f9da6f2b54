"""Disks and networks that fail for a moment: the read is repeated, counted and told."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.exceptions import FSTimeoutError
from fsspec.implementations.local import LocalFileSystem

from bigtensor.data.addresses import repeated_reads
from bigtensor.data.opening import open_samples
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.events import Event
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import StoreReadError
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums, RowTotals, write_store

VALUES = np.random.default_rng(3).normal(size=(100_000, 2)).astype("float32")


class UnsteadyFileSystem(LocalFileSystem):
    """Local files; the first reads of chunks fail."""

    protocol = "unsteady"
    cacheable = False
    failures = 0
    error: Callable[[], Exception] = OSError

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        # older versions of fsspec know the protocols of the base class only
        return str(super()._strip_protocol(path.removeprefix("unsteady://")))

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        self._fail(path)
        return super()._open(path, *arguments, **options)

    def cat_file(self, path: str, *arguments: Any, **options: Any) -> Any:
        self._fail(path)
        return super().cat_file(path, *arguments, **options)

    def _fail(self, path: str) -> None:
        if "/c/" in path and UnsteadyFileSystem.failures:
            UnsteadyFileSystem.failures -= 1
            raise UnsteadyFileSystem.error()


@pytest.fixture
def unsteady(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store on a file system whose reads fail."""
    fsspec.register_implementation("unsteady", UnsteadyFileSystem, clobber=True)
    monkeypatch.setattr(repeated_reads, "PAUSES", (0.01, 0.02))
    yield f"unsteady://{write_store(tmp_path / 'x.zarr', VALUES, chunks=(50_000, 2))}"
    UnsteadyFileSystem.failures = 0


def fail(times: int, error: Callable[[], Exception]) -> None:
    UnsteadyFileSystem.failures, UnsteadyFileSystem.error = times, staticmethod(error)


TRANSIENT: list[Callable[[], Exception]] = [
    lambda: OSError(errno.EIO, "Input/output error"),
    lambda: OSError(errno.ETIMEDOUT, "timed out"),
    lambda: OSError(errno.EBUSY, "SlowDown"),
    lambda: ConnectionResetError("peer"),
    lambda: FSTimeoutError("slow"),
]


@pytest.mark.parametrize("error", TRANSIENT)
def test_pass__goes_on_after_transient_errors_and_counts_them(
    unsteady: str, error: Callable[[], Exception]
) -> None:
    samples, events = open_samples(unsteady), list[Event]()
    fail(2, error)
    result = run_pass(
        samples, Pass("p", ColumnSums(2)), ThreadedRuntime(1), listeners=[events.append]
    )
    np.testing.assert_allclose(result["sums"], VALUES.sum(axis=0, dtype="f8"), rtol=1e-6)
    assert UnsteadyFileSystem.failures == 0
    assert events[-1].repeated_reads == 2


def test_row_outputs__go_on_after_transient_errors_and_count_them(unsteady: str) -> None:
    samples, events = open_samples(unsteady), list[Event]()
    fail(2, TRANSIENT[0])
    evaluate_in_memory(samples, RowTotals(), ThreadedRuntime(1), listeners=[events.append])
    assert events[-1].repeated_reads == 2


def test_pass__gives_up_after_three_attempts_and_does_not_blame_the_file(unsteady: str) -> None:
    samples = open_samples(unsteady)
    fail(99, TRANSIENT[0])
    with pytest.raises(StoreReadError, match="the disk or the network failed") as caught:
        run_pass(samples, Pass("p", ColumnSums(2)), ThreadedRuntime(1))
    assert "corrupted" not in str(caught.value)
    assert UnsteadyFileSystem.failures == 99 - 3


@pytest.mark.parametrize(
    "error", [lambda: PermissionError(errno.EACCES, "no"), lambda: ValueError("checksum")]
)
def test_pass__does_not_repeat_reads_that_would_fail_again(
    unsteady: str, error: Callable[[], Exception]
) -> None:
    samples = open_samples(unsteady)
    fail(99, error)
    with pytest.raises((StoreReadError, PermissionError)):
        run_pass(samples, Pass("p", ColumnSums(2)), ThreadedRuntime(1))
    assert UnsteadyFileSystem.failures == 99 - 1
