"""Jobs that workers import by name."""

import os
import time
from typing import Any

import numpy as np
import psutil
from distributed import get_worker
from zarr.errors import ArrayNotFoundError

from bigtensor.errors import MissingValueError, StoreReadError


def number_after(_: Any, number: int) -> int:
    time.sleep(0.05)
    return number


def own_worker(_: Any, number: int) -> str:
    time.sleep(0.05)
    return str(get_worker().address)


def number_much_later(_: Any, number: int) -> int:
    time.sleep(2)
    return number


def fail_at_3(_: Any, number: int) -> int:
    if number == 3:
        raise FileNotFoundError(2, "No such file or directory", "/their/own/file")
    return number


def refuse_at_3(_: Any, number: int) -> int:
    if number == 3:
        raise MissingValueError("row 3 is bad")
    return number


def refuse_with_a_cause_at_3(_: Any, number: int) -> int:
    """Raise an error whose cause has two built-in parents, so that pickle cannot restore it."""
    if number == 3:
        raise StoreReadError("row 3 is gone") from ArrayNotFoundError("c/0/0")
    return number


def die_at_3(_: Any, number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


def take_all_memory_at_3(_: Any, number: int) -> int:
    held = []
    while number == 3:
        held.append(b"." * 2**22)
        time.sleep(0.001)
    return number


def die_the_second_time(_: Any, seen: str, number: int) -> int:
    try:
        os.close(os.open(f"{seen}/{number}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        os._exit(9)
    return number


def span_of_sleep(_: Any, number: int) -> tuple[float, float]:
    start = time.monotonic()
    time.sleep(0.05)
    return start, time.monotonic()


def span_of_seconds(_: Any, seconds: float) -> tuple[float, float]:
    start = time.monotonic()
    time.sleep(seconds)
    return start, time.monotonic()


def megabyte(_: Any, number: int) -> bytes:
    return bytes([number]) * 2**20


def page_faults_of_two_buffers() -> list[int]:
    import resource

    import numpy as np

    faults = [resource.getrusage(resource.RUSAGE_SELF).ru_minflt]
    for _ in range(2):
        np.ones(2**20)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    return np.diff(faults).tolist()


_held: list[np.ndarray] = []


def hold_most_memory(_: None, number: int) -> int:
    """Keep memory in use after the task, as a user-defined kernel with a cache may."""
    free = int(0.88 * 600 * 2**20) - psutil.Process().memory_info().rss
    _held.append(np.ones(max(0, free) // 8))
    time.sleep(0.2)
    return number
