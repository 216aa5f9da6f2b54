"""A pass: one task for every row range, a tree of fixed shape, one state on the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bigtensor.data.block_cutting import cut_blocks
from bigtensor.data.samples import Samples
from bigtensor.data.sources import Columns, LazySource
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.checkpoint import Checkpoint, PassCheckpoint
from bigtensor.engine.events import Listener, Progress
from bigtensor.engine.ranges import RowRange, pass_ranges
from bigtensor.engine.runtime import Job, Runtime
from bigtensor.errors import DataChangedError
from bigtensor.statistics.base import Pass, State, Statistic, Workspace

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def run_pass(
    samples: Samples,
    pass_: Pass[Result],
    runtime: Runtime,
    *,
    checkpoint: Checkpoint | None = None,
    listeners: Iterable[Listener] = (),
    check: Callable[[], None] = lambda: None,
) -> Result:
    """Sum a statistic over the rows of a pass.

    Parameters
    ----------
    samples : Samples
    pass_ : Pass
    runtime : Runtime
    checkpoint : Checkpoint, optional
        Parts found there are not computed again; new parts are stored as they come.
    listeners : iterable of callables
        Told when the pass starts, a part is finished, the pass is finished.
    check : callable
        Raises when the data changed while they were read; the stored parts are then removed.

    Returns
    -------
    Result
        What the statistic makes of its state. The bits depend on the row ranges alone: the same
        for any number of workers, any order of arrival and after a resume.
    """
    ranges = pass_ranges(samples, pass_.rows)
    stored = None if checkpoint is None else checkpoint.for_pass(pass_, ranges)
    progress = Progress(
        pass_.name, sum(stop - start for start, stop in ranges), len(ranges), tuple(listeners)
    )
    progress.start()
    state = None if stored is None else stored.load(None)
    if state is None:
        state = _sum_parts(samples, pass_.statistic, runtime, ranges, stored, progress)
        try:
            check()
        except DataChangedError:
            if stored is not None:
                stored.drop_parts()
            raise
        if stored is not None:
            stored.store(None, state)
            stored.drop_parts()
    progress.finish()
    return pass_.statistic.finalize(state)


def _sum_parts(
    samples: Samples,
    statistic: Statistic[Any],
    runtime: Runtime,
    ranges: list[RowRange],
    stored: PassCheckpoint | None,
    progress: Progress,
) -> State:
    """Read the parts that are stored, compute the others, and add them up."""
    tree = FixedTree(len(ranges), statistic.combine)
    missing = set(range(len(ranges)))
    if stored is not None:
        found = set(stored.finished())
        for index in sorted(missing):
            part = stored.load(ranges[index]) if ranges[index] in found else None
            if part is not None:
                tree.add(index, part)
                missing.discard(index)
                progress.part(*ranges[index], reused=True)
    todo = sorted(missing)

    def collect(position: int, state: State) -> None:
        index = todo[position]
        logger.debug("computed rows %d to %d of %s", *ranges[index], progress.name)
        if stored is not None:
            stored.store(ranges[index], state)
        tree.add(index, state)
        progress.part(*ranges[index], reused=False)

    if todo:
        jobs = [job_of(samples, ranges[index], statistic.halo) for index in todo]
        runtime.run(accumulate, (samples.without_lazy_rows(), statistic), jobs, collect)
    return statistic.init() if not ranges else tree.root


@dataclass
class FixedTree:
    """Adds states in one order, whatever the order in which they arrive.

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


def accumulate(shared: tuple[Samples, Statistic[Any]], start: int, stop: int, *parts: Any) -> State:
    """Stream the blocks of one row range into one state: the body of a task."""
    samples, statistic = shared
    work, state = Workspace(), statistic.init()
    with single_blas_thread():
        for block in blocks_of(samples, start, stop, statistic.block_rows, statistic.halo, parts):
            statistic.update(state, block, work)
    return state


def job_of(samples: Samples, rows: RowRange, halo: int = 0) -> Job:
    """Return the arguments of a task: a row range, with its arrays and halo where they are lazy."""
    start, stop = rows
    source, offset = samples.locate(start)
    if isinstance(source, LazySource):
        last = min(stop - offset + halo, source.rows)
        return (start, stop, *source.parts(start - offset, last))
    return (start, stop)


def blocks_of(
    samples: Samples, start: int, stop: int, block_rows: int, halo: int, parts: tuple[Any, ...]
) -> Iterable[Any]:
    """Return the blocks of a row range, from its computed arrays where they were lazy."""
    if not parts:
        return samples.blocks(start, stop, block_rows, halo)
    return cut_blocks(samples.views, iter([Columns(*parts)]), start, stop, block_rows, halo)
