"""Answers for every row: labels, probabilities, densities, in the container that the data are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bigtensor._version import __version__
from bigtensor.data.addresses.store_address import Address, as_address, inside
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.code_maps import Categories
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views, ViewsLike
from bigtensor.data.values.kinds import Kind
from bigtensor.data.values.matrices import is_lazy_table
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.data.values.random_states import RandomState, integer_seed, is_drawn_from
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.answers_to_store import CHUNK_ROWS, evaluate_to_store
from bigtensor.engine.clusters.connection import Connection
from bigtensor.engine.events import Listener
from bigtensor.engine.lazy_answers import evaluate_lazily
from bigtensor.engine.plan import PassSize, make_plan
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import DataError, ViewError
from bigtensor.models.contract.containers import is_labelled, is_lazy, labelled_answer
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import plain
from bigtensor.models.contract.run import judge, warn_of_missing, warn_of_unknown_categories
from bigtensor.statistics.base import RowFunction, SequenceFunction
from bigtensor.statistics.validity import Validity


class RowAnswers(BaseEstimator, ABC):  # type: ignore[misc]
    """Answers of a fitted model for rows, one by one.

    Attributes
    ----------
    takes : Data
        Data that the model takes.
    """

    takes: ClassVar[Data]
    missing: str
    sample_dim: str
    random_state: RandomState
    views_: Views
    n_features_in_: int
    categories_: dict[str, tuple[str, ...]]
    """Names of the codes of every feature; only of models of codes."""

    _fitted: Any = None
    """Result of the script of the fit; None before."""

    _drawn_seed: int = 0
    """Seed of the last fit, where `random_state` is a RandomState or Generator."""

    @abstractmethod
    def _row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""

    def write(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        outputs: Iterable[str] | None = None,
        into: str | None = None,
        overwrite: bool = False,
        client: Any = None,
        scheduler: str | Connection | None = None,
        workers: int | None = None,
        memory_limit: str | int | None = None,
        wait_for_workers: str | float | None = None,
        listeners: Iterable[Listener] = (),
    ) -> Address:
        """Write answers for every row to a Zarr store, without holding them in memory.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        path : path or URL
            Store to make, which appears under this name when it is whole. With `into`, an existing
            store of samples, such as ``X`` itself.
        outputs : iterable of str, optional
            Any of the outputs of the model, such as ``"label"``, ``"probability"`` and
            ``"log_density"``. By default the usual ones: labels, sources or log-densities.
        into : str, optional
            Write the answers into a group of this name inside the store at `path`, which
            ``xarray.open_zarr(path, group=into)`` reads. No array of the store is touched.
        overwrite : bool, default False
            Replace a store of this name, or answers in a group of this name.
        client, scheduler, workers, memory_limit, wait_for_workers, listeners
            As for `fit`.

        Returns
        -------
        Path or str
            Of the answers. A URL stays a string.

        Raises
        ------
        OutputError
            When the target exists, or cannot be written.
        DataError
            When the store at `path` has another number of rows than ``X``.
        """
        self._require_fitted()
        names = self.description.row_outputs(self) if outputs is None else tuple(outputs)
        function = self._row_function(names)
        samples = self._open_again(X)
        if into is not None:
            self._check_rows(samples, os.fspath(path))
        with open_runtime(
            client=client,
            scheduler=scheduler,
            workers=workers,
            memory_limit=memory_limit,
            wait_for_workers=wait_for_workers,
            tasks=-(-samples.rows // CHUNK_ROWS),
            remote=samples.is_remote,
        ) as runtime:
            make_plan(samples, _sizes(function, samples.rows), runtime).check()
            validity = evaluate_to_store(
                samples,
                function,
                runtime,
                path,
                marginalised=self.missing == MARGINALISE,
                sample_dim=self.sample_dim,
                attrs=self._output_attrs(),
                into=into,
                overwrite=overwrite,
                listeners=listeners,
                check=lambda validity: judge(validity, samples, self.missing),
            )
        warn_of_missing(validity, samples.views)
        store = as_address(path)
        return store if into is None else inside(store, into)

    def _check_rows(self, samples: Samples, path: str) -> None:
        """Refuse a store of other rows as the place of the answers."""
        held = open_samples(path, sample_dim=self.sample_dim)
        if held.rows != samples.rows:
            raise DataError(
                f"{path} has {held.rows:,} rows and X has {samples.rows:,}; write answers into the "
                "store that holds their rows"
            )

    def _evaluate(
        self,
        X: Any,
        output: str,
        function: RowFunction | None = None,
        unseen: frozenset[str] = frozenset(),
        *,
        sequence: Any = None,
    ) -> Any:
        """Return one output for every row, in the kind of container that ``X`` is.

        The function is the model's own unless another one is given; views that are not to be seen
        may be missing.
        """
        self._require_fitted()
        samples = self._open_again(X, unseen, sequence=sequence)
        function = self._row_function((output,)) if function is None else function
        if is_lazy(X):
            array: Any = evaluate_lazily(samples, function, missing=self.missing)
        else:
            arrays, validity = self._evaluate_in_memory(samples, function)
            warn_of_missing(validity, samples.views)
            array = arrays[output]
        if not is_labelled(X) or isinstance(X, list | tuple):
            return array
        dims = (self.sample_dim, *function.outputs[0].dims)
        return labelled_answer(X, array, dims, output, self._output_attrs())

    def _evaluate_together(self, X: Any, outputs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        """Return several outputs for every row as arrays, from one evaluation of the rows."""
        self._require_fitted()
        samples = self._open_again(X)
        arrays, validity = self._evaluate_in_memory(samples, self._row_function(outputs))
        warn_of_missing(validity, samples.views)
        return arrays

    def _evaluate_in_memory(
        self, samples: Samples, function: RowFunction
    ) -> tuple[dict[str, NDArray[Any]], Validity]:
        """Return the outputs of a row function, and the invalid rows after judging them."""
        with open_runtime(remote=samples.is_remote) as runtime:
            arrays, validity = evaluate_in_memory(
                samples, function, runtime, marginalised=self.missing == MARGINALISE
            )
        judge(validity, samples, self.missing)
        return arrays, validity

    def __sklearn_is_fitted__(self) -> bool:
        """Return True if the model can answer. A prepared one knows its views only."""
        return self._fitted is not None

    def _require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit."""
        check_is_fitted(self)

    def _taken(self, X: Any, views: ViewsLike | None = None, **options: Any) -> Samples:
        """Describe data as `open_samples` does, refusing kinds that the model does not take."""
        samples = open_samples(X, views, **options)
        return self.takes.check(samples, type(self).__name__, prefer=self._preferred_kind)

    @property
    def _preferred_kind(self) -> Kind | None:
        """Kind that whole numbers are converted to. None leaves the choice to the data."""
        return None

    def _open_again(
        self,
        X: Any,
        unseen: frozenset[str] = frozenset(),
        *,
        sample_weight: Any = None,
        sequence: Any = None,
    ) -> Samples:
        """Describe data that have to have the features of the fit, but for views not to be seen.

        Labelled features are found by name, in any order, if the features of the fit had
        names; all others by their position.
        """
        if is_plain(X) and _dimensions(X) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._with_features_of_fit(X, unseen, sample_weight, sequence)

    def _with_groups(self, X: Any, by: Any) -> Samples:
        """Describe data for a fitted model, with the group of every row.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array or array-like, or a list of these
            Rows to answer for.
        by : str, or (rows,) array-like
            Variable along the samples, or the group of every row.
        """
        self._require_fitted()
        samples = self._taken(X, sample_dim=self.sample_dim, groups=by)
        # features by name or by position, and codes of the fit, as for every other answer
        opened = self._open_again(samples if is_named(X) else X)
        return replace(samples, views=opened.views, code_map=opened.code_map)

    def _with_features_of_fit(
        self,
        X: Any,
        unseen: frozenset[str] = frozenset(),
        sample_weight: Any = None,
        sequence: Any = None,
    ) -> Samples:
        """Return data with the views of the fit, without scikit-learn's rules for data frames."""
        named = is_named(X) and hasattr(self, "feature_names_in_")
        by_position = dict(zip(self.views_.names, self.views_.columns, strict=True))
        views = self.views_.as_mapping() if named else by_position
        try:
            samples = open_samples(
                X,
                {name: members for name, members in views.items() if name not in unseen},
                sample_dim=self.sample_dim,
                weight=sample_weight,
                sequence=sequence,
            )
        except ViewError as error:
            raise ViewError(
                f"X lacks features of the fit: {error}. {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            ) from error
        if not named and len(samples.features) != self.n_features_in_:
            raise DataError(
                f"X has {len(samples.features)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self._as_in_fit(samples, named=named)

    def _as_in_fit(self, samples: Samples, *, named: bool) -> Samples:
        """Return samples with the kind of values of the fit, and with its codes.

        Categories are matched by name. Codes without names are taken for the codes of the fit.
        """
        fit_categories: Categories | None = getattr(self, "categories_", None)
        if fit_categories is not None and not named:
            fit_categories = dict(zip(samples.features, fit_categories.values(), strict=True))
        fitted_to: Kind = "measured" if fit_categories is None else "codes"
        prefer = fitted_to if fitted_to in self.takes.kinds else None
        samples = self.takes.check(
            samples, type(self).__name__, prefer=prefer, fit_categories=fit_categories
        )
        own = samples.categories
        if fit_categories is None or own is None:
            return samples
        samples = samples.with_categories(
            {name: fit_categories.get(name, own[name]) for name in own}
        )
        warn_of_unknown_categories(samples)
        return samples

    @property
    def _seed(self) -> int:
        """Integer seed of the random choices.

        If `random_state` is a RandomState or Generator, it is the seed that the last fit drew, and
        0 before a fit.
        """
        state = self.random_state
        return self._drawn_seed if is_drawn_from(state) else integer_seed(state)

    def _generator(self, random_state: RandomState = None) -> np.random.Generator:
        """Return the generator of a draw. None stands for the seed of the model."""
        seed = self._seed if random_state is None else integer_seed(random_state)
        return np.random.default_rng(seed)

    def _parameters_of_fit(self) -> dict[str, Any]:
        """Return the parameters, with the integer seed in place of a RandomState or Generator."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        if is_drawn_from(self.random_state):
            parameters["random_state"] = self._seed
        return parameters

    def _output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""
        return {
            "software": "bigtensor",
            "version": __version__,
            "model": type(self).__name__,
            "views": self.views_.as_mapping(),
            "parameters": plain(self._parameters_of_fit()),
        }


def is_named(X: Any) -> bool:
    """Return True if features are found by name."""
    return is_labelled(X) or isinstance(X, Samples) or is_lazy_table(X)


def is_plain(X: Any) -> bool:
    """Return True if scikit-learn's own rules for arrays and data frames hold."""
    return not (is_named(X) or is_lazy(X) or isinstance(X, list | tuple))


def _dimensions(X: Any) -> int:
    """Return the number of dimensions of an array-like."""
    return len(X.shape) if hasattr(X, "shape") else np.asarray(X).ndim


def _sizes(function: RowFunction, rows: int) -> list[PassSize]:
    """Return the bytes that the passes of a row function read and hold."""
    sizes = [PassSize("predict", 1, rows, 0, _row_nbytes(function))]
    if isinstance(function, SequenceFunction):
        operators = function.operators(-(-rows // function.block_rows))
        held, work = operators.state_nbytes(), operators.work_nbytes(function.block_rows)
        sizes.insert(0, PassSize("messages", 1, rows, held, work))
    return sizes


def _row_nbytes(function: RowFunction) -> int:
    """Return the bytes that a task of a row function holds."""
    rows = sum(
        int(np.prod([*output.dims.values(), 1])) * np.dtype(output.dtype).itemsize
        for output in function.outputs
    )
    return 2 * CHUNK_ROWS * rows + function.work_nbytes(function.block_rows)
