"""Names of files that are still being written, and which of them nobody will finish.

A file is written under a name of its own and renamed once it is whole. The name tells the machine
and the process that write it. A killed process leaves such a file behind. It is a leftover if the
process has ended, as far as this machine can tell, or if the file is a day old.
"""

from __future__ import annotations

import os
import platform
import re
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

LEFTOVER_AGE = timedelta(days=1)
"""Age of a leftover of another machine: longer than any write, and than clocks differ."""

_NAME = re.compile(r"(?P<host>[0-9A-Za-z-]*)\.(?P<process>\d+)\.[0-9a-f]{8}\.unfinished")


def unfinished_name(name: str) -> str:
    """Return the name to write a file under until it is whole."""
    return f"{name}.{_host()}.{os.getpid()}.{uuid.uuid4().hex[:8]}.unfinished"


def finished_name(name: str) -> str | None:
    """Return the name that an unfinished file will get, or None for any other file."""
    found = re.fullmatch(rf"(?P<finished>.+?)\.{_NAME.pattern}", name)
    return None if found is None else found["finished"]


def is_leftover(filesystem: Any, path: str) -> bool:
    """Return True if nobody will finish an unfinished file."""
    found = _NAME.search(path)
    if found is None:
        return False
    if found["host"] == _host() and not _runs(int(found["process"])):
        return True
    with suppress(FileNotFoundError, NotImplementedError):
        written: datetime = filesystem.modified(path)
        return datetime.now(UTC) - written.replace(tzinfo=written.tzinfo or UTC) > LEFTOVER_AGE
    return False


def _host() -> str:
    """Return the name of this machine in letters that a name may hold."""
    return re.sub("[^0-9A-Za-z-]", "-", platform.node())


def _runs(process: int) -> bool:
    """Return True unless a process of this machine has ended; a number may be in use again."""
    if os.name == "nt":
        # there, signal 0 is Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
