"""What every model shares: driving its script of passes, and being saved."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Generator, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from bigtensor.data.opening import open_samples
from bigtensor.data.samples import Samples
from bigtensor.data.views import Views, ViewsLike
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.checkpoint import Checkpoint, content_key, open_checkpoint
from bigtensor.engine.events import Event, Listener
from bigtensor.engine.opening import open_runtime
from bigtensor.engine.plan import PassSize, Plan, PlannedProcesses, Processes, make_plan
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import Runtime
from bigtensor.errors import DataChangedError
from bigtensor.models.answers import RowAnswers, is_named, is_plain
from bigtensor.models.callbacks import callback_listener
from bigtensor.models.data_shape import DataShape
from bigtensor.models.finished_run import Ran, finished_passes
from bigtensor.models.parameters import check_inputs, check_workers, plain
from bigtensor.models.run_options import RunOptions
from bigtensor.models.summary import summary_html
from bigtensor.statistics.base import Narrowing, Pass, Statistic
from bigtensor.statistics.validity import Checked
from bigtensor.store import Contents, write_group

Passes = Generator[Pass[Any] | Narrowing, Any, Any]
"""The script of a fit: yields passes, is sent their results, returns the solution."""

__all__ = [
    "DataShape",
    "LatentVariableModel",
    "PassSize",
    "Passes",
    "content_key",
    "open_samples",
    "shape_of",
]


class LatentVariableModel(CallbackSupportMixin, RowAnswers):  # type: ignore[misc]
    """Base of all models: a subclass writes its script of passes and what it makes of them."""

    views: ViewsLike | None
    missing: str
    sample_dim: str
    random_state: int | None
    views_: Views
    weights_: Any
    n_features_in_: int
    diagnostics_: dict[str, Any]

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise a ParameterError for a parameter of this model that is out of range."""

    @abstractmethod
    def _passes(self, shape: DataShape) -> Passes:
        """Ask for passes, solve between them, and return the solution."""

    @abstractmethod
    def _expected_passes(self, shape: DataShape) -> list[PassSize]:
        """Return upper bounds of what `_passes` will ask for."""

    @abstractmethod
    def _adopt(self, solution: Any) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `_restore` makes the fitted model again."""

    @abstractmethod
    def _restore(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Set the fitted attributes from the arrays of a saved model."""

    @abstractmethod
    def _outcome_in_words(self) -> list[tuple[str, str]]:
        """Return how the fit ended, as names and words."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        client: Any = None,
        scheduler: str | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        listeners: Iterable[Listener] = (),
    ) -> Self:
        """Fit the model in a few passes over the data.

        Parameters
        ----------
        X : path, xarray Dataset or DataArray, dask array, array-like, or a list of these
            ``(rows, features)``, float32 or float64; a path names a Zarr store.
        y : ignored
        sample_weight : (rows,) array-like, optional
            Not negative. In every sum a weight of 2 counts a row twice, so weights that only
            compare rows should add up to the number of rows; bandwidths and landmarks come from
            the rows of the pilot sample whatever their weights.
        client : distributed.Client, optional
            Used and never closed.
        scheduler : str, optional
            ``"threads"``, ``"processes"`` (workers on this machine, closed afterwards) or the
            address of a Dask scheduler. None: the current client if there is one, else processes
            where ``workers`` is given, else threads. The result has the same bits everywhere.
        workers : int, optional
            Number of processes or threads; all processors by default.
        memory_limit : str or int, optional
            What a process may use, such as ``"1GiB"``: a fit that would need more is refused.
        checkpoint : path or fsspec URL, optional
            Finished parts are kept there; the same fit continues from them.
        listeners : iterable of callables
            Called with every `bigtensor.engine.events.Event`.

        Returns
        -------
        self

        Raises
        ------
        ParameterError, DataError, PlanError, CheckpointError, ClusterError
            See `bigtensor.errors`; every message names what would help.
        """
        check_workers(workers)
        samples = self._open(X, sample_weight)
        shape = shape_of(samples)
        if is_plain(X):
            validate_data(self, X, skip_check_array=True)
        with callback_listener(self) as callbacks:
            ran = self._run(
                samples,
                self._passes(shape),
                self._expected_passes(shape),
                client=client,
                scheduler=scheduler,
                workers=workers,
                memory_limit=memory_limit,
                checkpoint=checkpoint,
                listeners=(*listeners, callbacks),
            )
        self._remember_features(X, samples, ran.views)
        self._adopt(ran.result)
        self._remember(samples, ran)
        return self

    def plan(
        self,
        X: Any,
        *,
        client: Any = None,
        scheduler: str | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
    ) -> Plan:
        """Say what a fit would read and hold, without reading a row.

        Parameters
        ----------
        X, client, scheduler, workers, memory_limit
            As for `fit`.

        Returns
        -------
        Plan
            Prints as a table, also when it does not fit.
        """
        check_workers(workers)
        samples = self._open(X, None)
        if scheduler == "processes" or (scheduler is None and client is None and workers):
            return self._plan(
                samples, PlannedProcesses(workers or os.cpu_count() or 1, memory_limit)
            )
        with open_runtime(
            client=client, scheduler=scheduler, workers=workers, memory_limit=memory_limit
        ) as runtime:
            return self._plan(samples, runtime)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Save the model as a Zarr group without pickle; `bigtensor.load` reads it back.

        Parameters
        ----------
        path : path
            It appears under this name when it is whole.
        overwrite : bool, default False
            Replace a store of this name.

        Returns
        -------
        Path

        Raises
        ------
        OutputError
            When the target exists, or cannot be written.
        """
        kept, arrays = self._kept()
        attrs = {
            "parameters": plain(self.get_params(deep=False)),
            "views": [[name, list(members)] for name, members in self.views_.features],
            "columns": [list(columns) for columns in self.views_.columns],
            "n_features_in": self.n_features_in_,
            "feature_names_in": plain(getattr(self, "feature_names_in_", [])),
            "diagnostics": self.diagnostics_,
            **kept,
        }
        contents = Contents(type(self).__name__, attrs, arrays)
        return write_group(Path(path), contents, overwrite=overwrite)

    def _kept(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what is saved besides parameters and views, as JSON and as arrays."""
        self._require_fitted()
        return {}, self._fitted_arrays()

    def _take_back(self, attrs: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:  # noqa: ARG002
        """Set what `_kept` had returned."""
        return self._restore(arrays)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        """Return the model whose file held these contents."""
        attrs = contents.attrs
        model = cls(**attrs["parameters"])
        model.views_ = Views(
            tuple((name, tuple(members)) for name, members in attrs["views"]),
            tuple(tuple(columns) for columns in attrs["columns"]),
        )
        model.n_features_in_ = attrs["n_features_in"]
        if attrs["feature_names_in"]:
            model.feature_names_in_ = np.asarray(attrs["feature_names_in"], dtype=object)
        model.diagnostics_ = attrs["diagnostics"]
        return model._take_back(attrs, contents.arrays)

    def __sklearn_tags__(self) -> Tags:
        """Say what is taken: missing values where they are left out."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "omit"
        return tags

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and a summary once there is something to tell."""
        diagram: str = super()._html_repr()
        if not self.__sklearn_is_fitted__():
            return diagram
        before, end, after = diagram.rpartition("</body>")
        return before + summary_html(self) + end + after

    def _open(self, X: Any, sample_weight: Any) -> Samples:
        """Describe the data of a fit, after checking the parameters."""
        check_inputs(self.views, self.sample_dim, self.missing, self.random_state)
        self._check_parameters()
        return open_samples(X, self.views, sample_dim=self.sample_dim, weight=sample_weight)

    def _plan(self, samples: Samples, runtime: Processes) -> Plan:
        """Return the plan of a fit."""
        return make_plan(samples, self._expected_passes(shape_of(samples)), runtime)

    def _run(
        self,
        samples: Samples,
        script: Passes,
        sizes: list[PassSize],
        *,
        client: Any = None,
        scheduler: str | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        listeners: Iterable[Listener] = (),
    ) -> Ran:
        """Run a script of passes, once its plan has been found to fit; the options are `fit`'s."""
        history: list[Event] = []
        with open_runtime(
            client=client, scheduler=scheduler, workers=workers, memory_limit=memory_limit
        ) as runtime:
            plan = make_plan(samples, sizes, runtime).check()
            store = None if checkpoint is None else open_checkpoint(checkpoint, samples)
            # once for all passes: to take and release the limit takes as long as a small pass
            with single_blas_thread():
                result, views, left_out = self._drive(
                    script, samples, runtime, store, (*listeners, history.append)
                )
        return Ran(result, views, plan, finished_passes(history), left_out)

    def _sum(self, X: Any, name: str, statistic: Statistic[Any], options: RunOptions) -> Any:
        """Return the result of one pass of a fitted model over data."""
        return self._one_pass(self._open_again(X), Pass(name, statistic), options).result

    def _one_pass(self, samples: Samples, wanted: Pass[Any], options: RunOptions) -> Ran:
        """Run one pass over all rows."""
        checked = Checked(wanted.statistic)
        work_nbytes = checked.work_nbytes(checked.block_rows)
        size = PassSize(wanted.name, 1, samples.rows, checked.state_nbytes(), work_nbytes)

        def script() -> Passes:
            return (yield wanted)

        return self._run(samples, script(), [size], **options)

    def _drive(
        self,
        script: Passes,
        samples: Samples,
        runtime: Runtime,
        checkpoint: Checkpoint | None,
        listeners: tuple[Listener, ...],
    ) -> tuple[Any, Views, int]:
        """Run the passes that the script asks for.

        Returns
        -------
        result : object
            What the script returns.
        views : Views
            Of the last pass.
        rows_left_out : int
        """
        stamp, result, left_out = samples.stamp(), None, 0

        def check() -> None:
            if samples.stamp() != stamp:
                raise DataChangedError(
                    f"{samples.describe()} changed while it was read; fit again when nothing "
                    "writes to it"
                )

        while True:
            try:
                wanted = script.send(result)
            except StopIteration as end:
                return end.value, samples.views, left_out
            if isinstance(wanted, Narrowing):
                samples, result = samples.with_views(samples.views.keeping(wanted.columns)), None
                if checkpoint is not None:
                    checkpoint = replace(checkpoint, data=content_key((checkpoint.data, wanted)))
                continue
            checked = replace(wanted, statistic=Checked(wanted.statistic))
            validity, result = run_pass(
                samples, checked, runtime, checkpoint=checkpoint, listeners=listeners, check=check
            )
            self._judge(validity, samples.views)
            if wanted.rows is None and not left_out:
                self._warn_of_missing(validity, samples.views)
                left_out = validity.dropped

    def _remember(self, samples: Samples, ran: Ran) -> None:
        """Set what is known of the run after a fit."""
        self.diagnostics_["data"] = samples.describe()
        self.diagnostics_["rows"] = samples.rows
        self.diagnostics_["rows_left_out"] = ran.rows_left_out
        self.diagnostics_["plan"] = {
            key: value for key, value in asdict(ran.plan).items() if key != "passes"
        }
        self.diagnostics_["passes"] = ran.passes
        self.diagnostics_ = plain(self.diagnostics_)

    def _remember_features(self, X: Any, samples: Samples, views: Views) -> None:
        """Set what is known of the features after a fit that ended with these views."""
        self.views_ = views
        self.n_features_in_ = len(samples.features)
        if is_named(X):
            self.feature_names_in_ = np.asarray(samples.features, dtype=object)
        elif not is_plain(X) and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def shape_of(samples: Samples) -> DataShape:
    """Return what a model may know of the samples."""
    return DataShape(
        samples.rows,
        samples.views.features,
        str(samples.dtype),
        samples.has_weight,
        samples.has_common_units,
        samples.left_out_by_default,
    )
