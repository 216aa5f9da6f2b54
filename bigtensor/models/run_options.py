"""Options of ``fit`` and of all methods that read data: runtime, memory, progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypedDict

from bigtensor.engine.connection import Connection


class RunOptions(TypedDict, total=False):
    """The options of `bigtensor.models.base.LatentVariableModel.fit`, where they are described."""

    client: Any
    scheduler: str | Connection | None
    workers: int | None
    memory_limit: str | int | None
    checkpoint: str | os.PathLike[str] | None
    listeners: Iterable[Callable[[Any], None]]
