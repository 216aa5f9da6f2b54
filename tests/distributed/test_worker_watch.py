"""Counts of workers that were lost."""

from typing import Any

import pytest

from bigtensor.engine.clusters.worker_watch import WorkerWatch

ADDRESS = "tcp://127.0.0.1:1"
ADDED: dict[str, Any] = {"action": "add-worker"}
LOST: dict[str, Any] = {"action": "remove-worker", "expected": False}
RETIRED: dict[str, Any] = {"action": "remove-worker", "expected": True}


class EventClient:
    """A client of a scheduler that has events of one worker address."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def nthreads(self) -> dict[str, int]:
        return {ADDRESS: 1} if self.events[-1] is ADDED else {}

    def get_events(self, topic: str) -> tuple[tuple[float, dict[str, Any]], ...]:
        assert topic == ADDRESS
        return tuple(enumerate(self.events))

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("ends", "lost"),
    [([LOST], 1), ([RETIRED], 0), ([LOST, RETIRED], 1), ([RETIRED, LOST], 1), ([LOST, LOST], 2)],
)
def test_worker__under_an_address_of_an_earlier_worker_has_an_end_of_its_own(
    ends: list[dict[str, Any]], lost: int
) -> None:
    client = EventClient()
    watch = WorkerWatch(client)
    for end in ends:
        for event in (ADDED, end):
            client.events.append(event)
            watch.look()
    assert watch.lost == lost
