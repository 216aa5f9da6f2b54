"""Base of all models: ways to fit a model at once, in rounds, and in batches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self, Unpack

from sklearn.utils.validation import validate_data

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.row_sequences import Lengths
from bigtensor.data.rows.sample_weights import with_weight_meaning
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.values.random_states import integer_seed
from bigtensor.engine.clusters.connection import Connection
from bigtensor.engine.events import Listener
from bigtensor.engine.plan import Plan, PlannedProcesses
from bigtensor.engine.ranges import pass_parts
from bigtensor.engine.runtime import DaskClient, Processes, open_runtime, processes_to_start
from bigtensor.errors import ParameterError, StatisticsError
from bigtensor.models.contract.callbacks import (
    CallbackSupport,
    callback_listener,
    with_callbacks,
)
from bigtensor.models.contract.containers import is_by_view, scikit_learn_table, side_by_side
from bigtensor.models.contract.data_kinds import labels_of_fit
from bigtensor.models.contract.declarations import (
    check_declared,
    flat_values,
    memory_parameters,
    options_classes,
)
from bigtensor.models.contract.fitted_model import FittedModel
from bigtensor.models.contract.model_files import in_stored_layout
from bigtensor.models.contract.opened_fit import OpenedFit, shape_of, warn_of_coordinates
from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.models.contract.parameters import (
    ParameterValues,
    check_inputs,
    check_integer,
    check_workers,
    plain,
)
from bigtensor.models.contract.rounds import Rounds, refuse_relative_weights, warn_of_forgotten_fit
from bigtensor.models.contract.run import Ran, RunOptions, run_script
from bigtensor.models.contract.script import (
    FitSteps,
    PlannedPass,
    Script,
    SizedScript,
    Solved,
    single_pass,
)
from bigtensor.models.contract.statistics_file import Statistics, joined, read_statistics


class Estimator(CallbackSupport, FittedModel):  # type: ignore[misc]
    """Base of all models.

    A model declares its parameters, the data that it takes, the steps of its fit, and its
    description. It defines `row_function` and `set_fitted_attributes`.
    """

    steps: ClassVar[FitSteps]
    """Functions that a fit is made of."""

    only_view: ClassVar[str | None] = None
    """Name of one view of all features, where these are not each a view by default."""

    @with_callbacks
    def fit(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,
        sample_weight: RowVariableLike | None = None,
        *,
        client: DaskClient | None = None,
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
        X : path, xarray, AnnData, dask array, array-like, Samples, a list of these, or OpenedFit
            ``(rows, features)``. A model of measured values converts integers, booleans and
            float16 to floats, and a model of categories takes names and whole numbers. A path or
            URL names a Zarr store or an AnnData file. `bigtensor.open_samples` reads layers and
            ``obsm`` of AnnData. Data that `open` has opened are not opened again.
        y : str or (rows,) array-like, optional
            Labels of some rows, for models that take them (see `takes`): the label of every row, or
            the name of a variable that holds it. Negative whole numbers, NaN, None and empty names
            stand for none. Components are then the labels, ``classes_``, in ascending order, and
            start from the means of their rows. `predict` returns positions in ``classes_``. An
            array that labels all rows is ignored, and so are the two classes -1 and 1. Other models
            ignore labels, and those with `predict` warn of labels of less than half of the rows.
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
        labels = labels_of_fit(y, self.takes, self)
        return self._fit_opened(
            self._opened(X, sample_weight, groups=labels),
            client=client,
            scheduler=scheduler,
            workers=workers,
            memory_limit=memory_limit,
            wait_for_workers=wait_for_workers,
            checkpoint=checkpoint,
            listeners=listeners,
        )

    def open(
        self,
        X: DataLike,
        sample_weight: RowVariableLike | None = None,
        *,
        client: DaskClient | None = None,
        scheduler: str | Connection | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> OpenedFit:
        """Open the data of a fit and plan it, without reading a row.

        Parameters
        ----------
        X, sample_weight, client, scheduler, workers, memory_limit
            As for `fit`.
        checkpoint : path or fsspec URL, optional
            As for `fit`. Parts that wait to be stored are counted. Nothing is read or written.

        Returns
        -------
        OpenedFit
            With its ``plan``. `fit` takes it in place of the data.
        """
        opened = self._opened(X, sample_weight)
        plan = self._plan_of(opened, client, scheduler, workers, memory_limit, checkpoint)
        return replace(opened, plan=plan)

    def plan(
        self,
        X: DataLike,
        *,
        client: DaskClient | None = None,
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
        opened = self._opened(X, seed=self._seed)
        return self._plan_of(opened, client, scheduler, workers, memory_limit, checkpoint)

    def prepare(
        self,
        X: DataLike,
        sample_weight: RowVariableLike | None = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Fix everything that a fit chooses from pilot data, and keep no table of rows.

        The prepared model can be saved and sent. It may hold single rows of the pilot data as
        points that kernels are evaluated at. The result of an earlier fit is removed.

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
        opened = self._opened(X, sample_weight, rows=rows, in_rounds=True)
        refuse_relative_weights(opened.samples, self.weights)
        ran = self._run_fit(opened, self.steps.prepare(opened.settings), **options)
        self.diagnostics_ = dict(ran.result.diagnostics)
        self._remember(opened.samples, ran)
        self._rounds = Rounds.of_preparation(
            ran.result,
            self.diagnostics_,
            self.steps.refine,
            self._stored_classes(),
            plain(self.parameters_of_fit()),
            opened.shape.all_rows,
        )
        return self

    def accumulate(
        self,
        X: DataLike,
        sample_weight: RowVariableLike | None = None,
        **options: Unpack[RunOptions],
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
        ParameterError
            When a parameter besides ``missing`` and ``sample_dim`` has changed since `prepare`.
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
        StatisticsError, ParameterError
            As by `accumulate`, and when the statistics are of another preparation or mixture.

        Warns
        -----
        WeightWarning
            When the statistics have less than 90 % of the rows that the model was prepared for.
        """
        sums = read_statistics(statistics)
        rounds = self._require_rounds()
        sums.require_model(type(self).__name__)
        finished = rounds.after(sums)
        rounds.warn_of_absent_rows(sums)
        return self._solve(rounds, finished)

    def _solve(self, rounds: Rounds, finished: tuple[Statistics, ...]) -> Self:
        """Take the solution after the statistics of finished passes."""
        solved, self._rounds = rounds.solved(finished, self.steps.refine)
        previous = getattr(self, "solution_", None)
        if solved is not None:
            self._take(solved)
            if previous is not None:
                self.keep_choices_of(previous)
        elif hasattr(self, "solution_"):
            del self.solution_
        return self

    def partial_fit(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,  # noqa: ARG002
        sample_weight: RowVariableLike | None = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Add a batch of rows, and solve for all batches so far.

        The first call prepares the model from its batch, unless `prepare` was called before. The
        first call after `fit` does so too and warns, because `fit` keeps no sums. Every call adds
        to `statistics_`. The solution equals one `accumulate` and `solve` on all batches, after the
        first pass of the script of a fit. For a later pass, all rows have to be read again with
        `accumulate` and `solve`. A model that has no solution before a later pass, such as `ICA`
        with ``method="cumulant"``, has none after `partial_fit`. Errors are those of `accumulate`.

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
            if hasattr(self, "solution_"):
                warn_of_forgotten_fit(type(self).__name__, self.diagnostics_["rows"])
            self.prepare(X, sample_weight, rows=rows, **options)
        rounds = self._require_rounds().restarted(self.steps.refine)
        total = self._accumulated(rounds, X, sample_weight, options)
        if hasattr(self, "statistics_"):
            total = joined(self.statistics_, total)
        self._solve(rounds, rounds.after(total))
        self.statistics_ = total
        return self

    @property
    def next_pass(self) -> str | None:
        """Name of the pass that `accumulate` sums next, None unless the model is prepared."""
        if self._rounds is None or self._rounds.next_pass is None:
            return None
        return self._rounds.next_pass.name

    def check_parameters(self) -> None:
        """Raise a ParameterError for a parameter out of range, or one that contradicts others."""
        parameters = self._values()
        check_inputs(parameters, marginalises=bool(self.takes.marginalises))
        check_declared(parameters, self.declares)
        self.steps.check(parameters)

    def parameter_values(self, seed: int | None = None) -> ParameterValues:
        """Return the values of the parameters, with an integer seed.

        Parameters
        ----------
        seed : int, optional
            Seed in place of `random_state`.
        """
        return self._values().changed(random_state=self._seed if seed is None else seed)

    def _values(self) -> ParameterValues:
        """Return the parameters as they were given. A model may have no parameter `weights`."""
        values = flat_values(self.get_params(deep=False), options_classes(self.declares))
        return ParameterValues(**{"weights": self.weights, **values})

    def _opened(
        self,
        X: DataLike,
        sample_weight: RowVariableLike | None = None,
        *,
        sequence: str | RowVariableLike | Lengths | None = None,
        groups: str | RowVariableLike | None = None,
        rows: float | None = None,
        in_rounds: bool = False,
        seed: int | None = None,
    ) -> OpenedFit:
        """Check the parameters, open the data of a fit, and resolve the parameters for them."""
        parameters = plain(self.get_params(deep=False))
        if isinstance(X, OpenedFit):
            if in_rounds:
                # settings of a fit would keep rows in what is sent to other sites
                raise ParameterError(
                    "data that are opened are for a fit of these data alone; give prepare and "
                    "partial_fit the data themselves"
                )
            if not (sample_weight is sequence is groups is None):
                raise ParameterError(
                    "weights, labels and sequences are part of data that are opened; open them "
                    "together"
                )
            X.require_parameters(parameters)
            return X
        self.check_parameters()
        views = self.views
        if self.takes.by_view and views is None and is_by_view(X):
            X, views = side_by_side(X)
        warn_of_coordinates(X, self.sample_dim, self.takes, sample_weight, sequence)
        samples = open_samples(
            X,
            views,
            sample_dim=self.sample_dim,
            weight=sample_weight,
            sequence=sequence,
            groups=groups,
        )
        samples = self.takes.check(samples, type(self).__name__, prefer=self.preferred_kind)
        samples = with_weight_meaning(samples, self.weights)
        if self.only_view is not None and views is None:
            samples = samples.with_views(Views.together(self.only_view, samples.features))
        seed = integer_seed(self.random_state) if seed is None else seed
        shape = shape_of(samples)
        if in_rounds:
            shape = replace(shape, expected_rows=rows or shape.effective_rows)
        settings = self.steps.settings_of(self.parameter_values(seed), shape)
        return OpenedFit(
            *(X, parameters, samples, shape, settings, seed),
            tuple(self._planned_passes(settings, in_rounds=in_rounds)),
            () if in_rounds else tuple(self.steps.planned_methods(settings)),
            memory_parameters(self.declares),
        )

    def _planned_passes(self, settings: object, *, in_rounds: bool) -> list[PlannedPass]:
        """Return upper bounds of the passes of a fit, or of the preparation of rounds."""
        prepared = self.steps.planned_preparation(settings)
        return prepared if in_rounds else [*prepared, *self.steps.planned_refinement(settings)]

    def _plan_of(
        self,
        opened: OpenedFit,
        client: DaskClient | None,
        scheduler: str | Connection | None,
        workers: int | None,
        memory_limit: str | int | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Plan:
        """Return the plan of a fit on these workers. Processes are not started for it."""
        check_workers(workers)
        stores_parts = checkpoint is not None
        if scheduler == "processes" or (scheduler is None and client is None and workers):
            count = processes_to_start(workers, len(pass_parts(opened.samples)))
            processes: Processes = PlannedProcesses(count, memory_limit)
            return opened.plan_on(processes, checkpoint=stores_parts)
        with open_runtime(
            client=client,
            scheduler=scheduler,
            workers=workers,
            memory_limit=memory_limit,
            remote=opened.samples.is_remote,
        ) as runtime:
            return opened.plan_on(runtime, checkpoint=stores_parts)

    def script(self, settings: object) -> Script:
        """Return the script of a fit: both halves.

        Parameters
        ----------
        settings : object
            Parameters, resolved for the data.
        """
        preparation = yield from self.steps.prepare(settings)
        return (yield from self.steps.refine(preparation))

    def _fit_opened(self, opened: OpenedFit, **options: Unpack[RunOptions]) -> Self:
        """Fit the model to data that are opened."""
        with callback_listener(self) as callbacks:
            options["listeners"] = (*options.get("listeners", ()), callbacks)
            ran = self._run_fit(opened, self.script(opened.settings), **options)
        self._take(ran.result)
        self._remember(opened.samples, ran)
        return self

    def _run_fit(
        self, opened: OpenedFit, script: SizedScript, **options: Unpack[RunOptions]
    ) -> Ran:
        """Run the script of a fit, forget an earlier fit, and remember the features."""
        self._drawn_seed = opened.seed
        if (table := scikit_learn_table(opened.data)) is not None:
            validate_data(self, table, skip_check_array=True)
        takes = self.takes.with_parameters(self._values(), self.steps.check)
        ran = run_script(
            opened.samples, script, opened.plan_on, self.missing, takes=takes, **options
        )
        self._forget_fit()
        self._remember_features(opened.data, opened.samples, ran.views)
        return ran

    def _take(self, solved: Solved) -> None:
        """Set the result of a fit, in the same memory layout as after loading.

        The bits of a sum depend on the layout.
        """
        self.diagnostics_ = solved.diagnostics
        self.set_solution(in_stored_layout(solved.fitted, self._stored_classes()))

    def keep_choices_of(self, previous: Any) -> None:
        """Keep what a user chose in the solution of an earlier round, such as names.

        Parameters
        ----------
        previous : dataclass
            Solution of the earlier round.
        """

    def _forget_fit(self) -> None:
        """Remove the result of an earlier fit."""
        self._rounds = None
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)

    def _remember(self, samples: Samples, ran: Ran) -> None:
        """Set the attributes that describe the run of a fit."""
        self.diagnostics_["data"] = samples.describe()
        self.diagnostics_["rows"] = samples.rows
        self.diagnostics_["rows_left_out"] = ran.rows_left_out
        if samples.has_weight:
            self.diagnostics_["effective_rows"] = samples.effective_rows
            self.diagnostics_["whole_weights"] = samples.whole_weights
        self.diagnostics_["plan"] = {
            key: value for key, value in asdict(ran.plan).items() if key != "passes"
        }
        self.diagnostics_["passes"] = ran.passes
        self.diagnostics_ = plain(self.diagnostics_)

    def _require_rounds(self) -> Rounds:
        """Return the rounds of a prepared model, or raise a StatisticsError."""
        if self._rounds is None:
            raise StatisticsError(
                f"this {type(self).__name__} is not prepared, so that sums of different rows "
                "could not be added; prepare the model first, by prepare(pilot) or 'bigtensor "
                "prepare', or load a prepared model"
            )
        self._rounds.require_parameters(plain(self.parameters_of_fit()))
        return self._rounds

    def _accumulated(
        self,
        rounds: Rounds,
        X: DataLike,
        sample_weight: RowVariableLike | None,
        options: RunOptions,
    ) -> Statistics:
        """Return the sums of the next pass over some rows."""
        summed = rounds.next_sums(type(self).__name__)
        samples = open_for_answers(self, X, sample_weight=sample_weight)
        refuse_relative_weights(samples, self.weights)
        ran = self.run_passes(samples, single_pass(summed), [PlannedPass(summed)], **options)
        return rounds.statistics_of(type(self).__name__, samples, ran)
