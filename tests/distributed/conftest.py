"""Real clusters of worker processes on this machine, started once for all tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from bigtensor.engine.clusters.local_cluster import local_cluster


@pytest.fixture(scope="session")
def one_worker() -> Iterator[Any]:
    with local_cluster(1) as client:
        yield client


@pytest.fixture(scope="session")
def two_workers() -> Iterator[Any]:
    with local_cluster(2) as client:
        yield client
