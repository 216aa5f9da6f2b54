"""What runs tasks: the same function on many small jobs, wherever that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dask.utils import parse_bytes

from bigtensor.errors import ParameterError

Job = tuple[Any, ...]
"""The arguments of one task after the shared one; lazy arrays among them are computed first. All
jobs of a run have equally many, unless there are lazy arrays."""

JobFunction = Callable[..., Any]
Collect = Callable[[int, Any], None]


class Runtime(Protocol):
    """Runs the same function on many small jobs and hands the results on as they come."""

    @property
    def workers(self) -> int:
        """Processes that hold tasks."""

    @property
    def threads(self) -> int:
        """Tasks that run at once in one process."""

    @property
    def in_driver(self) -> bool:
        """Whether tasks run in the process that drives the passes."""

    @property
    def memory_limit(self) -> int | None:
        """Bytes that one process may use, where that is known."""

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Call ``collect(index, function(shared, *job))`` for every job, in any order."""


def parse_memory_limit(limit: str | int) -> int:
    """Return bytes from a number or from words such as ``"1GiB"``."""
    try:
        nbytes = int(parse_bytes(limit))
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ParameterError(
            f"memory_limit is {limit!r}; expected bytes or a size such as '1GiB'"
        ) from error
    if nbytes <= 0:
        raise ParameterError(f"memory_limit is {limit!r}; expected a positive size")
    return nbytes
