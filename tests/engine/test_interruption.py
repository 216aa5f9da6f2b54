"""An interrupted run does not wait for computations whose results are of no use any more."""

import threading
import time

import pytest

from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.stop_requests import stop_if_requested


def test_interrupted_run__ends_the_tasks_that_have_begun():
    begun, ended = threading.Event(), threading.Event()

    def work(_: None, index: int) -> int:
        if index == 0:
            begun.wait()
            return index
        begun.set()
        try:
            # as long as a topic pass over long documents
            for _step in range(60_000):
                stop_if_requested()
                time.sleep(0.01)
        finally:
            ended.set()
        return index

    def collect(position: int, result: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ThreadedRuntime(2).run(work, None, [(0,), (1,)], collect)
    assert ended.is_set()
