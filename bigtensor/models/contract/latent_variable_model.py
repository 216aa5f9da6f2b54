"""Ways to fit a model: at once, in rounds over rows of many sites, and in batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, Unpack

from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import validate_data

from bigtensor._version import __version__
from bigtensor.data.rows.samples import Samples
from bigtensor.data.values.random_states import integer_seed
from bigtensor.data.values.weight_meanings import COUNTS, RELATIVE
from bigtensor.engine.checkpoint import content_key
from bigtensor.engine.clusters.connection import Connection
from bigtensor.engine.events import Event, Listener
from bigtensor.engine.plan import Plan, PlannedProcesses, make_plan
from bigtensor.engine.ranges import pass_parts
from bigtensor.engine.runtime import Processes, open_runtime, processes_to_start
from bigtensor.errors import ParameterError, Setting, StatisticsError
from bigtensor.models.contract.model_contract import ModelContract, shape_of
from bigtensor.models.contract.parameters import check_integer, check_workers
from bigtensor.models.contract.registry import memory_parameters
from bigtensor.models.contract.rounds import Rounds
from bigtensor.models.contract.row_answers import is_plain
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.contract.script import PlannedPass, replay, single_pass
from bigtensor.models.contract.statistics_file import Part, Statistics, joined, read_statistics
from bigtensor.statistics.state_of import KeptState, StateOf
from bigtensor.store import pack, unpack


class LatentVariableModel(CallbackSupportMixin, ModelContract):  # type: ignore[misc]
    """Base of all models. A subclass declares the members of `ModelContract`."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        client: Any = None,
        scheduler: str | Connection | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        wait_for_workers: str | float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        listeners: Iterable[Listener] = (),
    ) -> Self:
        """Fit the model in a few passes over the data.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array, array-like, Samples, or a list of these
            ``(rows, features)``. A model of measured values converts integers, booleans and
            float16 to floats, and a model of categories takes names and whole numbers. A path or
            URL names a Zarr store or an AnnData file. `bigtensor.open_samples` reads layers and
            ``obsm`` of AnnData.
        y : ignored
            Not used.
        sample_weight : (rows,) array-like, optional
            Weights of the rows, not negative, by default those that are stored with the data. Their
            meaning is the parameter `weights` of the model.
        client : distributed.Client, optional
            Client of a Dask cluster. It is never closed.
        scheduler : str or bigtensor.engine.clusters.connection.Connection, optional
            ``"threads"``, ``"processes"`` (workers on this machine, closed afterwards), the
            address of a Dask scheduler, or a `Connection` with a scheduler file or certificates.
            None stands for processes if ``workers`` is given, for the thread of the Dask task that
            calls, for the current client if there is one, and otherwise for threads. The result has
            the same bits everywhere.
        workers : int, optional
            Number of processes or threads. By default one for each processor, or two threads if X
            is a URL. No more processes are started than a pass has tasks.
        memory_limit : str or int, optional
            Memory of a process, such as ``"1GiB"``. A fit that needs more is refused.
        wait_for_workers : str or float, optional
            Longest time without any worker of a cluster, in seconds or as a text (``"12h"``). The
            default is 60 s. If the cluster of ``client`` has asked for workers, there is no limit.
        checkpoint : path or fsspec URL, optional
            Place of finished parts, from which the same fit continues.
        listeners : iterable of callables
            Functions that are called with every `bigtensor.engine.events.Event`.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ParameterError, DataError, PlanError, CheckpointError, ClusterError
            See `bigtensor.errors`. Every message names a remedy.
        """
        check_workers(workers)
        return self._fit_to(
            X,
            self._open(X, sample_weight),
            client=client,
            scheduler=scheduler,
            workers=workers,
            memory_limit=memory_limit,
            wait_for_workers=wait_for_workers,
            checkpoint=checkpoint,
            listeners=listeners,
        )

    def _fit_to(self, X: Any, samples: Samples, **options: Unpack[RunOptions]) -> Self:
        """Fit the model to data that are opened."""
        self._drawn_seed = integer_seed(self.random_state)
        shape = shape_of(samples)
        if is_plain(X):
            validate_data(self, X, skip_check_array=True)
        with callback_listener(self) as callbacks:
            options["listeners"] = (*options.get("listeners", ()), callbacks)
            ran = self._run(
                samples,
                self._script(shape),
                self._planned_passes(shape),
                self._planned_methods(shape),
                **options,
            )
        self._forget_fit()
        self._remember_features(X, samples, ran.views)
        self._take(ran.result)
        self._remember(samples, ran)
        return self

    def plan(
        self,
        X: Any,
        *,
        client: Any = None,
        scheduler: str | Connection | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Plan:
        """Return the plan of a fit: the bytes it reads and holds, without reading a row.

        Parameters
        ----------
        X, client, scheduler, workers, memory_limit
            As for `fit`.
        checkpoint : path or fsspec URL, optional
            As for `fit`. Parts that wait to be stored are counted. Nothing is read or written.

        Returns
        -------
        Plan
            Plan that prints as a table, also if it exceeds the memory limit.
        """
        check_workers(workers)
        samples = self._open(X, None)
        if scheduler == "processes" or (scheduler is None and client is None and workers):
            count = processes_to_start(workers, len(pass_parts(samples)))
            return self._plan(samples, PlannedProcesses(count, memory_limit), checkpoint)
        with open_runtime(
            client=client,
            scheduler=scheduler,
            workers=workers,
            memory_limit=memory_limit,
            remote=samples.is_remote,
        ) as runtime:
            return self._plan(samples, runtime, checkpoint)

    def prepare(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Fix everything that a fit chooses from pilot data, and keep no row.

        The prepared model can be saved and sent. The result of an earlier fit is removed.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`: rows that are representative of all sites.
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        rows : int, optional
            Number of rows of all sites, by default of ``X``. Choices that depend on the number of
            rows use it.
        **options
            As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``,
            ``wait_for_workers``, ``checkpoint``, ``listeners``.

        Returns
        -------
        self
            This model.
        """
        if rows is not None:
            check_integer("rows", rows, 2)
        samples = self._open(X, sample_weight)
        self._drawn_seed = integer_seed(self.random_state)
        shape = shape_of(samples)
        if is_plain(X):
            validate_data(self, X, skip_check_array=True)
        self._refuse_relative_weights(samples)
        ran = self._run(
            samples,
            self._prepare(shape, rows or shape.effective_rows),
            self._planned_preparation(shape),
            **options,
        )
        self._forget_fit()
        self._remember_features(X, samples, ran.views)
        self.diagnostics_ = dict(ran.result.diagnostics)
        self._remember(samples, ran)
        classes = self._stored_classes()
        packed = pack(replace(ran.result, diagnostics={}), classes)
        preparation = unpack(packed, classes)
        _, next_pass = replay(self._refine(preparation), ())
        self._rounds = Rounds(preparation, packed.digest, self.diagnostics_, (), next_pass)
        return self

    def accumulate(
        self, X: Any, sample_weight: Any = None, **options: Unpack[RunOptions]
    ) -> Statistics:
        """Sum the statistics that the next `solve` needs, in one pass over these rows.

        For a prepared model these are the sums of the first pass after the pilot, such as moments,
        and for a solved model those of the next pass, such as the posterior sums of an EM
        iteration.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            With the features of the pilot data.
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        **options
            As for `fit`.

        Returns
        -------
        Statistics
            Statistics to save, send, and merge with the statistics of other rows.

        Raises
        ------
        StatisticsError
            When the model is not prepared.
        """
        return self._accumulated(self._require_rounds(), X, sample_weight, options)

    def solve(self, statistics: Statistics | str | os.PathLike[str]) -> Self:
        """Find the solution from statistics of a round.

        Moments give the spectral solution of a mixture. Posterior sums give one EM iteration of the
        mixture that they were made with. If a model has no solution before a later pass, it stays
        prepared. The next `accumulate` is for the next round.

        Parameters
        ----------
        statistics : Statistics or path
            Statistics of all rows. Merge statistics of parts first.

        Returns
        -------
        self
            This model.

        Raises
        ------
        StatisticsError
            When the model is not prepared, or the statistics were made with another preparation
            or another mixture.
        """
        rounds = self._require_rounds()
        sums = read_statistics(statistics)
        if sums.model != type(self).__name__:
            raise StatisticsError(
                f"the statistics of {sums.data} are for a {sums.model} and not for a "
                f"{type(self).__name__}; solve them with the prepared model that they were "
                "accumulated with"
            )
        solved, self._rounds = rounds.solved(rounds.after(sums), self._refine)
        if solved is None:
            self._fitted = None
        else:
            self._take(solved)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Add a batch of rows, and solve for all batches so far.

        The first call prepares the model from its batch, unless `prepare` was called before. The
        first call after `fit` does so too, because `fit` keeps no sums. Every call adds to
        `statistics_`. The solution equals one `accumulate` and `solve` on all batches, after the
        first pass of the script of a fit. For a later pass, all rows have to be read again with
        `accumulate` and `solve`.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        y : ignored
            Not used.
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        rows : int, optional
            Rows expected in all batches, for the first call. By default, rows of the first batch.
        **options
            As for `fit`.

        Returns
        -------
        self
            This model.
        """
        if self._rounds is None:
            self.prepare(X, sample_weight, rows=rows, **options)
        rounds = self._require_rounds().restarted(self._refine)
        total = self._accumulated(rounds, X, sample_weight, options)
        if hasattr(self, "statistics_"):
            total = joined(self.statistics_, total)
        self.solve(total)
        self.statistics_ = total
        return self

    def _plan(
        self,
        samples: Samples,
        runtime: Processes,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Plan:
        """Return the plan of a fit."""
        shape = shape_of(samples)
        sizes = [planned.size(samples.rows) for planned in self._planned_passes(shape)]
        costs = [planned.cost(samples.rows) for planned in self._planned_methods(shape)]
        return make_plan(
            samples,
            sizes,
            runtime,
            costs,
            memory_parameters(type(self).__name__),
            checkpoint=checkpoint is not None,
        )

    def _require_rounds(self) -> Rounds:
        """Return the rounds of a prepared model, or raise a StatisticsError."""
        if self._rounds is None:
            raise StatisticsError(
                f"this {type(self).__name__} is not prepared, so that sums of different rows "
                "could not be added; call prepare(pilot) first, or load a prepared model"
            )
        return self._rounds

    def _refuse_relative_weights(self, samples: Samples) -> None:
        """Raise a ParameterError for relative weights: no site has the weights of all rows."""
        if samples.has_weight and self.weights == RELATIVE:
            raise ParameterError(
                Setting("weights", RELATIVE)
                + " needs the weights of all rows at once, and a fit in rounds or batches never "
                "has them; scale the weights so that they add up to the number of rows of all "
                "parts, and use " + Setting("weights", COUNTS)
            )

    def _accumulated(
        self, rounds: Rounds, X: Any, sample_weight: Any, options: RunOptions
    ) -> Statistics:
        """Return the sums of the next pass over some rows."""
        next_pass = rounds.next_pass
        if next_pass is None and not rounds.finished:
            raise StatisticsError(
                f"this {type(self).__name__} asks for no pass after its sample; fit it in one place"
            )
        if next_pass is None:
            raise StatisticsError(
                f"this {type(self).__name__} has had all its passes, the last one "
                f"{rounds.finished[-1].pass_name!r}; there is nothing left to accumulate"
            )
        samples = self._open_again(X, sample_weight=sample_weight)
        self._refuse_relative_weights(samples)
        summed = replace(next_pass, statistic=StateOf(next_pass.statistic))
        ran = self._run(samples, single_pass(summed), [PlannedPass(summed)], **options)
        kept: KeptState = ran.result
        part = Part(
            data=samples.describe(),
            rows=kept.rows,
            weight=kept.weight,
            rows_left_out=ran.rows_left_out,
            version=__version__,
            digest=content_key(kept.state),
        )
        name = type(self).__name__
        return Statistics(name, next_pass.name, rounds.digest, rounds.mixture, kept.state, (part,))


@contextmanager
def callback_listener(model: Any) -> Iterator[Listener]:
    """Turn events into scikit-learn's callback hooks: a task a pass or step, a subtask a part."""
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=model)
    running: dict[str, Any] = {}

    def listen(event: Event) -> None:
        if event.kind == "pass started":
            running["pass"] = context.subcontext(
                task_name=event.name, max_subtasks=event.total_parts
            ).call_on_fit_task_begin(estimator=model)
        elif event.kind == "part finished":
            part = running["pass"].subcontext(task_name="part")
            part.call_on_fit_task_begin(estimator=model).call_on_fit_task_end(estimator=model)
        elif event.kind == "pass finished":
            running["pass"].call_on_fit_task_end(estimator=model)
        elif event.kind == "step started":
            running["step"] = context.subcontext(task_name=event.name, max_subtasks=0)
            running["step"].call_on_fit_task_begin(estimator=model)
        elif event.kind == "step finished":
            running["step"].call_on_fit_task_end(estimator=model)

    yield listen
    context.call_on_fit_task_end(estimator=model)
