"""Parts of a pass that are stored while others are computed."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, wait
from threading import Thread
from types import TracebackType
from typing import Self

from bigtensor.engine.checkpoint import PassCheckpoint
from bigtensor.engine.ranges import RowRange
from bigtensor.statistics.base import State

WRITES_AT_ONCE = 4
"""Parts that are stored at the same time: an object store answers a write after tens of ms."""

WAITING_NBYTES = 16 * 2**20
"""Bytes of the states that wait to be stored. Their encoded forms take twice as many beside them. A
larger state waits alone: more at once would not be stored faster."""


LAST_SECONDS = 10.0
"""Longest wait of a run that failed or was interrupted for parts that are being stored. Parts that
arrive later are computed again. s3fs had not given up a write to a silent server after fifteen
minutes."""

ENCODED_FORMS = 2
"""Copies of a state that its encoding makes: the archive, and the archive with its digest."""


def parts_at_once(state_nbytes: int) -> int:
    """Return the number of parts that are stored at the same time."""
    return min(WRITES_AT_ONCE, max(1, WAITING_NBYTES // max(state_nbytes, 1)))


def waiting_nbytes(state_nbytes: int) -> int:
    """Return the most bytes of parts that wait to be stored, with their encoded forms.

    Parameters
    ----------
    state_nbytes : int
        Of one part.
    """
    return parts_at_once(state_nbytes) * (1 + ENCODED_FORMS) * state_nbytes


class PartWriter:
    """Stores the parts of a pass in the background, and all of them before the context ends.

    An error of a write is raised by a later call, or at the end of the context. A context that ends
    with an error waits for `LAST_SECONDS` at most.

    Parameters
    ----------
    stored : PassCheckpoint
        Place of the parts of the pass.
    """

    def __init__(self, stored: PassCheckpoint) -> None:
        self._stored = stored
        self._waiting = deque[Future[None]]()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until all parts are stored; after an error for a while, as they serve a resume."""
        try:
            while error is None and self._waiting:
                self._waiting.popleft().result()
        finally:
            wait(self._waiting, LAST_SECONDS)

    def store(self, part: RowRange, state: State) -> None:
        """Store a part; wait first while as many as fit are being stored."""
        nbytes = sum(array.nbytes for array in state.values())
        while len(self._waiting) >= parts_at_once(nbytes):
            self._waiting.popleft().result()
        outcome: Future[None] = Future()
        # the interpreter waits for the threads of a pool when it ends, and not for these; a part
        # has its name once it is whole, so that they may end at any time
        Thread(
            target=self._store, args=(outcome, part, state), name="bigtensor-store", daemon=True
        ).start()
        self._waiting.append(outcome)

    def _store(self, outcome: Future[None], part: RowRange, state: State) -> None:
        """Store a part: the body of a thread."""
        try:
            self._stored.store(part, state)
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(None)
