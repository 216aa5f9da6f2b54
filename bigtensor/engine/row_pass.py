"""Pass of a row function over all rows, and the messages between blocks of sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bigtensor.engine.events import Listener, Progress
from bigtensor.engine.ranges import RowRange, rows_of, segments
from bigtensor.engine.reduce import job_of, lazy_nbytes, sum_parts
from bigtensor.engine.row_tasks import Arrays, RowTask, evaluate_range, total_validity
from bigtensor.engine.runtime import Runtime, tasks_at_once
from bigtensor.statistics.base import SequenceFunction
from bigtensor.statistics.validity import Checked, Validity


def evaluate_ranges(
    task: RowTask,
    ranges: Sequence[RowRange],
    runtime: Runtime,
    place: Callable[[RowRange, Arrays], None] | None,
    listeners: Iterable[Listener],
) -> Validity:
    """Run a task over all ranges and add up the counts of missing values."""
    with task.samples.unchanged(task.samples.stamp()):
        if not runtime.in_driver:
            task = replace(task, samples=task.samples.for_workers())
        return _evaluate_in_order(task, ranges, runtime, place, tuple(listeners))


def _evaluate_in_order(
    task: RowTask,
    ranges: Sequence[RowRange],
    runtime: Runtime,
    place: Callable[[RowRange, Arrays], None] | None,
    listeners: tuple[Listener, ...],
) -> Validity:
    """Run a task over all ranges, after the messages between their blocks."""
    if isinstance(task.function, SequenceFunction):
        task = _with_messages(task, task.function, ranges, runtime, listeners)
    progress = Progress("predict", task.samples.rows, len(ranges), listeners)
    validities: dict[int, Validity] = {}

    def collect(index: int, result: tuple[Arrays, Validity, int]) -> None:
        arrays, validities[index], repeated_reads = result
        progress.repeated_reads += repeated_reads
        if place is not None:
            place(ranges[index], arrays)
        start, stop = ranges[index]
        progress.part(start, stop, stop - start, reused=False)

    progress.start()
    light = replace(task, samples=task.samples.without_lazy_rows())
    parts = [segments(task.samples, *rows) for rows in ranges]
    jobs = [job_of(task.samples, part) for part in parts]
    progress.at_once = tasks_at_once(runtime)
    longest = max(map(rows_of, parts), default=0)
    returned = 0 if place is None else longest * task.function.row_nbytes
    runtime.run(
        evaluate_range,
        light,
        jobs,
        collect,
        result_nbytes=returned + lazy_nbytes(task.samples, parts),
        progress=progress,
    )
    progress.finish()
    return total_validity([validities[index] for index in range(len(ranges))])


def _with_messages(
    task: RowTask,
    function: SequenceFunction,
    ranges: Sequence[RowRange],
    runtime: Runtime,
    listeners: tuple[Listener, ...],
) -> RowTask:
    """Return a task that knows what enters and leaves every block of the ranges."""
    parts = [segments(task.samples, *rows) for rows in ranges]
    statistic = block_operators(task, function, ranges)
    progress = Progress("messages", task.samples.rows, len(parts), listeners)
    progress.start()
    state = sum_parts(task.samples, statistic, runtime, parts, None, progress)
    progress.finish()
    return replace(task, function=function.between(statistic.finalize(state)[1]))


def block_operators(
    task: RowTask, function: SequenceFunction, ranges: Sequence[RowRange]
) -> Checked[Any]:
    """Return the statistic of the operators of all blocks of the ranges."""
    blocks = sum(
        -(-(stop - start) // function.block_rows)
        for rows in ranges
        for start, stop in segments(task.samples, *rows)
    )
    return Checked(function.operators(blocks), task.marginalised, weighted=False)
