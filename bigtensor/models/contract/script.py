"""Script of a fit: the passes that it asks for, its steps, and the solution that it returns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bigtensor.data.rows.block import Block
from bigtensor.engine.plan import Alternative, PassSize
from bigtensor.errors import Message, warn
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues
from bigtensor.models.words.faults import Fault, as_warnings
from bigtensor.statistics.base import Narrowing, Pass, State, Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.validity import Checked

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Solved:
    """Solution of a fit.

    Attributes
    ----------
    fitted : dataclass
        Everything that answers need and a file keeps.
    diagnostics : dict
        Decisions and numbers, as JSON holds them.
    confirmation : str, default ""
        Sentence of the verdict that confirms a result without faults.
    """

    fitted: Any
    diagnostics: dict[str, Any]
    confirmation: str = ""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Solution that holds if no further pass follows; a script yields it after a pass.

    A fit goes on without it. A fit in rounds ends there until the sums of the next pass are known.

    Attributes
    ----------
    make : callable
        Returns a `Solved`.
    """

    make: Callable[[], Solved]


@dataclass(frozen=True)
class Step:
    """Announcement of work on the driver, which lasts until the next item. Nothing is sent back.

    Attributes
    ----------
    name : str
        Shown as progress, such as ``"choosing the ridge"``.
    part : int
        From 1, for a step that is announced part by part under one name.
    parts : int
        Largest number of parts; 0 for a step in one part.
    """

    name: str
    part: int = 0
    parts: int = 0


Script = Generator[Pass[Any] | Narrowing | Estimate | Step, Any, Any]
"""Yields passes and is sent their results."""


@dataclass(frozen=True, eq=False)
class PlannedPass:
    """Pass as large as a fit may ask for, before anything is read.

    Attributes
    ----------
    largest : Pass
        With a statistic of the sizes to come, whatever its numbers.
    times : int
        How often it runs at most.
    driver_nbytes : int
        Of the driver before the pass or with its result, beside the states.
    instead : Pass, optional
        Another pass that may take its place.
    """

    largest: Pass[Any]
    times: int = 1
    driver_nbytes: int = 0
    instead: Pass[Any] | None = None

    def size(self, rows: int) -> PassSize:
        """Return the bytes that the pass reads and holds."""
        windows = self.largest.rows
        read = rows if windows is None else sum(stop - start for start, stop in windows)
        state_nbytes, work_nbytes = _task_nbytes(self.largest)
        if self.instead is not None:
            other_state, other_work = _task_nbytes(self.instead)
            state_nbytes, work_nbytes = max(state_nbytes, other_state), max(work_nbytes, other_work)
        return PassSize(
            self.largest.name, self.times, read, state_nbytes, work_nbytes, self.driver_nbytes
        )


@dataclass(frozen=True, eq=False)
class PlannedMethod:
    """One of several methods of a fit, with the passes that it may ask for.

    Attributes
    ----------
    parameter, value : str
        Parameter of the model, and the value that stands for the method.
    passes : sequence of PlannedPass
        Passes of this stage.
    operations : float
        Floating-point operations of its matrix products.
    reads : int
        Passes over all rows, as many as there usually are.
    is_taken : bool
        True for the method that the fit uses.
    remark : str
        Why it is taken, or why it is taken only if asked for; may be empty.
    """

    parameter: str
    value: str
    passes: Sequence[PlannedPass]
    operations: float
    reads: int
    is_taken: bool
    remark: str

    def cost(self, rows: int) -> Alternative:
        """Return the cost of the method."""
        states = [planned.size(rows).state_nbytes for planned in self.passes]
        return Alternative(
            self.parameter,
            self.value,
            self.operations,
            self.reads,
            max(states),
            self.is_taken,
            self.remark,
        )


SizedScript = Generator[Pass[Any] | PlannedPass | Narrowing | Estimate | Step, Any, Any]
"""Script that also asks for passes whose size an earlier one has told; their plan is checked."""


def _nothing_to_check(parameters: ParameterValues) -> None:
    """Accept all values."""


def _all_have_effect(parameters: ParameterValues) -> Message | None:  # noqa: ARG001
    """Return None: every parameter is used."""
    return None


def _one_method(settings: object) -> list[PlannedMethod]:  # noqa: ARG001
    """Return no methods: there is no choice."""
    return []


@dataclass(frozen=True)
class FitSteps:
    """Functions that a fit is made of.

    Attributes
    ----------
    settings_of : callable (parameters, shape) -> settings
        Resolves the parameters for data of this shape. It raises an error for data that the model
        cannot be fitted to.
    prepare : callable (settings) -> Script
        First half of the script. It fixes everything that later sums depend on, and returns a
        preparation: a dataclass with ``diagnostics``, which `refine` can read and a prepared model
        shows. If ``shape.in_rounds`` is True, a preparation is sent to other sites as it is, so
        that it must not hold the rows of the sample.
    refine : callable (preparation) -> Script
        Second half of the script. It asks for sums over all rows, and returns a `Solved`.
    planned_preparation, planned_refinement : callable (settings) -> list of PlannedPass
        Upper bounds of the passes that the two halves ask for.
    planned_methods : callable (settings) -> list of PlannedMethod
        Methods to choose from, with their costs. By default there is no choice.
    check : callable (parameters) -> None
        Raises a ParameterError for values that contradict each other. Each value by itself is
        checked by its declaration.
    without_effect : callable (parameters) -> Message or None
        Returns a sentence on a parameter that is given although nothing uses it. The command line
        refuses it. In Python it is ignored, as in scikit-learn.
    """

    settings_of: Callable[[ParameterValues, DataShape], Any]
    prepare: Callable[[Any], Script]
    refine: Callable[[Any], Script]
    planned_preparation: Callable[[Any], list[PlannedPass]]
    planned_refinement: Callable[[Any], list[PlannedPass]]
    planned_methods: Callable[[Any], list[PlannedMethod]] = _one_method
    check: Callable[[ParameterValues], None] = _nothing_to_check
    without_effect: Callable[[ParameterValues], Message | None] = _all_have_effect


def _task_nbytes(pass_: Pass[Any]) -> tuple[int, int]:
    """Return the bytes of the state and of the workspace of one task."""
    checked = Checked(pass_.statistic)
    return checked.state_nbytes(), checked.work_nbytes(checked.block_rows)


def with_verdict(
    fitted: object,
    faults: Sequence[Fault],
    confirmation: str,
    diagnostics: Mapping[str, Any],
    evidence: Mapping[str, Any] | None = None,
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    fitted : dataclass
        The solution.
    faults : sequence of Fault
        Sentences on faults, which become warnings, and notes.
    confirmation : str
        Sentence that confirms the result, for a result without faults and notes.
    diagnostics : mapping
        Diagnostics of the fit. The verdict is added to them. Sentences under ``doubts``, of the
        diagnostics or of ``pilot`` among them, become warnings before all others, and those under
        ``running_numbers`` become the last notes. Sentences under ``warned`` had a warning before
        the fit, and come first.
    evidence : mapping, optional
        Numbers behind the verdict, JSON-serialisable.
    """
    of_sample = {**diagnostics.get("pilot", {}), **diagnostics}
    faults = [*as_warnings(*of_sample.get("doubts", [])), *faults]
    if notes := of_sample.get("running_numbers"):
        faults = [*(faults or [(None, confirmation)]), *((None, note) for note in notes)]
    for category, sentence in faults:
        if category is not None:
            warn(sentence, category)
    warned = of_sample.get("warned", [])
    verdict = {
        "good": not warned and all(category is None for category, _ in faults),
        "sentences": [*warned, *(sentence for _, sentence in faults)] or [confirmation],
        **(evidence or {}),
    }
    return Solved(fitted, {**diagnostics, "verdict": verdict}, confirmation)


def single_pass(pass_: Pass[Any]) -> Script:
    """Return the script of one pass, which returns the result of the pass."""
    return (yield pass_)


def in_memory(script: Generator[Any, Any, _Result], rows: Block) -> _Result:
    """Run a script of passes over rows that the driver holds.

    Parameters
    ----------
    script : generator
        Estimates that it yields between passes are left out.
    rows : Block
        Rows that the driver holds.
    """
    result, work = None, Workspace()
    while True:
        try:
            item = script.send(result)
        except StopIteration as end:
            value: _Result = end.value
            return value
        result = sum_in_memory(item.statistic, rows, work) if isinstance(item, Pass) else None


def replay(
    script: Script, sums: Iterable[State]
) -> tuple[Callable[[], Solved] | None, Pass[Any] | None]:
    """Run a script with the sums of its finished passes, up to the pass that comes next.

    Parameters
    ----------
    script : generator
        Without a narrowing.
    sums : iterable of State
        Of its first passes, in their order.

    Returns
    -------
    make : callable, optional
        Makes the solution after these passes; None if the script has none yet.
    next_pass : Pass, optional
        The next pass; None if there is none.
    """
    left, make, result = iter(sums), None, None
    while True:
        try:
            item = script.send(result)
        except StopIteration as end:
            return partial(Solved, end.value.fitted, end.value.diagnostics), None
        result = None
        if isinstance(item, Estimate):
            make = item.make
            continue
        if isinstance(item, Step):
            continue
        assert isinstance(item, Pass)
        state = next(left, None)
        if state is None:
            return make, item
        result = item.statistic.finalize(state)
