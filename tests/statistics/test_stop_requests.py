"""Requests to stop: who gets them, and pieces of bounded work between two looks."""

import threading

import numpy as np
import pytest

from bigtensor.statistics import stop_requests
from bigtensor.statistics.stop_requests import (
    StopRequested,
    stop_if_requested,
    stoppable,
    stoppable_pieces,
)


def test_stop__is_of_the_thread_and_the_block_that_asked_for_it():
    stop_if_requested()
    requested = threading.Event()
    with stoppable(requested.is_set):
        stop_if_requested()
        requested.set()
        other = threading.Thread(target=stop_if_requested)
        other.start()
        other.join()
        with pytest.raises(StopRequested):
            stop_if_requested()
    stop_if_requested()


@pytest.mark.parametrize("steps", [[], [3.0], [1.0] * 10, [50.0, 1, 1, 90, 2, 7, 7], [0.0] * 5])
def test_pieces__hold_every_row_once_and_bounded_work(monkeypatch, steps):
    monkeypatch.setattr(stop_requests, "STEPS_AT_ONCE", 10)
    pieces = list(stoppable_pieces(np.array(steps)))
    assert [row for piece in pieces for row in range(piece.start, piece.stop)] == [
        *range(len(steps))
    ]
    for piece in pieces:
        assert sum(steps[piece]) <= 10 or piece.stop - piece.start == 1
    assert len(pieces) <= 2 * sum(steps) / 10 + 1


def test_pieces__look_for_a_stop_before_each():
    answers = iter([False, False, True])
    pieces = stoppable_pieces(np.full(5, 2.0 * stop_requests.STEPS_AT_ONCE))
    with stoppable(lambda: next(answers)):
        assert [next(pieces), next(pieces)] == [slice(0, 1), slice(1, 2)]
        with pytest.raises(StopRequested):
            next(pieces)
