"""A pass: one task for every row range, a tree of fixed shape, one state on the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from numpy.typing import NDArray

from bigtensor.data.addresses.repeated_reads import ReadTally
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import ROW_VARIABLES, Columns, LazySource
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.checkpoint import Checkpoint, PassCheckpoint
from bigtensor.engine.events import Listener, Progress
from bigtensor.engine.part_writer import PartWriter
from bigtensor.engine.ranges import Part, pass_parts, rows_of, span
from bigtensor.engine.runtime import Runtime, tasks_at_once
from bigtensor.engine.threads import Job
from bigtensor.errors import DataChangedError
from bigtensor.statistics.base import Pass, State, Statistic, Workspace
from bigtensor.statistics.stop_requests import stop_if_requested

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def run_pass(
    samples: Samples,
    pass_: Pass[Result],
    runtime: Runtime,
    *,
    checkpoint: Checkpoint | None = None,
    listeners: Iterable[Listener] = (),
    stamp: str | None = None,
) -> Result:
    """Sum a statistic over the rows of a pass.

    Parameters
    ----------
    samples : Samples
        Data that the pass reads.
    pass_ : Pass
        Statistic and row ranges.
    runtime : Runtime
        Processes or threads that run the tasks.
    checkpoint : Checkpoint, optional
        Parts found there are not computed again; new parts are stored as they come.
    listeners : iterable of callables
        Told when the pass starts, a part is finished, the pass is finished.
    stamp : str, optional
        Of the samples before their first pass. If they were written to since, the stored parts are
        removed.

    Returns
    -------
    Result
        What the statistic makes of its state. The bits depend on the row ranges alone: the same
        for any number of workers, any order of arrival and after a resume.
    """
    # a statistic with a halo looks along sequences
    parts = pass_parts(samples, pass_.rows, along_sequences=pass_.statistic.halo > 0)
    stored = None if checkpoint is None else checkpoint.for_pass(pass_, parts)
    progress = Progress(pass_.name, sum(map(rows_of, parts)), len(parts), tuple(listeners))
    progress.start()
    state = None if stored is None else stored.load(None)
    if state is None:
        try:
            with nullcontext() if stamp is None else samples.unchanged(stamp):
                state = sum_parts(samples, pass_.statistic, runtime, parts, stored, progress)
        except DataChangedError:
            if stored is not None:
                stored.drop_parts()
            raise
        if stored is not None:
            stored.store(None, state)
    if stored is not None:
        stored.drop_parts()
    progress.finish()
    return pass_.statistic.finalize(state)


def sum_parts(
    samples: Samples,
    statistic: Statistic[Any],
    runtime: Runtime,
    parts: list[Part],
    stored: PassCheckpoint | None,
    progress: Progress,
) -> State:
    """Read the parts that are stored, compute the others, and add them up.

    A part holds row ranges. ``stored`` is the place of finished parts, or None. ``progress`` is
    notified of every part.
    """
    tree = FixedTree(len(parts), statistic.combine)
    missing = set(range(len(parts)))
    if stored is not None:
        finished = set(stored.finished())
        for index, part in enumerate(parts):
            state = stored.load(span(part)) if span(part) in finished else None
            if state is not None:
                tree.add(index, state)
                missing.discard(index)
                progress.part(*span(part), rows_of(part), reused=True)
    todo = sorted(missing)

    def collect(position: int, result: tuple[State, int]) -> None:
        state, repeated_reads = result
        index = todo[position]
        part = parts[index]
        logger.debug("computed rows %d to %d of %s", *span(part), progress.name)
        if writer is not None:
            writer.store(span(part), state)
        tree.add(index, state)
        progress.repeated_reads += repeated_reads
        progress.part(*span(part), rows_of(part), reused=False)

    if todo:
        progress.at_once = tasks_at_once(runtime)
        jobs = [job_of(samples, parts[index], statistic.halo) for index in todo]
        with nullcontext() if stored is None else PartWriter(stored) as writer:
            runtime.run(
                accumulate,
                (samples.without_lazy_rows(), statistic),
                jobs,
                collect,
                result_nbytes=statistic.state_nbytes() + lazy_nbytes(samples, parts),
                progress=progress,
            )
    return tree.root if parts else statistic.init()


@dataclass
class FixedTree:
    """Adds states in a fixed order that does not depend on their arrival.

    Leaves are paired with their right neighbour, then the sums with theirs, and so on; a node
    without a neighbour moves up as it is.
    """

    leaves: int
    combine: Callable[[State, State], State]
    waiting: dict[tuple[int, int], State] = field(default_factory=dict)

    def add(self, index: int, state: State) -> None:
        """Add the state of a leaf, and every sum that is complete with it."""
        width, level = self.leaves, 0
        while width > 1:
            neighbour = index ^ 1
            if neighbour < width:
                other = self.waiting.pop((level, neighbour), None)
                if other is None:
                    break
                left, right = (state, other) if index < neighbour else (other, state)
                state = self.combine(left, right)
            index, width, level = index // 2, -(-width // 2), level + 1
        self.waiting[level, index] = state

    @property
    def root(self) -> State:
        """The sum of all leaves."""
        (state,) = self.waiting.values()
        return state


def accumulate(
    shared: tuple[Samples, Statistic[Any]], part: Part, *arrays: NDArray[Any] | None
) -> tuple[State, int]:
    """Stream the blocks of one part into one state: the body of a task.

    The second result is the number of attempts to read that failed and were repeated.
    """
    samples, statistic = shared
    work, state, tally = Workspace(), statistic.init(), ReadTally()
    rows, halo = statistic.block_rows, statistic.halo
    with single_blas_thread():
        for block in blocks_of(samples, part, rows, halo, arrays, tally):
            stop_if_requested()
            statistic.update(state, block, work)
    return state, tally.repeated


def job_of(samples: Samples, part: Part, halo: int = 0) -> Job:
    """Return the arguments of a task: its rows, and `Columns` of every range that is lazy."""
    arrays: list[Any] = []
    for start, stop in part:
        source, offset = samples.locate(start)
        if isinstance(source, LazySource):
            last = min(stop - offset + halo, source.rows)
            arrays += source.parts(start - offset, last)
    return (part, *arrays)


def lazy_nbytes(samples: Samples, parts: Iterable[Part]) -> int:
    """Return the bytes of lazy rows that a task may hold: Dask computes them before it runs."""
    if not any(isinstance(source, LazySource) for source in samples.sources):
        return 0
    return max(map(rows_of, parts), default=0) * samples.row_nbytes


def blocks_of(
    samples: Samples,
    part: Part,
    block_rows: int,
    halo: int,
    arrays: Sequence[Any],
    tally: ReadTally,
) -> Iterator[Block]:
    """Return the blocks of a part, from its computed arrays where they were lazy."""
    if not arrays:
        yield from samples.blocks(part, block_rows, halo, tally)
        return
    fields = 1 + len(ROW_VARIABLES)
    for index, (start, stop) in enumerate(part):
        columns = Columns(*arrays[fields * index : fields * (index + 1)])
        yield from samples.cut(iter([columns]), start, stop, block_rows, halo)
