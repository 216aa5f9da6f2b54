"""Reads that are repeated when a disk or a network fails for a moment."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bigtensor.data.addresses.object_stores import is_network_failure

PAUSES = (0.5, 2.0)
"""Seconds to wait before the second and the third attempt."""

_TRANSIENT = frozenset(
    number
    for name in (
        *("EIO", "ETIMEDOUT", "EAGAIN", "EINTR", "ESTALE", "EREMOTEIO"),
        # s3fs for a server that asks to be asked more slowly
        "EBUSY",
        *("ENETDOWN", "ENETRESET", "ENETUNREACH", "EHOSTDOWN", "EHOSTUNREACH"),
    )
    if (number := getattr(errno, name, None)) is not None
)
"""Error numbers of a read that may succeed a moment later; not every system has all of them."""

Result = TypeVar("Result")


@dataclass
class ReadTally:
    """Count of the attempts that failed and were repeated in one task."""

    repeated: int = 0


def is_transient(error: BaseException | None) -> bool:
    """Return True if an error or its cause may be transient."""
    while error is not None:
        if isinstance(error, TimeoutError) or is_network_failure(error):
            return True
        if isinstance(error, OSError) and error.errno in _TRANSIENT:
            return True
        error = error.__cause__ or error.__context__
    return False


def read_repeatedly(read: Callable[[], Result], tally: ReadTally) -> Result:
    """Read, and repeat a read that fails with a transient error.

    Parameters
    ----------
    read : callable
        Called without arguments, once and again after every transient error.
    tally : ReadTally
        Counts the repetitions.

    Raises
    ------
    Exception
        What the last attempt raised, or any error that is not transient.
    """
    for pause in PAUSES:
        try:
            return read()
        except Exception as error:
            if not is_transient(error):
                raise
            tally.repeated += 1
            time.sleep(pause)
    return read()
