"""Run a script of passes over data, after a check of its plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Protocol, TypedDict, Unpack

from bigtensor.data.rows.code_maps import Categories
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.checkpoint import Checkpoint, content_key, open_checkpoint
from bigtensor.engine.clusters.connection import Connection
from bigtensor.engine.events import Event, Listener, Steps
from bigtensor.engine.plan import Plan, make_plan
from bigtensor.engine.ranges import pass_parts
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import DaskClient, Processes, Runtime, open_runtime
from bigtensor.errors import (
    DataError,
    MissingValueError,
    MissingValueWarning,
    Setting,
    warn,
)
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.script import Estimate, PlannedPass, SizedScript, Step
from bigtensor.statistics.base import CompleteColumns, Narrowing
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.sample_checks import check_pilot
from bigtensor.statistics.validity import Checked, Validity, explain


@dataclass(frozen=True)
class Ran:
    """A script of passes that has run.

    Attributes
    ----------
    result : object
        Returned by the script.
    views : Views
        Of the last pass: a script may have narrowed those that it was given.
    plan : Plan
        Bytes to read and memory to hold.
    passes : list of dict
        Name, rows, parts, reused parts and lost workers of every pass.
    rows_left_out : int
        Number of rows with missing values.
    """

    result: Any
    views: Views
    plan: Plan
    passes: list[dict[str, Any]]
    rows_left_out: int


class PlanMaker(Protocol):
    """Function that makes the plan of the passes of a script."""

    def __call__(self, processes: Processes, *, checkpoint: bool) -> Plan:
        """Return the plan for these processes."""


def run_script(
    samples: Samples,
    script: SizedScript,
    plan_on: PlanMaker,
    missing: str,
    *,
    takes: Data,
    checkpoint: str | os.PathLike[str] | None = None,
    listeners: Iterable[Listener] = (),
    **where: Unpack[WhereOptions],
) -> Ran:
    """Run a script of passes.

    Parameters
    ----------
    samples : Samples
        The data.
    script : generator
        Passes, and what is solved between them.
    plan_on : PlanMaker
        Makes the plan of its passes for the processes that they run on. Where the size of a pass
        follows from an earlier pass, the script asks for a `PlannedPass`, whose plan is checked
        before it runs.
    missing : {"raise", "omit", "marginalise"}
        Rule for rows with missing values.
    takes : Data
        Kinds of data that the model takes, for messages: whether it can use the other entries of
        such rows, and whether a row that is left out cuts a sequence.
    checkpoint, listeners, **where
        As for `Estimator.fit`.

    Raises
    ------
    TypeError
        When an option has a name that `Estimator.fit` does not know.
    """
    _check_names(where)
    history: list[Event] = []
    listeners = (*listeners, history.append)
    tasks = len(pass_parts(samples))
    with open_runtime(**where, tasks=tasks, remote=samples.is_remote) as runtime:
        plan = plan_on(runtime, checkpoint=checkpoint is not None).check()
        store = None if checkpoint is None else open_checkpoint(checkpoint, samples)
        # once for all passes: to take and release the limit takes as long as a small pass
        with single_blas_thread():
            rows = MissingRows(missing, takes, samples)
            result, views = _drive(script, samples, runtime, store, listeners, rows, plan.smaller)
    return Ran(result, views, plan, _finished_passes(history), rows.left_out)


def _drive(
    script: SizedScript,
    samples: Samples,
    runtime: Runtime,
    checkpoint: Checkpoint | None,
    listeners: tuple[Listener, ...],
    missing: MissingRows,
    smaller: Mapping[str, tuple[Setting, ...]],
) -> tuple[Any, Views]:
    """Run the passes that the script asks for; return its result and the last views."""
    stamp, result = samples.stamp(), None
    if not runtime.in_driver:
        samples = samples.for_workers()
    steps = Steps(listeners)

    while True:
        try:
            item = script.send(result)
        except StopIteration as end:
            steps.finish()
            missing.end(samples.views)
            return end.value, samples.views
        result = None
        if isinstance(item, Step):
            steps.advance(item.name, item.part, item.parts)
            continue
        steps.finish()
        if isinstance(item, Estimate):
            continue
        if isinstance(item, Narrowing):
            samples = samples.with_views(samples.views.keeping(item.columns))
            if checkpoint is not None:
                checkpoint = replace(checkpoint, data=content_key((checkpoint.data, item)))
            continue
        if isinstance(item, PlannedPass):
            size, stores_parts = item.size(samples.rows), checkpoint is not None
            make_plan(samples, [size], runtime, (), smaller, checkpoint=stores_parts).check()
            item = item.largest
        checked = replace(
            item, statistic=Checked(item.statistic, marginalised=missing.rule == MARGINALISE)
        )
        validity, result = run_pass(
            samples, checked, runtime, checkpoint=checkpoint, listeners=listeners, stamp=stamp
        )
        complete = item.statistic.complete
        marginalises = missing.marginalises and not complete.columns
        judge(validity, samples, missing.rule, marginalises=marginalises)
        if isinstance(result, Sample):
            check_pilot(result, validity, samples.views.features)
        if item.rows is None:
            missing.note(validity, samples.views, complete, sees_next=item.statistic.halo > 0)


@dataclass
class MissingRows:
    """Rows with missing values in the passes of a script, which are warned of once.

    Attributes
    ----------
    rule : {"raise", "omit", "marginalise"}
        Rule for rows with missing values.
    takes : Data
        Kinds of data that the model takes.
    samples : Samples
        The data.
    left_out : int
        Number of rows that were left out.
    pending : Validity, optional
        Rows that are to be warned of.
    complete : CompleteColumns
        Columns of which the pass that left them out needs every entry.
    """

    rule: str
    takes: Data
    samples: Samples
    left_out: int = 0
    pending: Validity | None = None
    complete: CompleteColumns = field(default_factory=CompleteColumns)

    @property
    def marginalises(self) -> bool:
        """True if the model can use the other entries of such rows."""
        return self.takes.can_marginalise(self.samples)

    def note(
        self, validity: Validity, views: Views, complete: CompleteColumns, *, sees_next: bool
    ) -> None:
        """Note the rows that a pass over all rows left out, and warn of them.

        A pass that does not look at the row after a block, such as a draw of a sample, cannot count
        the places at which sequences are cut. The warning then waits for a later pass.
        """
        if not self.left_out:
            self.left_out, self.pending, self.complete = validity.dropped, validity, complete
        if self.pending is not None and (sees_next or not self.takes.in_order):
            self.pending = validity
            self.end(views)

    def end(self, views: Views) -> None:
        """Warn of rows that no warning was given for."""
        if self.pending is not None:
            warn_of_missing(self.pending, views, self.complete)
            self.pending = None


def judge(validity: Validity, samples: Samples, missing: str, *, marginalises: bool) -> None:
    """Refuse bad weights, and missing values unless they are to be left out.

    Parameters
    ----------
    validity : Validity
        What was found in the rows.
    samples : Samples
        The data.
    missing : {"raise", "omit", "marginalise"}
        Rule for rows with missing values.
    marginalises : bool
        Whether the model can use the other entries of such rows.

    Raises
    ------
    DataError, MissingValueError
    """
    if validity.bad_weights:
        raise DataError(
            explain(validity, samples.views.features)
            + "; sample weights have to be zero or positive: scale large ones so that they add "
            "up to the number of rows"
        )
    if validity.dropped and missing == "raise":
        remedy = "give them values, or use " + Setting("missing", "omit") + " to leave them out"
        if marginalises:
            remedy += ", or " + Setting("missing", MARGINALISE) + " to use their other entries"
            if validity.first_code is None:
                # the counts do not tell NaN from infinity
                remedy += " if the values are NaN (rows with infinity are left out)"
        raise MissingValueError(f"{explain(validity, samples.views.features)}; " + remedy)


def warn_of_missing(validity: Validity, views: Views, complete: CompleteColumns) -> None:
    """Say how many rows were left out, and why if other missing entries are summed over.

    Parameters
    ----------
    validity : Validity
        Counts of a pass.
    views : Views
        Views of the rows.
    complete : CompleteColumns
        Columns of which the pass needs every entry.
    """
    if validity.dropped:
        message = f"{explain(validity, views.features)}; they are left out"
        if validity.cuts:
            places = "place" if validity.cuts == 1 else "places"
            message += f", which cuts sequences at {validity.cuts:,} {places}"
        if complete.remedy:
            message += ". " + complete.remedy
        warn(message, MissingValueWarning)


def warn_of_unknown_categories(samples: Samples, without_rows: Categories) -> None:
    """Name the categories of the data that the fit did not have.

    Parameters
    ----------
    samples : Samples
        Rows to answer for, with the categories of the fit.
    without_rows : mapping of str to tuple of str
        Categories of the fit whose entries are ignored, because no row of the fit had them.
    """
    if samples.code_map is None:
        return
    unknown = samples.code_map.describe_unknown(samples.sources, without_rows)
    if unknown:
        warn(
            f"{samples.describe()} has categories that the fit did not have: {unknown}; these "
            "entries are ignored, and their rows keep their other entries",
            MissingValueWarning,
        )


def _finished_passes(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the counts of the passes that are finished."""
    return [
        {
            "name": event.name,
            "rows": event.total_rows,
            "parts": event.total_parts,
            "reused_parts": event.reused,
            "lost_workers": event.lost_workers,
        }
        for event in events
        if event.kind == "pass finished"
    ]


class WhereOptions(TypedDict, total=False):
    """The options of `Estimator.fit` that choose the workers."""

    client: DaskClient | None
    scheduler: str | Connection | None
    workers: int | None
    memory_limit: str | int | None
    wait_for_workers: str | float | None


class RunOptions(WhereOptions, total=False):
    """The options of `Estimator.fit`, where they are described."""

    checkpoint: str | os.PathLike[str] | None
    listeners: Iterable[Callable[[Any], None]]


def _check_names(options: Mapping[str, Any]) -> None:
    """Refuse options that `Estimator.fit` does not have."""
    for name in options.keys() - WhereOptions.__optional_keys__:
        own = {"sample_weight", "sequence", *RunOptions.__optional_keys__}
        near = get_close_matches(name, own, 1)
        hint = f"; did you mean {near[0]!r}?" if near and near != [name] else ""
        if name == "sequence":
            hint = "; give the ids of sequences to open_samples, and its result to the method"
        raise TypeError(f"got an unexpected keyword argument {name!r}{hint}")


class RunsPasses(Protocol):
    """A fitted model that runs passes over rows."""

    def run_passes(
        self,
        samples: Samples,
        script: SizedScript,
        passes: Iterable[PlannedPass],
        **options: Unpack[RunOptions],
    ) -> Ran:
        """Run a script of passes over rows."""
