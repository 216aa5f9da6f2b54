"""Answers for every row as a lazy array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate as accumulate_rows
from itertools import pairwise
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import ROW_VARIABLES, LazySource
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.engine.ranges import Part, RowRange, answered_rows, row_ranges, segments
from bigtensor.engine.reduce import FixedTree, accumulate, job_of
from bigtensor.engine.row_pass import block_operators
from bigtensor.engine.row_tasks import RowTask, evaluate_range
from bigtensor.errors import MissingValueError
from bigtensor.statistics.base import RowFunction, RowOutput, SequenceFunction, State
from bigtensor.statistics.validity import Checked, explain

BlockInfo: TypeAlias = Mapping[int | None, Mapping[str, Any]]
"""Places of a chunk that Dask tells a function: by number of the input, None for the output."""


def evaluate_lazily(samples: Samples, function: RowFunction, *, missing: str) -> da.Array:
    """Return the one output of a row function as a lazy array, chunked along the samples.

    Parameters
    ----------
    samples : Samples
        Data to evaluate. No row is read before the array is computed.
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
        # the features of the values go, and the dimensions of the output come
        layout["drop_axis"] = 1
        if output.dims:
            layout["new_axis"] = [*range(1, 1 + len(output.dims))]
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
    ranges = row_ranges(samples, answered_rows(function))
    lengths = tuple(stop - start for start, stop in ranges)
    located: da.Array = da.map_blocks(
        _evaluate_location,
        task=task,
        missing=missing,
        chunks=(lengths, *shape),
        **layout,
    )
    return located


def _evaluate_sequences_lazily(
    task: RowTask, function: SequenceFunction, output: RowOutput, missing: str
) -> da.Array:
    """Return a lazy array of which every chunk depends on the operators of all.

    Chunks of few rows are answered together, and cut apart again.
    """
    samples, shown = task.samples, _chunk_ranges(task.samples, function)
    ranges = _joined(shown, function.block_rows, {*samples.offsets})
    statistic = block_operators(task, function, ranges)
    light = delayed(replace(task, samples=samples.without_lazy_rows()), pure=False, traverse=False)
    summed = delayed((samples.without_lazy_rows(), statistic), pure=False, traverse=False)
    jobs = [job_of(samples, segments(samples, *rows)) for rows in ranges]
    states = [delayed(_state_of)(summed, *job) for job in jobs]
    task_with_messages = delayed(_task_with_messages)(light, statistic, states)
    chunks = [
        da.from_delayed(
            delayed(_evaluate_one)(task_with_messages, missing, start, stop, job[1:]),
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


def _chunk_ranges(samples: Samples, function: RowFunction) -> list[RowRange]:
    """Return the rows of every chunk of a lazy answer: the chunks of the data where they are."""
    if not isinstance(samples.sources[0], LazySource):
        return row_ranges(samples, answered_rows(function))
    lengths = [
        int(length)
        for source in samples.sources
        if isinstance(source, LazySource)
        for length in source.values.chunks[0]
    ]
    return list(pairwise(accumulate_rows(lengths, initial=0)))


def _state_of(
    shared: tuple[Samples, Checked[Any]], part: Part, *arrays: NDArray[Any] | None
) -> State:
    """Return the operators of the blocks of one chunk."""
    return accumulate(shared, part, *arrays)[0]


def _task_with_messages(task: RowTask, statistic: Checked[Any], states: list[State]) -> RowTask:
    """Return a task that knows what enters and leaves every block."""
    assert isinstance(task.function, SequenceFunction)
    tree = FixedTree(len(states), statistic.combine)
    for index, state in enumerate(states):
        tree.add(index, state)
    return replace(task, function=task.function.between(statistic.finalize(tree.root)[1]))


def _evaluate_values(
    values: NDArray[Any],
    task: RowTask,
    missing: str,
    offset: int,
    block_info: BlockInfo | None = None,
) -> NDArray[Any]:
    """Evaluate one chunk of a lazy array whose first row has the global index ``offset``."""
    assert block_info is not None
    start = offset + int(block_info[0]["array-location"][0][0])
    return _evaluate_one(
        task, missing, start, start + values.shape[0], (values, *[None] * len(ROW_VARIABLES))
    )


def _evaluate_location(
    task: RowTask, missing: str, block_info: BlockInfo | None = None
) -> NDArray[Any]:
    """Evaluate the rows of one chunk of a lazy output."""
    assert block_info is not None
    start, stop = block_info[None]["array-location"][0]
    return _evaluate_one(task, missing, int(start), int(stop), ())


def _evaluate_one(
    task: RowTask, missing: str, start: int, stop: int, arrays: tuple[Any, ...]
) -> NDArray[Any]:
    """Evaluate the only output of a row function over one range."""
    outputs, validity, _ = evaluate_range(task, ((start, stop),), *arrays)
    if missing == "raise" and validity.dropped:
        raise MissingValueError(explain(validity, task.samples.views.features))
    (output,) = outputs.values()
    return output
