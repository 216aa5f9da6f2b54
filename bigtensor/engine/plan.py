"""Plan of a fit or a prediction: bytes to read and memory to hold, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dask.utils import format_bytes

from bigtensor.data.rows.rows_where import RowsWhere
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import LazySource
from bigtensor.engine.clusters.in_flight import tasks_in_flight
from bigtensor.engine.part_writer import waiting_nbytes
from bigtensor.engine.ranges import Part, pass_parts
from bigtensor.engine.runtime import Processes, parse_memory_limit
from bigtensor.errors import Message, PlanError, Setting
from bigtensor.html_tables import page_of_tables, table_of

RESERVED_NBYTES = 407 * 2**20
"""Memory of a worker process beside the buffers of its task: the interpreter and its libraries
(331 MiB with CPython 3.11 on x86-64, peak of the resident set, of which 100 MiB are Numba's), up to
20 MiB of freed buffers that it keeps for the next task, or of what compiling takes, and what the
main module of the driver imports, as workers do too. In an environment that was installed minutes
before, the same workers had 45 to 55 MiB more."""

USABLE = 0.8
"""The part of a memory limit that may be planned for: above it Dask pauses a worker."""

READ_COPIES = 4
"""Pieces of rows in memory at once in a task: one in use, one being read and decoded, and copies
where the features are laid out by view or a piece does not end with a block. Measured at 3.0 to
3.1 for pieces of 16 to 64 MiB, and 3.4 where the store keeps features before samples."""

CHUNK_COPIES = 3
"""Chunks of stored sparse rows in memory at once in a task, of each array: two that a piece lies
in, decoded, and what they are decoded from. Fits of a million and four million documents on two
threads held 38 and 79 MiB more than a plan without them, and 47 and 17 less than one with them."""


@dataclass(frozen=True)
class PassSize:
    """Size of a pass that a model will ask for.

    Attributes
    ----------
    name : str
        Name of the pass, such as ``"posterior"``.
    times : int
        How often the pass runs at most; a fit stops earlier when it has settled.
    rows : int
        Rows that each run reads.
    state_nbytes, work_nbytes : int
        Of one task.
    driver_nbytes : int
        Of the driver before the pass or with its result, beside the states.
    """

    name: str
    times: int
    rows: int
    state_nbytes: int
    work_nbytes: int
    driver_nbytes: int = 0


@dataclass(frozen=True)
class Alternative:
    """A way to fit a model, with its cost.

    Attributes
    ----------
    parameter, value : str
        Parameter of the model, and the value that takes this way.
    operations : float
        Floating-point operations of its matrix products.
    reads : int
        Passes over all rows, as many as there usually are.
    state_nbytes : int
        Largest state of a task.
    is_taken : bool
        True for the way that the fit takes.
    remark : str
        Why it is taken, or why it is taken only if asked for; may be empty.
    """

    parameter: str
    value: str
    operations: float
    reads: int
    state_nbytes: int
    is_taken: bool
    remark: str


@dataclass(frozen=True)
class Plan:
    """Passes over the data, with the bytes that they read and hold.

    Memory words: *allowed* is the limit of a process, *reserved* the memory before reading,
    *projected* the upper bound during a pass; *peak* is the measured maximum.

    Attributes
    ----------
    data : str
        What is read.
    rows, features : int
        Rows of the data, and features in the views of the fit.
    passes : tuple of PassSize
        Passes that the fit will run at most.
    tasks : int
        Tasks of a pass over all rows.
    read_nbytes : int
        Bytes of values read over all passes, before compression.
    workers, threads : int
        Processes, and tasks at once in each. Of a cluster without workers 0, and 1 is assumed.
    held_nbytes : int
        Rows in memory that every process holds; 0 for a store.
    buffer_nbytes : int
        Read buffers of one task.
    state_nbytes, work_nbytes : int
        Largest of all passes.
    driver_nbytes : int
        Largest of all passes where tasks run in the driver's process, with the states that it adds
        up and the parts of a checkpoint that wait to be stored; 0 where workers are other
        processes.
    projected_nbytes : int
        Of the process that holds most: ``reserved + held + threads * (buffers + 2 states +
        workspace) + waiting + driver``, with the finished states that wait for the driver.
    allowed_nbytes : int, optional
        The memory limit of a process, where one is known.
    alternatives : tuple of Alternative
        Ways to fit the model and their costs, where it has several.
    smaller : mapping of str to tuple of Setting
        Parameters of which a smaller value makes ``"states"``, ``"workspaces"`` or what the
        ``"driver"`` holds smaller.
    left_out : mapping of str to tuple of str
        Features of the data that no view holds by default, by their roles.
    """

    data: str
    rows: int
    features: int
    passes: tuple[PassSize, ...]
    tasks: int
    read_nbytes: int
    workers: int
    threads: int
    held_nbytes: int
    buffer_nbytes: int
    state_nbytes: int
    work_nbytes: int
    driver_nbytes: int
    projected_nbytes: int
    allowed_nbytes: int | None
    alternatives: tuple[Alternative, ...] = ()
    smaller: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """True if the projected peak leaves a fifth of the allowed memory free."""
        return self.allowed_nbytes is None or (
            self.projected_nbytes <= USABLE * self.allowed_nbytes
        )

    def check(self) -> Plan:
        """Return the plan if it fits.

        Raises
        ------
        PlanError
            When the projected peak is more than 80 % of the allowed memory; the message names
            the largest part and what would make it smaller.
        """
        if self.fits:
            return self
        raise PlanError("the plan does not fit: " + self.advice() + f"\n\n{self}")

    def advice(self) -> Message:
        """Name the largest part of the memory and the parameter that changes it."""
        if self.allowed_nbytes is None:
            return Message("no memory limit is known")
        needed = format_bytes(int(self.projected_nbytes / USABLE))
        more_memory = f"allow {needed} a process (" + Setting("memory_limit") + ")"
        if self.reserved_nbytes > USABLE * self.allowed_nbytes:
            return (
                f"a process needs {format_bytes(self.reserved_nbytes)} to start with; "
                + more_memory
            )
        if self.held_nbytes > USABLE * self.allowed_nbytes - self.reserved_nbytes:
            return (
                f"the rows in memory take {format_bytes(self.held_nbytes)} in every process; write "
                "them to a Zarr store and give its path, or " + more_memory
            )
        parts = {
            "read buffers": self.buffer_nbytes,
            "states": 2 * self.state_nbytes,
            "workspaces": self.work_nbytes,
        }
        largest = max(parts, key=lambda part: parts[part])
        if self.driver_nbytes > self.threads * parts[largest]:
            return (
                f"what the driver holds takes {format_bytes(self.driver_nbytes)}; "
                + self._smaller_values("driver")
                + more_memory
            )
        remedy = self._smaller_alternative() or self._smaller_values(largest)
        if largest == "read buffers":
            remedy = Message("import the data again with smaller chunks, or ")
        if self.threads > 1:
            remedy = f"use fewer threads a process than {self.threads}, or " + remedy
        return f"{largest} take {format_bytes(parts[largest])} a task; " + remedy + more_memory

    def _smaller_values(self, part: str) -> Message:
        """Return the parameters whose smaller values make a part smaller, if there are any."""
        settings = self.smaller.get(part, ())
        if not settings:
            return Message("")
        return "use a smaller " + Message(" or ").join(settings) + ", or "

    def _smaller_alternative(self) -> Message:
        """Return the value of a parameter with states of half the size at most, if there is one."""
        taken = [other.state_nbytes for other in self.alternatives if other.is_taken]
        if taken != [self.state_nbytes]:
            return Message("")  # the largest state is of a pass that all have
        for other in self.alternatives:
            if 2 * other.state_nbytes <= self.state_nbytes:
                return "use " + Setting(other.parameter, other.value) + ", or "
        return Message("")

    @property
    def reserved_nbytes(self) -> int:
        """Memory of a process before it reads."""
        return RESERVED_NBYTES

    def in_words(self) -> Message:
        """Return the plan in words, with remedies if it does not fit."""
        # a sum keeps the parameters that a message names, and a formatted text does not
        lines = {title: f"{title:<10} " + words for title, words in self._facts().items()}
        memory, fits = lines.pop("memory"), lines.pop("fits")
        names = [self._name_of(size) for size in self.passes]
        width = max(18, *map(len, names)) if names else 0
        passes = [
            f"  {name:<{width}} {size.rows:>14,} rows   state "
            f"{format_bytes(size.state_nbytes)}, workspace {format_bytes(size.work_nbytes)}"
            for name, size in zip(names, self.passes, strict=True)
        ]
        others = [self._described(other, width) for other in self.alternatives]
        return Message("\n").join([*lines.values(), *passes, *others, memory, fits])

    def _facts(self) -> dict[str, str]:
        """Return what the plan says besides its passes, by titles."""
        passes = sum(size.times for size in self.passes)
        # line ends in names of others could pass for lines of the plan
        listed = (
            f"{role}: {', '.join(' '.join(name.split()) for name in names)}"
            for role, names in self.left_out.items()
        )
        allowed = (
            "no limit given"
            if self.allowed_nbytes is None
            else f"{format_bytes(self.allowed_nbytes)} allowed"
        )
        return {
            "data": f"{self.data}: {self.rows:,} rows x {self.features} features",
            **({"left out": "; ".join(listed)} if self.left_out else {}),
            "runs on": f"{self._processes()}, {self.tasks} task{'s' * (self.tasks != 1)} a pass",
            "reads": f"at most {format_bytes(self.read_nbytes)} in "
            f"{passes} pass{'' if passes == 1 else 'es'}",
            "memory": f"{format_bytes(self.projected_nbytes)} projected a process "
            f"({format_bytes(self.reserved_nbytes)} reserved), {allowed}",
            "fits": self._verdict(),
        }

    @staticmethod
    def _name_of(size: PassSize) -> str:
        """Return the name of a pass, with how often it runs."""
        return size.name + (f", 1 to {size.times}" if size.times > 1 else "")

    def _processes(self) -> str:
        """Return the number of processes and of their threads."""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        if not self.workers:
            return f"a cluster without workers so far, assumed to come with {threads} each"
        return f"{self.workers} process{'es' * (self.workers != 1)} x {threads}"

    def _verdict(self) -> Message:
        """Say if the plan fits, as far as the memory of the processes is known."""
        if not self.workers and self.allowed_nbytes is None:
            needed = format_bytes(int(self.projected_nbytes / USABLE))
            return (
                f"if workers have {needed} each; give "
                + Setting("memory_limit")
                + ", the memory of a worker, to compare"
            )
        return Message("yes") if self.fits else "NO: " + self.advice()

    def _described(self, other: Alternative, width: int) -> str:
        """Return a line on a way to fit the model."""
        name = f"{other.parameter} {other.value}"
        remark = ("taken: " if other.is_taken else "") + other.remark
        cost = (
            f"{other.operations:.1e} operations, {other.reads} full reads, state "
            f"{format_bytes(other.state_nbytes)}"
        )
        return f"  {name:<{width}} {cost}" + (f" ({remark})" if remark else "")

    def __str__(self) -> str:
        return str(self.in_words())

    def _repr_html_(self) -> str:
        """Return tables of the facts, the passes and the alternatives, for notebooks."""
        passes = [
            (
                self._name_of(size),
                f"{size.rows:,}",
                format_bytes(size.state_nbytes),
                format_bytes(size.work_nbytes),
            )
            for size in self.passes
        ]
        alternatives = [
            (
                f"{other.parameter} {other.value}",
                "yes" if other.is_taken else "no",
                f"{other.operations:.1e}",
                f"{other.reads}",
                format_bytes(other.state_nbytes),
                other.remark,
            )
            for other in self.alternatives
        ]
        heads = ("alternative", "taken", "operations", "full reads", "state", "remark")
        return page_of_tables(
            "Plan",
            table_of(list(self._facts().items())),
            table_of(passes, ("pass", "rows", "state", "workspace")),
            table_of(alternatives, heads),
        )


@dataclass(frozen=True)
class PlannedProcesses:
    """Worker processes that are planned for and not started."""

    workers: int
    limit: str | int | None
    threads: int = 1
    in_driver: ClassVar[bool] = False

    @property
    def memory_limit(self) -> int | None:
        """Bytes that one process may use."""
        return None if self.limit is None else parse_memory_limit(self.limit)


def make_plan(
    samples: Samples,
    passes: Sequence[PassSize],
    runtime: Processes,
    alternatives: Sequence[Alternative] = (),
    smaller: Mapping[str, tuple[Setting, ...]] | None = None,
    *,
    checkpoint: bool = False,
) -> Plan:
    """Compute the bytes that passes over the samples read and hold, without reading.

    Parameters
    ----------
    samples : Samples
        Data that the passes read.
    passes : sequence of PassSize
        Sizes of the passes.
    runtime : Runtime or PlannedProcesses
        Processes, threads and memory limits.
    alternatives : sequence of Alternative
        Ways to fit the model.
    smaller : mapping of str to tuple of Setting, optional
        Parameters that make parts of the memory smaller; see `Plan`.
    checkpoint : bool, default False
        True if the parts of the passes are stored.
    """
    parts = pass_parts(samples)
    buffers = READ_COPIES * _piece_rows(samples, parts) * samples.row_nbytes
    buffers += CHUNK_COPIES * _chunk_nbytes(samples)
    state = max((size.state_nbytes for size in passes), default=0)
    work = max((size.work_nbytes for size in passes), default=0)
    tasks = len(parts)
    # a state that is being added up, and another one as bytes on its way to the driver
    task = buffers + work + 2 * state
    waiting = state * min(tasks, tasks_in_flight(state, runtime.threads))
    held = sum(source.held_nbytes for source in samples.sources)
    driver = 0
    if runtime.in_driver:
        waiting = 0  # a thread adds its state to the sum before it takes the next task
        driver = _driver_nbytes(passes, tasks, state) + checkpoint * waiting_nbytes(state)
    return Plan(
        data=samples.describe(),
        rows=samples.rows,
        features=len(samples.views.order),
        passes=tuple(passes),
        tasks=tasks,
        read_nbytes=sum(size.times * size.rows for size in passes) * samples.row_nbytes,
        workers=runtime.workers,
        threads=runtime.threads,
        held_nbytes=held,
        buffer_nbytes=buffers,
        state_nbytes=state,
        work_nbytes=work,
        driver_nbytes=driver,
        projected_nbytes=RESERVED_NBYTES + held + runtime.threads * task + waiting + driver,
        allowed_nbytes=runtime.memory_limit,
        alternatives=tuple(alternatives),
        smaller=smaller or {},
        left_out=samples.left_out,
    )


def _driver_nbytes(passes: Sequence[PassSize], tasks: int, state_nbytes: int) -> int:
    """Return the bytes of the states that the driver adds up, and of what it holds beside them."""
    tree = state_nbytes * (2 + max(1, tasks).bit_length())
    return tree + max((size.driver_nbytes for size in passes), default=0)


def _chunk_nbytes(samples: Samples) -> int:
    """Return the bytes of the chunks that are decoded whole, beside the rows that are read."""
    return max(
        (
            source.chunk_nbytes
            for source in samples.sources
            if is_sparse(source) or isinstance(source, RowsWhere)
        ),
        default=0,
    )


def _piece_rows(samples: Samples, parts: Sequence[Part]) -> int:
    """Return the most rows that a task reads at once: all of its rows where they are lazy."""
    longest = max(stop - start for part in parts for start, stop in part)
    return max(
        longest
        if isinstance(source, LazySource)
        else min(samples.read_rows(source.unit_rows), longest)
        for source in samples.sources
    )
