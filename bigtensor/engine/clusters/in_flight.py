"""Bound on the tasks that a cluster has been given and has not answered yet."""

from __future__ import annotations

IN_FLIGHT_NBYTES = 64 * 2**20
"""Bytes of results that may wait on the workers of a cluster until the driver has fetched them."""

IN_FLIGHT_TASKS = 10_000
"""Tasks in flight at most, however small their results are."""

TASKS_A_THREAD = 2
"""Tasks in flight for every thread at least: one runs, and the next one waits beside it."""


def tasks_in_flight(result_nbytes: int, threads: int) -> int:
    """Return the number of tasks to be in flight.

    It depends on the bytes of the results and hardly on the workers of the moment. A scheduler
    that has all the work asks for as many workers as the work needs.

    Parameters
    ----------
    result_nbytes : int
        Bytes that a task leaves on its worker until they are fetched.
    threads : int
        Threads of all workers, or of one worker for its share.
    """
    by_nbytes = IN_FLIGHT_NBYTES // max(1, result_nbytes)
    return max(min(by_nbytes, IN_FLIGHT_TASKS), TASKS_A_THREAD * max(1, threads))
