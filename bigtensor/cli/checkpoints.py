"""The option ``--checkpoint``: where a command keeps finished parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address

checkpoint_option = click.option(
    "--checkpoint",
    metavar="DIR",
    help="Keep finished parts here; the same command continues from them.",
)
"""Decorator that adds ``--checkpoint``."""


def check_checkpoint(checkpoint: str | None, *others: Address) -> None:
    """Raise a UsageError unless a checkpoint has a folder of its own.

    Parameters
    ----------
    checkpoint : str, optional
        Folder or URL of the parts.
    *others : Path or str
        What the command reads and writes.
    """
    if checkpoint is None:
        return
    from bigtensor.data.addresses.same_place import would_replace

    if not checkpoint.strip():
        raise click.UsageError("--checkpoint is empty; give a folder, or leave it out")
    for other in others:
        if would_replace(checkpoint, other) or would_replace(other, checkpoint):
            raise click.UsageError(
                f"--checkpoint {checkpoint} is or holds {other}, or lies inside it; give the parts "
                "a folder of their own, which can be removed after the fit"
            )


def kept_if_interrupted(checkpoint: str | None) -> Callable[[], str]:
    """Return a function that says what an interrupted command keeps in its checkpoint."""

    def in_words() -> str:
        if checkpoint is None:
            return "nothing was written; with --checkpoint DIR, finished parts are kept"
        if not _has_parts(checkpoint):
            return "nothing was written, because no part was finished"
        return (
            f"parts that were finished are in {checkpoint}, and the same command continues from "
            "them"
        )

    return in_words


def _has_parts(checkpoint: str) -> bool:
    """Return True if there are finished parts, or if nobody can tell."""
    from bigtensor.data.addresses.object_stores import file_system

    try:
        filesystem, root = file_system(checkpoint, probe=True)
        return any(name.endswith(".state") for name in filesystem.find(root, maxdepth=2))
    except Exception:
        return True
