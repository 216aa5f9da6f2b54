"""State of Dask after a fork: its threads stay in the parent, and calls that need them hang."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet


@dataclass
class ForkedState:
    """Clients and clusters of Dask that cannot be used after a fork.

    Parameters
    ----------
    clients : set of distributed.Client
        Clients of the parent.
    cluster_started : bool
        True if this process or a parent has started a cluster.
    cluster_inherited : bool
        True if a parent has started a cluster. Threads that the modules of `distributed` keep for
        every scheduler are then missing here.
    """

    clients: WeakSet[Any] = field(default_factory=WeakSet)
    cluster_started: bool = False
    cluster_inherited: bool = False

    def enter_child(self) -> None:
        """Record the client and the cluster of the parent."""
        self.cluster_inherited = self.cluster_started
        distributed = sys.modules.get("distributed")
        if distributed is not None:
            with suppress(ValueError):
                self.clients.add(distributed.Client.current())


forked = ForkedState()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked.enter_child)
