"""Where and how passes run: the options of ``fit``, and of everything else that reads the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypedDict


class RunOptions(TypedDict, total=False):
    """The options of `bigtensor.models.base.LatentVariableModel.fit`, where they are described."""

    client: Any
    scheduler: str | None
    workers: int | None
    memory_limit: str | int | None
    checkpoint: str | os.PathLike[str] | None
    listeners: Iterable[Callable[[Any], None]]
