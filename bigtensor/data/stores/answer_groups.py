"""A group of answers inside the store that holds the rows, placed when it is whole."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bigtensor.data.addresses.object_stores import file_system
from bigtensor.data.addresses.store_address import Address, inside
from bigtensor.data.stores.consolidation import consolidate
from bigtensor.data.stores.leftovers import (
    discard,
    remove_leftovers,
    unfinished_name,
    unfinished_path,
)
from bigtensor.data.stores.object_outputs import (
    exists_already,
    is_unfinished,
    remove_from_listing,
    whole_object_store,
)
from bigtensor.data.stores.outputs import check_folder
from bigtensor.data.stores.zarr_groups import open_group, open_whole_group
from bigtensor.errors import OutputError, ParameterError, Setting, StoreReadError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MARK = {"software": "bigtensor"}
"""Attributes of groups that this package wrote, which alone are replaced."""


def check_answer_group(store: Address, name: str, *, overwrite: bool) -> None:
    """Refuse a group that cannot be made.

    Parameters
    ----------
    store : Path or str
        The store that holds the rows.
    name : str
        Of the group.
    overwrite : bool
        If True, a group of answers of this name may be replaced.

    Raises
    ------
    ParameterError
        When the name is none.
    StoreReadError
        When there is no store, or it is damaged.
    OutputError
        When the store is not of Zarr v3 or is AnnData, something has the name, or nothing can be
        made in the store.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError(
            Setting("into", name)
            + " is no name of a group; use a letter, and then letters, digits, _ and -"
        )
    group = open_whole_group(store)
    if group.attrs.get("encoding-type") == "anndata":
        raise OutputError(
            f"{store} is AnnData, which has places of its own for answers: write them to a store, "
            "and 'bigtensor export' puts them there"
        )
    if group.metadata.zarr_format != 3:
        raise OutputError(
            f"{store} is of Zarr v2, which has no checksums; write the answers to another store"
        )
    if isinstance(store, Path):
        # the answers are built beside the store, and then moved into it
        for folder in (store.parent, store):
            check_folder(folder)
    target = inside(store, name)
    if not _exists(target):
        return
    if isinstance(target, str) and is_unfinished(target):
        # of a killed run, or of one that `whole_object_store` leaves alone
        return
    if not _is_of_answers(target):
        raise OutputError(
            f"{store} holds {name!r}, which are no answers; give another name ("
            + Setting("into")
            + ")"
        )
    if not overwrite:
        raise exists_already(target)


@contextmanager
def whole_answer_group(store: Address, name: str, *, overwrite: bool) -> Iterator[str]:
    """Put a group of answers into the store that holds the rows when it is whole.

    The arrays of the store are not touched. When anything fails on a disk the store is as it was.
    An object store loses the answers that are replaced when the new ones are begun: first from the
    consolidated metadata of the store, then their objects. The new answers are listed when they are
    whole.

    Parameters
    ----------
    store : Path or str
        Path or URL of the store that holds the rows.
    name : str
        Of the group.
    overwrite : bool
        If True, answers of this name are replaced.

    Yields
    ------
    str
        The address to write the answers to.

    Raises
    ------
    OutputError
        See `check_answer_group`; also when something has come into being under the name meanwhile.
    """
    check_answer_group(store, name, overwrite=overwrite)
    if isinstance(store, str):
        remove_from_listing(store, name)
        with whole_object_store(f"{store}/{name}", overwrite=overwrite) as url:
            yield url
        _list_groups(store)
        return
    unfinished = unfinished_path(store)
    try:
        yield str(unfinished)
        _place(unfinished, store, name, overwrite=overwrite)
    finally:
        discard(unfinished)


def _place(unfinished: Path, store: Path, name: str, *, overwrite: bool) -> None:
    """Move finished answers into the store."""
    check_answer_group(store, name, overwrite=overwrite)
    target, earlier = store / name, store.with_name(f"{store.name}.{name}.replaced")
    old = store.with_name(unfinished_name(earlier.name))
    replaced = target.exists()
    if replaced:
        target.rename(old)
    try:
        unfinished.rename(target)
        _list_groups(store)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        if replaced:
            old.rename(target)
        with suppress(OSError):
            _list_groups(store)
        raise
    # also what a run that was killed between these steps left of earlier answers
    discard(old)
    remove_leftovers(earlier)


def _exists(target: Address) -> bool:
    """Return True if there is anything under an address."""
    if isinstance(target, Path):
        return target.exists()
    filesystem, root = file_system(target)
    return bool(filesystem.exists(root))


def _is_of_answers(path: Address) -> bool:
    """Return True for a group that holds answers of a model."""
    try:
        attrs = open_group(path).attrs
    except StoreReadError:
        return False
    return "model" in attrs and all(attrs.get(key) == value for key, value in MARK.items())


def _list_groups(store: Address) -> None:
    """Renew the consolidated metadata of a store that has any, by which others find the group."""
    if open_group(store).metadata.consolidated_metadata is None:
        return
    consolidate(str(store), zarr_format=3)
