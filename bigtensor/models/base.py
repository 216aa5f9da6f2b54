"""What every model shares: driving its script of passes, and answering row by row."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from bigtensor._version import __version__
from bigtensor.data.opening import open_samples
from bigtensor.data.samples import Samples
from bigtensor.data.views import Views, ViewsLike
from bigtensor.engine.checkpoint import Checkpoint, content_key
from bigtensor.engine.events import Event, Listener
from bigtensor.engine.plan import PassSize, Plan, PlannedProcesses, Processes, make_plan
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.rowwise import (
    CHUNK_ROWS,
    evaluate_in_memory,
    evaluate_lazily,
    evaluate_to_store,
)
from bigtensor.engine.runtime import Runtime, open_runtime, single_blas_thread
from bigtensor.errors import (
    DataChangedError,
    DataError,
    MissingValueError,
    MissingValueWarning,
)
from bigtensor.statistics.base import Pass, RowFunction
from bigtensor.statistics.validity import Checked, Validity, explain
from bigtensor.store import Contents, write_group

COMPONENT_DIM = "component"
"""The dimension of components in labelled outputs."""

Passes = Generator[Pass[Any], Any, Any]
"""The script of a fit: yields passes, is sent their results, returns the solution."""

__all__ = ["COMPONENT_DIM", "DataShape", "LatentVariableModel", "PassSize", "Passes"]


@dataclass(frozen=True)
class DataShape:
    """What a model may know of the data before it has asked for a pass.

    Attributes
    ----------
    rows : int
    views : tuple of (name, features)
        In the order in which blocks lay them out.
    dtype : str
    has_weight : bool
    """

    rows: int
    views: tuple[tuple[str, tuple[str, ...]], ...]
    dtype: str
    has_weight: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all features, one view beside the other."""
        return tuple(name for _, members in self.views for name in members)


class LatentVariableModel(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all models: a subclass writes its script of passes and what it makes of them."""

    views: ViewsLike | None
    missing: str
    sample_dim: str
    views_: Views
    n_features_in_: int
    diagnostics_: dict[str, Any]

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise a ParameterError for a parameter out of range."""

    @abstractmethod
    def _passes(self, shape: DataShape) -> Passes:
        """Ask for passes, solve between them, and return the solution."""

    @abstractmethod
    def _expected_passes(self, shape: DataShape) -> list[PassSize]:
        """Return upper bounds of what `_passes` will ask for."""

    @abstractmethod
    def _adopt(self, solution: Any) -> None:
        """Set the fitted attributes."""

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
            Not negative. A weight of 2 counts a row twice.
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
        self._check_parameters()
        samples = self._open(X, sample_weight, reset=True)
        with (
            open_runtime(
                client=client, scheduler=scheduler, workers=workers, memory_limit=memory_limit
            ) as runtime,
            self._callback_listener() as callbacks,
        ):
            plan = self._plan(samples, runtime).check()
            store = None if checkpoint is None else _open_checkpoint(checkpoint, samples)
            history: list[Event] = []
            solution = self._drive(samples, runtime, store, (*listeners, history.append, callbacks))
        self._adopt(solution)
        self._remember(samples, plan, history)
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
        self._check_parameters()
        samples = open_samples(X, self.views, sample_dim=self.sample_dim)
        if scheduler == "processes" or (scheduler is None and client is None and workers):
            return self._plan(
                samples, PlannedProcesses(workers or os.cpu_count() or 1, memory_limit)
            )
        with open_runtime(
            client=client, scheduler=scheduler, workers=workers, memory_limit=memory_limit
        ) as runtime:
            return self._plan(samples, runtime)

    def write(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        outputs: Iterable[str] = ("label",),
        overwrite: bool = False,
        client: Any = None,
        scheduler: str | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        listeners: Iterable[Listener] = (),
    ) -> Path:
        """Write answers for every row to a Zarr store, without holding them in memory.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        path : path
            The store to make; it appears under this name when it is whole.
        outputs : iterable of str
            Any of the outputs of the model, such as ``"label"``, ``"probability"`` and
            ``"log_density"``.
        overwrite : bool, default False
            Replace a store of this name.
        client, scheduler, workers, memory_limit, listeners
            As for `fit`.

        Returns
        -------
        Path
        """
        self._require_fitted()
        function = self._row_function(tuple(outputs))
        samples = self._open(X, None, reset=False)
        with open_runtime(
            client=client, scheduler=scheduler, workers=workers, memory_limit=memory_limit
        ) as runtime:
            size = PassSize("predict", 1, samples.rows, 0, _row_nbytes(function))
            make_plan(samples, [size], runtime).check()
            validity = evaluate_to_store(
                samples,
                function,
                runtime,
                Path(path),
                sample_dim=self.sample_dim,
                attrs=self._output_attrs(),
                overwrite=overwrite,
                listeners=listeners,
                check=self._judge_outputs,
            )
        self._warn_of_missing(validity)
        return Path(path)

    @abstractmethod
    def _row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""

    def _evaluate(self, X: Any, output: str) -> Any:
        """Return one output for every row, in the kind of container that ``X`` is."""
        self._require_fitted()
        samples = self._open(X, None, reset=False)
        function = self._row_function((output,))
        labelled = isinstance(X, xr.DataArray | xr.Dataset)
        if _is_lazy(X):
            array: Any = evaluate_lazily(samples, function, missing=self.missing)
        else:
            with open_runtime() as runtime:
                arrays, validity = evaluate_in_memory(samples, function, runtime)
            self._judge_outputs(validity)
            self._warn_of_missing(validity)
            array = arrays[output]
        if not labelled and not isinstance(X, str | os.PathLike):
            return array
        dims = (self.sample_dim, *function.outputs[0].dims)
        coords = _sample_coords(X, self.sample_dim) if labelled else None
        return xr.DataArray(array, coords, dims, name=output, attrs=self._output_attrs())

    def _write_model(
        self, path: str | os.PathLike[str], arrays: Mapping[str, Any], *, overwrite: bool
    ) -> Path:
        """Save parameters, views, diagnostics and fitted arrays."""
        attrs = {
            "parameters": self._plain_parameters(),
            "views": self.views_.as_mapping(),
            "columns": [list(columns) for columns in self.views_.columns],
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(getattr(self, "feature_names_in_", [])),
            "diagnostics": _plain(self.diagnostics_),
        }
        contents = Contents(type(self).__name__, attrs, dict(arrays))
        return write_group(Path(path), contents, overwrite=overwrite)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        """Return the model whose file held these contents."""
        attrs = contents.attrs
        model = cls(**attrs["parameters"])
        model.views_ = Views(
            tuple((name, tuple(members)) for name, members in attrs["views"].items()),
            tuple(tuple(columns) for columns in attrs["columns"]),
        )
        model.n_features_in_ = attrs["n_features_in"]
        if attrs["feature_names_in"]:
            model.feature_names_in_ = np.asarray(attrs["feature_names_in"], dtype=object)
        model.diagnostics_ = attrs["diagnostics"]
        return model._restore(contents.arrays)

    @abstractmethod
    def _restore(self, arrays: dict[str, Any]) -> Self:
        """Set the fitted attributes from the arrays of a saved model."""

    def _require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit."""
        check_is_fitted(self, "views_")

    def _judge_outputs(self, validity: Validity) -> None:
        """Refuse rows that hold missing values, unless they are to be left out."""
        if validity.dropped and self.missing == "raise":
            raise MissingValueError(
                explain(validity, self.views_.feature_names)
                + "; give them values, or use missing='omit' to leave them out"
            )

    def _warn_of_missing(self, validity: Validity) -> None:
        """Say how many rows were left out."""
        if validity.dropped:
            message = explain(validity, self.views_.feature_names)
            warnings.warn(f"{message}; they are left out", MissingValueWarning, stacklevel=3)

    def _open(self, X: Any, sample_weight: Any, *, reset: bool) -> Samples:
        """Describe the data, and check them against those of the fit unless this is one."""
        if not (_is_labelled(X) or isinstance(X, Samples | list | tuple) or _is_lazy(X)):
            validate_data(self, X, reset=reset, skip_check_array=True)
        views = self.views if reset else self.views_.as_mapping()
        samples = open_samples(X, views, sample_dim=self.sample_dim, weight=sample_weight)
        if reset:
            self.views_ = samples.views
            self.n_features_in_ = len(samples.features)
            if _is_labelled(X):
                self.feature_names_in_ = np.asarray(samples.features, dtype=object)
        elif len(samples.features) != self.n_features_in_ and not _is_labelled(X):
            raise DataError(
                f"X has {len(samples.features)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return samples

    def _plan(self, samples: Samples, runtime: Processes) -> Plan:
        """Return the plan of a fit."""
        return make_plan(samples, self._expected_passes(_shape_of(samples)), runtime)

    def _drive(
        self,
        samples: Samples,
        runtime: Runtime,
        checkpoint: Checkpoint | None,
        listeners: tuple[Listener, ...],
    ) -> Any:
        """Run the passes that the script asks for, and send their results back in."""
        script = self._passes(_shape_of(samples))
        stamp, result, warned = samples.stamp(), None, False
        while True:
            with single_blas_thread():
                try:
                    wanted = script.send(result)
                except StopIteration as end:
                    return end.value
            checked = replace(wanted, statistic=Checked(wanted.statistic))
            validity, result = run_pass(
                samples, checked, runtime, checkpoint=checkpoint, listeners=listeners
            )
            if samples.stamp() != stamp:
                raise DataChangedError(
                    f"{samples.describe()} changed while it was read; fit again when nothing "
                    "writes to it"
                )
            self._judge_outputs(validity)
            if validity.dropped and wanted.rows is None and not warned:
                warned = True
                self._warn_of_missing(validity)

    def _remember(self, samples: Samples, plan: Plan, history: list[Event]) -> None:
        """Set what is known of the run after a fit."""
        finished = [event for event in history if event.kind == "pass finished"]
        self.diagnostics_["data"] = samples.describe()
        self.diagnostics_["rows"] = samples.rows
        self.diagnostics_["plan"] = {
            key: value for key, value in asdict(plan).items() if key != "passes"
        }
        self.diagnostics_["passes"] = [
            {
                "name": event.name,
                "rows": event.total_rows,
                "parts": event.total_parts,
                "reused_parts": event.reused,
            }
            for event in finished
        ]

    def _output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""
        return {
            "software": "bigtensor",
            "version": __version__,
            "model": type(self).__name__,
            "views": self.views_.as_mapping(),
            "parameters": self._plain_parameters(),
        }

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON holds them."""
        return {name: _plain(value) for name, value in self.get_params(deep=False).items()}

    @contextmanager
    def _callback_listener(self) -> Iterator[Listener]:
        """Turn events into scikit-learn's callback hooks: a task a pass, a subtask a part."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        running: dict[str, Any] = {}

        def listen(event: Event) -> None:
            if event.kind == "pass started":
                running["pass"] = context.subcontext(
                    task_name=event.name, max_subtasks=event.total_parts
                ).call_on_fit_task_begin(estimator=self)
            elif event.kind == "part finished":
                part = running["pass"].subcontext(task_name="part")
                part.call_on_fit_task_begin(estimator=self).call_on_fit_task_end(estimator=self)
            else:
                running["pass"].call_on_fit_task_end(estimator=self)

        yield listen
        context.call_on_fit_task_end(estimator=self)


def _shape_of(samples: Samples) -> DataShape:
    """Return what a model may know of the samples."""
    return DataShape(samples.rows, samples.views.features, str(samples.dtype), samples.has_weight)


def _open_checkpoint(checkpoint: str | os.PathLike[str], samples: Samples) -> Checkpoint:
    """Return the checkpoint for these samples and views."""
    return Checkpoint(os.fspath(checkpoint), content_key((samples.fingerprint(), samples.views)))


def _is_lazy(X: Any) -> bool:
    """Whether the answer should be lazy: a graph, or a store that is read when needed."""
    if isinstance(X, xr.Dataset):
        return bool(X.chunks)
    if isinstance(X, xr.DataArray):
        return X.chunks is not None
    return hasattr(X, "__dask_graph__") or isinstance(X, str | os.PathLike)


def _is_labelled(X: Any) -> bool:
    """Whether features go by name whatever their order."""
    return isinstance(X, xr.DataArray | xr.Dataset | str | os.PathLike)


def _sample_coords(X: xr.DataArray | xr.Dataset, sample_dim: str) -> Mapping[Any, xr.DataArray]:
    """Return the coordinates along the samples."""
    return {name: coord for name, coord in X.coords.items() if coord.dims == (sample_dim,)}


def _plain(value: Any) -> Any:
    """Return a parameter as JSON holds it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    return value


def _row_nbytes(function: RowFunction) -> int:
    """Return the bytes that a task of a row function holds."""
    rows = sum(
        int(np.prod([*output.dims.values(), 1])) * np.dtype(output.dtype).itemsize
        for output in function.outputs
    )
    return 2 * CHUNK_ROWS * rows + function.work_nbytes(function.block_rows)
