"""Answers for every row, written to a Zarr store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import zarr

from bigtensor.data.addresses.same_place import would_replace
from bigtensor.data.addresses.store_address import Address, as_address, resolved
from bigtensor.data.rows.rows_where import all_rows
from bigtensor.data.rows.samples import Samples
from bigtensor.data.stores.answer_groups import whole_answer_group
from bigtensor.data.stores.compression import answer_compressors
from bigtensor.data.stores.manifest import UNFINISHED, seal
from bigtensor.data.stores.outputs import whole_store, write_errors
from bigtensor.data.stores.stored_arrays import create_array, create_root, open_to_write
from bigtensor.engine.events import Listener
from bigtensor.engine.ranges import answered_rows
from bigtensor.engine.row_pass import evaluate_ranges
from bigtensor.engine.row_tasks import RowTask
from bigtensor.engine.runtime import Runtime
from bigtensor.errors import OutputError, Setting
from bigtensor.statistics.base import RowFunction, RowOutput
from bigtensor.statistics.validity import Validity

CHUNK_ROWS = 262_144
"""Rows of one chunk of an output on disk, unless rows are wide: one task writes whole chunks."""


def chunk_rows(function: RowFunction) -> int:
    """Return the rows of one chunk of the outputs on disk.

    Parameters
    ----------
    function : RowFunction
        Function of the rows.
    """
    return min(CHUNK_ROWS, answered_rows(function))


def evaluate_to_store(
    samples: Samples,
    function: RowFunction,
    runtime: Runtime,
    path: str | os.PathLike[str],
    *,
    marginalised: bool = False,
    sample_dim: str = "sample",
    attrs: Mapping[str, Any] | None = None,
    array_attrs: Mapping[str, Mapping[str, Any]] | None = None,
    into: str | None = None,
    overwrite: bool = False,
    listeners: Iterable[Listener] = (),
    check: Callable[[Validity], None] = lambda _: None,
) -> Validity:
    """Evaluate a row function and write its outputs to a Zarr store, chunk by whole chunk.

    The store appears under its name when all rows are written and ``check`` has not objected. With
    ``into`` it becomes the group of this name inside the store at ``path``, which stays. With
    ``marginalised``, the function is shown rows with missing codes. If the samples were selected by
    a condition, the store has all rows of their sources, and rows that were left out are filled.
    ``attrs`` are attributes of the store, and ``array_attrs`` are those of single outputs.

    Raises
    ------
    OutputError
        When the target exists, or cannot be written.
    """
    target = resolved(path)
    if into is None:
        _refuse_rows_as_target(samples, target)
    rows, step = samples.source_rows, chunk_rows(function)
    chunks = list(pairwise([*range(0, rows, step), rows]))
    selected = samples.shares is not None
    ranges = list(pairwise([0, *(samples.kept_before(stop) for _, stop in chunks)]))
    place = (
        whole_store(target, overwrite=overwrite)
        if into is None
        else whole_answer_group(target, into, overwrite=overwrite)
    )
    with write_errors(target), place as unfinished:
        group = _create_outputs(
            unfinished, rows, function, sample_dim, attrs or {}, array_attrs or {}
        )
        mark = group.attrs.get(UNFINISHED)
        own = None if mark is None else str(mark)
        task = RowTask(samples, function, unfinished, marginalised, own, step if selected else None)
        with_rows = [(start, stop) for start, stop in ranges if start < stop]
        validity = evaluate_ranges(task, with_rows, runtime, None, listeners)
        for chunk, (start, stop) in zip(chunks, ranges, strict=True):
            if start == stop:
                _fill(group, function.outputs, *chunk)
        check(validity)
        _remove_torn_chunks(unfinished)
        seal(unfinished)
    return validity


def _refuse_rows_as_target(samples: Samples, target: Address) -> None:
    """Refuse an output that would replace the store of the rows."""
    for source in map(all_rows, samples.sources):
        address = getattr(source, "url", None) or getattr(source, "path", None)
        if address is not None and would_replace(target, address):
            raise OutputError(
                f"{target} holds the rows, and would be replaced; give another name, or "
                + Setting("into")
                + " for a group inside it"
            )


def _fill(group: zarr.Group, outputs: Iterable[RowOutput], start: int, stop: int) -> None:
    """Write a chunk of rows that were all left out: an absent file would be a lost one."""
    for output in outputs:
        open_to_write(group, output.name)[start:stop] = output.fill


def _remove_torn_chunks(store: str) -> None:
    """Remove chunks that killed workers left: Zarr writes a chunk under another name first.

    An object store shows no chunk before all of it has arrived.
    """
    folder = as_address(store)
    if isinstance(folder, Path):
        for path in folder.rglob("*.partial"):
            path.unlink(missing_ok=True)


def _create_outputs(
    address: str,
    rows: int,
    function: RowFunction,
    sample_dim: str,
    attrs: Mapping[str, Any],
    array_attrs: Mapping[str, Mapping[str, Any]],
) -> zarr.Group:
    """Create the arrays of a store of outputs, which tasks then fill."""
    group = create_root(address, attrs)
    for output in function.outputs:
        trailing = tuple(output.dims.values())
        create_array(
            group,
            output.name,
            shape=(rows, *trailing),
            chunks=(min(rows, chunk_rows(function)), *trailing),
            dtype=output.dtype,
            compressors=answer_compressors(),
            fill_value=output.fill,
            dimensions=(sample_dim, *output.dims),
            attributes=array_attrs.get(output.name),
        )
    return group
