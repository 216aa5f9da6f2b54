"""Answers for every row: in memory, lazily, or written to a Zarr store."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate as accumulate_rows
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr
from dask.delayed import delayed
from numpy.typing import NDArray

from bigtensor.data.answer_groups import whole_answer_group
from bigtensor.data.block import Block
from bigtensor.data.manifest import UNFINISHED, seal
from bigtensor.data.missing_values import MARGINALISE
from bigtensor.data.object_outputs import begun_again
from bigtensor.data.outputs import discard_if_abandoned, whole_store, write_errors
from bigtensor.data.repeated_reads import ReadTally
from bigtensor.data.samples import Samples
from bigtensor.data.sources import ROW_VARIABLES, LazySource
from bigtensor.data.store_address import as_address, resolved
from bigtensor.data.stored_arrays import create_array, create_root, open_to_write
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.events import Listener, Progress
from bigtensor.engine.ranges import Part, RowRange, row_ranges, rows_of, segments, span
from bigtensor.engine.reduce import (
    FixedTree,
    accumulate,
    blocks_of,
    job_of,
    lazy_nbytes,
    sum_parts,
)
from bigtensor.engine.runtime import Runtime
from bigtensor.errors import MissingValueError, OutputError, Setting
from bigtensor.statistics.base import RowFunction, RowOutput, SequenceFunction, State, Workspace
from bigtensor.statistics.stop_requests import stop_if_requested
from bigtensor.statistics.validity import (
    Checked,
    Validity,
    explain,
    first_invalid,
    usable_rows,
)

CHUNK_ROWS = 262_144
"""Rows of one chunk of an output on disk: one task writes whole chunks."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RowTask:
    """Task body: the row function, the samples, and the target of the outputs.

    Rows with missing codes are evaluated where the function sums over them (``marginalised``). The
    mark of an unfinished store on an object store tells the run whose task it is (``mark``).
    """

    samples: Samples
    function: RowFunction
    path: str | None = None
    marginalised: bool = False
    mark: str | None = None


def evaluate_in_memory(
    samples: Samples,
    function: RowFunction,
    runtime: Runtime,
    *,
    marginalised: bool = False,
    listeners: Iterable[Listener] = (),
) -> tuple[Arrays, Validity]:
    """Evaluate a row function over all rows and gather the outputs.

    With ``marginalised``, the function is shown rows with missing codes.

    Returns
    -------
    outputs : dict of str to (rows, ...) array
    validity : Validity
        How many rows hold missing values and got the fill value, and the first of them.
    """
    outputs = {
        output.name: np.empty((samples.rows, *output.dims.values()), output.dtype)
        for output in function.outputs
    }

    def place(rows: RowRange, arrays: Arrays) -> None:
        for key, array in arrays.items():
            outputs[key][rows[0] : rows[1]] = array

    task = RowTask(samples, function, marginalised=marginalised)
    return outputs, _run(task, row_ranges(samples), runtime, place, listeners)


def evaluate_to_store(
    samples: Samples,
    function: RowFunction,
    runtime: Runtime,
    path: str | os.PathLike[str],
    *,
    marginalised: bool = False,
    sample_dim: str = "sample",
    attrs: Mapping[str, Any] | None = None,
    into: str | None = None,
    overwrite: bool = False,
    listeners: Iterable[Listener] = (),
    check: Callable[[Validity], None] = lambda _: None,
) -> Validity:
    """Evaluate a row function and write its outputs to a Zarr store, chunk by whole chunk.

    The store appears under its name when all rows are written and ``check`` has not objected. With
    ``into`` it becomes the group of this name inside the store at ``path``, which stays. With
    ``marginalised``, the function is shown rows with missing codes.

    Raises
    ------
    OutputError
        When the target exists, or cannot be written.
    """
    target = resolved(path)
    if into is None and isinstance(target, str):
        _refuse_rows_as_target(samples, target)
    edges = [*range(0, samples.rows, CHUNK_ROWS), samples.rows]
    ranges = list(pairwise(edges))
    place = (
        whole_store(target, overwrite=overwrite)
        if into is None
        else whole_answer_group(target, into, overwrite=overwrite)
    )
    with write_errors(target), place as unfinished:
        group = _create_outputs(unfinished, samples.rows, function.outputs, sample_dim, attrs or {})
        mark = group.attrs.get(UNFINISHED)
        own = None if mark is None else str(mark)
        task = RowTask(samples, function, unfinished, marginalised, own)
        validity = _run(task, ranges, runtime, None, listeners)
        check(validity)
        _remove_torn_chunks(unfinished)
        seal(unfinished)
    return validity


def _refuse_rows_as_target(samples: Samples, target: str) -> None:
    """Refuse the store of the rows as an output: an object store would lose them beforehand."""
    for source in samples.sources:
        address = getattr(source, "url", None) or getattr(source, "path", None)
        if address is not None and resolved(address) == target:
            raise OutputError(
                f"{target} holds the rows, and would be removed before they are read; give another "
                "name, or " + Setting("into") + " for a group inside it"
            )


def _remove_torn_chunks(store: str) -> None:
    """Remove chunks that killed workers left: Zarr writes a chunk under another name first.

    An object store shows no chunk before all of it has arrived.
    """
    folder = as_address(store)
    if isinstance(folder, Path):
        for path in folder.rglob("*.partial"):
            path.unlink(missing_ok=True)


def evaluate_lazily(samples: Samples, function: RowFunction, *, missing: str) -> da.Array:
    """Return the one output of a row function as a lazy array, chunked along the samples.

    Parameters
    ----------
    samples : Samples
    function : RowFunction
        With one output.
    missing : {"raise", "omit", "marginalise"}
        Whether a row with missing values is an error when it is computed, or gets the fill value;
        with ``"marginalise"`` the function is shown rows with missing codes.
    """
    (output,) = function.outputs
    task = RowTask(samples, function, marginalised=missing == MARGINALISE)
    if isinstance(function, SequenceFunction):
        return _evaluate_sequences_lazily(task, function, output, missing)
    shape = tuple((length,) for length in output.dims.values())
    layout: dict[str, Any] = {
        "dtype": output.dtype,
        "meta": np.empty((0,) * (1 + len(output.dims)), output.dtype),
    }
    if isinstance(samples.sources[0], LazySource):
        if not output.dims:
            layout["drop_axis"] = 1
        parts: list[da.Array] = [
            source.values.map_blocks(
                _evaluate_values,
                task=replace(task, samples=samples.without_lazy_rows()),
                missing=missing,
                offset=offset,
                chunks=(source.values.chunks[0], *shape),
                **layout,
            )
            for source, offset in zip(samples.sources, samples.offsets, strict=True)
            if isinstance(source, LazySource)
        ]
        return parts[0] if len(parts) == 1 else da.concatenate(parts)
    lengths = tuple(stop - start for start, stop in row_ranges(samples))
    located: da.Array = da.map_blocks(
        _evaluate_location,
        task=task,
        missing=missing,
        chunks=(lengths, *shape),
        **layout,
    )
    return located


def _run(
    task: RowTask,
    ranges: Sequence[RowRange],
    runtime: Runtime,
    place: Callable[[RowRange, Arrays], None] | None,
    listeners: Iterable[Listener],
) -> Validity:
    """Run a task over all ranges and add up the counts of missing values."""
    if isinstance(task.function, SequenceFunction):
        task = _with_messages(task, task.function, ranges, runtime, tuple(listeners))
    progress = Progress("predict", task.samples.rows, len(ranges), tuple(listeners))
    found: dict[int, Validity] = {}

    def collect(index: int, result: tuple[Arrays, Validity, int]) -> None:
        arrays, found[index], repeated_reads = result
        progress.repeated_reads += repeated_reads
        if place is not None:
            place(ranges[index], arrays)
        start, stop = ranges[index]
        progress.part(start, stop, stop - start, reused=False)

    progress.start()
    stamp = task.samples.stamp()
    light = replace(task, samples=task.samples.without_lazy_rows())
    parts = [segments(task.samples, *rows) for rows in ranges]
    jobs = [job_of(task.samples, part) for part in parts]
    longest = max(map(rows_of, parts), default=0)
    returned = 0 if place is None else longest * _output_nbytes(task.function)
    runtime.run(
        _evaluate_range,
        light,
        jobs,
        collect,
        result_nbytes=returned + lazy_nbytes(task.samples, parts),
        progress=progress,
    )
    task.samples.require_unchanged(stamp)
    progress.finish()
    return _total([found[index] for index in range(len(ranges))])


def _output_nbytes(function: RowFunction) -> int:
    """Return the bytes of all outputs of one row."""
    return sum(
        math.prod(output.dims.values()) * np.dtype(output.dtype).itemsize
        for output in function.outputs
    )


def _with_messages(
    task: RowTask,
    function: SequenceFunction,
    ranges: Sequence[RowRange],
    runtime: Runtime,
    listeners: tuple[Listener, ...],
) -> RowTask:
    """Return a task that knows what enters and leaves every block of the ranges."""
    parts = [segments(task.samples, *rows) for rows in ranges]
    statistic = _operators(task, function, ranges)
    progress = Progress("messages", task.samples.rows, len(parts), listeners)
    progress.start()
    state = sum_parts(task.samples, statistic, runtime, parts, None, progress)
    progress.finish()
    return replace(task, function=function.between(statistic.finalize(state)[1]))


def _operators(
    task: RowTask, function: SequenceFunction, ranges: Sequence[RowRange]
) -> Checked[Any]:
    """Return the statistic of the operators of all blocks of the ranges."""
    blocks = sum(
        -(-(stop - start) // function.block_rows)
        for rows in ranges
        for start, stop in segments(task.samples, *rows)
    )
    return Checked(function.operators(blocks), task.marginalised, weighted=False)


def _evaluate_sequences_lazily(
    task: RowTask, function: SequenceFunction, output: RowOutput, missing: str
) -> da.Array:
    """Return a lazy array of which every chunk depends on the operators of all.

    Chunks of few rows are answered together, and cut apart again.
    """
    samples, shown = task.samples, _chunk_ranges(task.samples)
    ranges = _joined(shown, function.block_rows, {*samples.offsets})
    statistic = _operators(task, function, ranges)
    light = delayed(replace(task, samples=samples.without_lazy_rows()), pure=False, traverse=False)
    summed = delayed((samples.without_lazy_rows(), statistic), pure=False, traverse=False)
    jobs = [job_of(samples, segments(samples, *rows)) for rows in ranges]
    states = [delayed(_state_of)(summed, *job) for job in jobs]
    told = delayed(_task_with_messages)(light, statistic, states)
    chunks = [
        da.from_delayed(
            delayed(_evaluate_one)(told, missing, start, stop, job[1:]),
            (stop - start, *output.dims.values()),
            np.dtype(output.dtype),
        )
        for (start, stop), job in zip(ranges, jobs, strict=True)
    ]
    whole: da.Array = da.concatenate(chunks)
    if len(ranges) < len(shown):
        whole = whole.rechunk({0: tuple(stop - start for start, stop in shown)})
    return whole


def _joined(ranges: Sequence[RowRange], most: int, firsts: Set[int]) -> list[RowRange]:
    """Join ranges up to a number of rows, but not over the first row of a data set.

    Dask needs 20 ms for a task, however few its rows are.
    """
    joined: list[RowRange] = []
    for start, stop in ranges:
        if joined and start not in firsts and stop - joined[-1][0] <= most:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


def _chunk_ranges(samples: Samples) -> list[RowRange]:
    """Return the rows of every chunk of a lazy answer: the chunks of the data where they are."""
    if not isinstance(samples.sources[0], LazySource):
        return row_ranges(samples)
    lengths = [
        int(length)
        for source in samples.sources
        if isinstance(source, LazySource)
        for length in source.values.chunks[0]
    ]
    return list(pairwise(accumulate_rows(lengths, initial=0)))


def _state_of(shared: tuple[Samples, Checked[Any]], part: Part, *arrays: Any) -> State:
    """Return the operators of the blocks of one chunk."""
    return accumulate(shared, part, *arrays)[0]


def _task_with_messages(task: RowTask, statistic: Checked[Any], states: list[State]) -> RowTask:
    """Return a task that knows what enters and leaves every block."""
    assert isinstance(task.function, SequenceFunction)
    tree = FixedTree(len(states), statistic.combine)
    for index, state in enumerate(states):
        tree.add(index, state)
    return replace(task, function=task.function.between(statistic.finalize(tree.root)[1]))


def _evaluate_range(task: RowTask, part: Part, *arrays: Any) -> tuple[Arrays, Validity, int]:
    """Evaluate the segments of one range.

    Returns
    -------
    outputs : dict of str to ndarray
        Empty where the task wrote them.
    validity : Validity
    repeated_reads : int
    """
    first, last = span(part)
    tally = ReadTally()
    blocks = blocks_of(task.samples, part, task.function.block_rows, 0, arrays, tally)
    outputs, validity = _evaluate_blocks(task, blocks, first, last - first)
    if task.path is None:
        return outputs, validity, tally.repeated
    group = zarr.open_group(task.path, mode="r+")
    if group.attrs.get(UNFINISHED) != task.mark:
        # a task may outlive its run, and its rows are not those of the next one
        raise begun_again(task.path)
    for name, array in outputs.items():
        open_to_write(group, name)[first:last] = array
    discard_if_abandoned(task.path)
    return {}, validity, tally.repeated


def _evaluate_blocks(
    task: RowTask, blocks: Iterator[Block], first: int, rows: int
) -> tuple[Arrays, Validity]:
    """Evaluate a row function block by block into arrays of ``rows`` rows."""
    function, work, found = task.function, Workspace(), list[Validity]()
    arrays = {
        output.name: np.empty((rows, *output.dims.values()), output.dtype)
        for output in function.outputs
    }
    with single_blas_thread():
        for block in blocks:
            stop_if_requested()
            window = slice(block.start - first, block.start - first + block.rows)
            out = {name: array[window] for name, array in arrays.items()}
            finite = usable_rows(block, work, marginalised=task.marginalised)
            found.append(first_invalid(block, finite, marginalised=task.marginalised))
            if finite is None:
                function.evaluate(block, out, work)
            else:
                _evaluate_valid(function, block, finite.copy(), out, work)
    return arrays, _total(found)


def _total(parts: Sequence[Validity]) -> Validity:
    """Add up counts of consecutive rows; the first part that met a missing value names it."""
    first = next((part for part in parts if part.first_row is not None), None)
    return Validity(
        rows=sum(part.rows for part in parts),
        dropped=sum(part.dropped for part in parts),
        first_row=None if first is None else first.first_row,
        first_column=None if first is None else first.first_column,
        bad_weights=0,
        first_bad_weight=None,
        first_code=None if first is None else first.first_code,
    )


def _evaluate_valid(
    function: RowFunction, block: Block, valid: NDArray[np.bool_], out: Arrays, work: Workspace
) -> None:
    """Evaluate the valid rows of a block and fill the others."""
    kept = block.keep(valid)
    inner = {
        name: np.empty((kept.rows, *array.shape[1:]), array.dtype) for name, array in out.items()
    }
    if kept.rows:
        function.evaluate(kept, inner, work)
    for output in function.outputs:
        out[output.name][...] = output.fill
        out[output.name][valid] = inner[output.name]


def _evaluate_values(
    values: NDArray[Any], task: RowTask, missing: str, offset: int, block_info: Any = None
) -> NDArray[Any]:
    """Evaluate one chunk of a lazy array whose first row has the global index ``offset``."""
    start = offset + int(block_info[0]["array-location"][0][0])
    return _evaluate_one(
        task, missing, start, start + values.shape[0], (values, *[None] * len(ROW_VARIABLES))
    )


def _evaluate_location(task: RowTask, missing: str, block_info: Any = None) -> NDArray[Any]:
    """Evaluate the rows of one chunk of a lazy output."""
    start, stop = block_info[None]["array-location"][0]
    return _evaluate_one(task, missing, int(start), int(stop), ())


def _evaluate_one(
    task: RowTask, missing: str, start: int, stop: int, arrays: tuple[Any, ...]
) -> NDArray[Any]:
    """Evaluate the only output of a row function over one range."""
    outputs, validity, _ = _evaluate_range(task, ((start, stop),), *arrays)
    if missing == "raise" and validity.dropped:
        raise MissingValueError(explain(validity, task.samples.views.feature_names))
    (output,) = outputs.values()
    return output


def _create_outputs(
    address: str,
    rows: int,
    outputs: Iterable[RowOutput],
    sample_dim: str,
    attrs: Mapping[str, Any],
) -> zarr.Group:
    """Create the arrays of a store of outputs, which tasks then fill."""
    group = create_root(address, attrs)
    for output in outputs:
        trailing = tuple(output.dims.values())
        create_array(
            group,
            output.name,
            shape=(rows, *trailing),
            chunks=(min(rows, CHUNK_ROWS), *trailing),
            dtype=output.dtype,
            fill_value=output.fill,
            dimensions=(sample_dim, *output.dims),
        )
    return group
