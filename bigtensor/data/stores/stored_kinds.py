"""Kinds of the package's own stores, for messages on a store in the place of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def stored_kind(attrs: Mapping[str, Any]) -> str:
    """Return the kind of a store by its attributes, such as ``"a model"``.

    Parameters
    ----------
    attrs : mapping
        Attributes of the group.

    Returns
    -------
    str
        ``"a model"``, ``"statistics"``, ``"answers of a model"``, or ``"data"`` for other stores.
    """
    version = attrs.get("bigtensor_format")
    # True is an int in Python, and no version
    if isinstance(version, int) and not isinstance(version, bool):
        return "statistics" if attrs.get("kind") == "Statistics" else "a model"
    return "answers of a model" if "model" in attrs else "data"
