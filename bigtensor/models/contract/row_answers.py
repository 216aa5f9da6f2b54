"""Answers for every row: labels, probabilities, densities, in the container that the data are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from bigtensor.data.addresses.store_address import Address, as_address, inside
from bigtensor.data.exporters.answered_rows import ROWS_DIGEST, rows_digest
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.lazy_arrays import LazyArray
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.answers_to_store import chunk_rows, evaluate_to_store
from bigtensor.engine.events import Listener
from bigtensor.engine.lazy_answers import evaluate_lazily
from bigtensor.engine.plan import PassSize, make_plan
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import DataError
from bigtensor.models.contract.containers import RowAnswer, is_labelled, is_lazy, labelled_answer
from bigtensor.models.contract.run import WhereOptions, judge, warn_of_missing
from bigtensor.statistics.base import RowFunction, SequenceFunction
from bigtensor.statistics.validity import Validity


class AnswersRows(Protocol):
    """A fitted model that answers for every row."""

    missing: str
    sample_dim: str

    @property
    def views_(self) -> Views:
        """Views of the fit."""

    @property
    def marginalises(self) -> bool:
        """True if the model can use the other entries of rows with missing ones."""

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""

    def warn_of_rows(self, samples: Samples) -> None:
        """Warn of rows that the model does not suit. Most models have no warning."""

    def output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""

    def store_attrs(self) -> dict[str, Any]:
        """Return the attributes of a Zarr store of answers."""

    def attributes_of_output(self, output: str) -> dict[str, Any]:
        """Return further attributes of one output."""


def answer_as_given(
    model: AnswersRows,
    X: DataLike,
    samples: Samples,
    output: str,
    function: RowFunction,
    *,
    missing: str | None = None,
) -> RowAnswer:
    """Return one output for every row, in the kind of container that ``X`` is.

    Parameters
    ----------
    model : fitted model
        Model that answers.
    X : path, xarray, AnnData, dask array, array-like, or a list of these
        The data as they were given.
    samples : Samples
        The same data, opened.
    output : str
        Name of the output.
    function : RowFunction
        Function that gives the output.
    missing : {"raise", "omit", "marginalise"}, optional
        Rule for rows with missing values; by default that of the model.
    """
    if is_lazy(X):
        lazy = evaluate_lazily(samples, function, missing=missing or model.missing)
        # Dask wraps map_blocks, which mypy therefore takes for a function without self
        array: LazyArray | NDArray[Any] = cast("LazyArray", lazy)
    else:
        array = answers_in_memory(model, samples, function, missing=missing)[output]
    if not is_labelled(X) or isinstance(X, list | tuple):
        return array
    # rows of these data with other values, such as imputed ones, have the dimensions of the data
    names = {FEATURE_DIM: samples.feature_dim}
    dims = (model.sample_dim, *(names.get(dim, dim) for dim in function.outputs[0].dims))
    # NetCDF files hold no mappings
    own = {
        name: json.dumps(value) if isinstance(value, Mapping) else value
        for name, value in model.attributes_of_output(output).items()
    }
    attrs = {**model.output_attrs(), **own}
    return labelled_answer(X, array, dims, output, attrs)


def answers_in_memory(
    model: AnswersRows, samples: Samples, function: RowFunction, *, missing: str | None = None
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a row function as arrays, from one evaluation of the rows.

    Parameters
    ----------
    model : fitted model
        Model that answers.
    samples : Samples
        Opened data.
    function : RowFunction
        Function of the rows.
    missing : {"raise", "omit", "marginalise"}, optional
        Rule for rows with missing values; by default that of the model.
    """
    missing = missing or model.missing
    with open_runtime(remote=samples.is_remote) as runtime:
        arrays, validity = evaluate_in_memory(
            samples, function, runtime, marginalised=missing == MARGINALISE
        )
    judge(validity, samples, missing, marginalises=_marginalises(model, function))
    # after the rows: a store that cannot be read is an error of the evaluation
    model.warn_of_rows(samples)
    warn_of_missing(validity, samples.views, function.complete)
    return arrays


def write_answers(
    model: AnswersRows,
    samples: Samples,
    outputs: tuple[str, ...],
    path: str | os.PathLike[str],
    *,
    into: str | None,
    overwrite: bool,
    listeners: Iterable[Listener],
    where: WhereOptions,
) -> Address:
    """Write answers for every row to a Zarr store, without holding them in memory.

    Parameters
    ----------
    model : fitted model
        Model that answers.
    samples : Samples
        Opened data.
    outputs : tuple of str
        Names of the outputs.
    path, into, overwrite, listeners
        As for `Estimator.write`.
    where : WhereOptions
        Workers, as `bigtensor.engine.runtime.open_runtime` takes them.
    """
    function = model.row_function(outputs)
    if into is not None:
        _check_rows(model, samples, os.fspath(path))

    def check(validity: Validity) -> None:
        judge(validity, samples, model.missing, marginalises=_marginalises(model, function))

    attrs = model.store_attrs()
    digest = rows_digest(samples, model.views_.feature_names)
    if digest is not None:
        attrs[ROWS_DIGEST] = digest
    tasks = -(-samples.source_rows // chunk_rows(function))
    with open_runtime(**where, tasks=tasks, remote=samples.is_remote) as runtime:
        make_plan(samples, _sizes(function, samples.rows), runtime).check()
        validity = evaluate_to_store(
            samples,
            function,
            runtime,
            path,
            marginalised=model.missing == MARGINALISE,
            sample_dim=model.sample_dim,
            attrs=attrs,
            array_attrs={name: model.attributes_of_output(name) for name in outputs},
            into=into,
            overwrite=overwrite,
            listeners=listeners,
            check=check,
        )
    warn_of_missing(validity, samples.views, function.complete)
    model.warn_of_rows(samples)
    store = as_address(path)
    return store if into is None else inside(store, into)


def _marginalises(model: AnswersRows, function: RowFunction) -> bool:
    """Return True if the function can use the other entries of rows with missing ones."""
    return model.marginalises and not function.complete.columns


def _check_rows(model: AnswersRows, samples: Samples, path: str) -> None:
    """Refuse a store of other rows as the place of the answers."""
    rows = open_samples(path, sample_dim=model.sample_dim).rows
    answered = samples.source_rows
    if rows != answered:
        raise DataError(
            f"{path} has {rows:,} rows and X has {answered:,}; write answers into the store that "
            "holds their rows"
        )


def _sizes(function: RowFunction, rows: int) -> list[PassSize]:
    """Return the bytes that the passes of a row function read and hold."""
    sizes = [PassSize("predict", 1, rows, 0, _task_nbytes(function))]
    if isinstance(function, SequenceFunction):
        operators = function.operators(-(-rows // function.block_rows))
        held, work = operators.state_nbytes(), operators.work_nbytes(function.block_rows)
        sizes.insert(0, PassSize("messages", 1, rows, held, work))
    return sizes


def _task_nbytes(function: RowFunction) -> int:
    """Return the bytes that a task of a row function holds."""
    outputs = chunk_rows(function) * function.row_nbytes
    return 2 * outputs + function.work_nbytes(function.block_rows)
