"""Answers for every row: labels, probabilities, densities, in the container that the data are."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bigtensor._version import __version__
from bigtensor.data.anndata_source import is_anndata
from bigtensor.data.matrices import is_lazy_table
from bigtensor.data.opening import open_samples
from bigtensor.data.samples import Samples
from bigtensor.data.views import Views
from bigtensor.engine.events import Listener
from bigtensor.engine.opening import open_runtime
from bigtensor.engine.plan import PassSize, make_plan
from bigtensor.engine.rowwise import (
    CHUNK_ROWS,
    evaluate_in_memory,
    evaluate_lazily,
    evaluate_to_store,
)
from bigtensor.errors import DataError, MissingValueError, MissingValueWarning, ViewError
from bigtensor.models.containers import is_labelled, is_lazy, labelled_answer
from bigtensor.models.parameters import plain
from bigtensor.statistics.base import RowFunction
from bigtensor.statistics.validity import Validity, explain


class RowAnswers(BaseEstimator, ABC):  # type: ignore[misc]
    """The half of a fitted model that looks at rows one by one."""

    missing: str
    sample_dim: str
    views_: Views
    n_features_in_: int

    @abstractmethod
    def _row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""

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
        samples = self._open_again(X)
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
                check=lambda validity: self._judge(validity, samples.views),
            )
        self._warn_of_missing(validity, samples.views)
        return Path(path)

    def _evaluate(
        self,
        X: Any,
        output: str,
        function: RowFunction | None = None,
        unseen: frozenset[str] = frozenset(),
    ) -> Any:
        """Return one output for every row, in the kind of container that ``X`` is.

        The function is the model's own unless another one is given; views that are not to be seen
        may be missing.
        """
        self._require_fitted()
        samples = self._open_again(X, unseen)
        function = self._row_function((output,)) if function is None else function
        if is_lazy(X):
            array: Any = evaluate_lazily(samples, function, missing=self.missing)
        else:
            with open_runtime() as runtime:
                arrays, validity = evaluate_in_memory(samples, function, runtime)
            self._judge(validity, samples.views)
            self._warn_of_missing(validity, samples.views)
            array = arrays[output]
        if not is_labelled(X) or isinstance(X, list | tuple):
            return array
        dims = (self.sample_dim, *function.outputs[0].dims)
        return labelled_answer(X, array, dims, output, self._output_attrs())

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model can answer: a prepared one knows its views, but no components yet."""
        return hasattr(self, "weights_")

    def _require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit."""
        check_is_fitted(self)

    def _judge(self, validity: Validity, views: Views) -> None:
        """Refuse bad weights, and missing values unless they are to be left out."""
        if validity.bad_weights:
            raise DataError(
                explain(validity, views.feature_names)
                + "; sample weights have to be zero or positive: scale large ones so that they add "
                "up to the number of rows"
            )
        if validity.dropped and self.missing == "raise":
            raise MissingValueError(
                explain(validity, views.feature_names)
                + "; give them values, or use missing='omit' to leave them out"
            )

    def _warn_of_missing(self, validity: Validity, views: Views) -> None:
        """Say how many rows were left out."""
        if validity.dropped:
            message = explain(validity, views.feature_names)
            warnings.warn(f"{message}; they are left out", MissingValueWarning, stacklevel=4)

    def _open_again(self, X: Any, unseen: frozenset[str] = frozenset()) -> Samples:
        """Describe data that have to have the features of the fit, but for views not to be seen.

        Labelled features are found by name, whatever their order, where those of the fit had
        names; all others by their position.
        """
        if is_plain(X) and np.ndim(X) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        named = is_named(X) and hasattr(self, "feature_names_in_")
        by_position = dict(zip(self.views_.names, self.views_.columns, strict=True))
        views = self.views_.as_mapping() if named else by_position
        try:
            samples = open_samples(
                X,
                {name: members for name, members in views.items() if name not in unseen},
                sample_dim=self.sample_dim,
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
        return samples

    def _output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""
        return {
            "software": "bigtensor",
            "version": __version__,
            "model": type(self).__name__,
            "views": self.views_.as_mapping(),
            "parameters": plain(self.get_params(deep=False)),
        }


def is_named(X: Any) -> bool:
    """Whether features go by name, whatever their order."""
    return is_labelled(X) or isinstance(X, Samples) or is_anndata(X) or is_lazy_table(X)


def is_plain(X: Any) -> bool:
    """Whether scikit-learn's own rules for arrays and data frames hold."""
    return not (is_named(X) or is_lazy(X) or isinstance(X, list | tuple))


def _row_nbytes(function: RowFunction) -> int:
    """Return the bytes that a task of a row function holds."""
    rows = sum(
        int(np.prod([*output.dims.values(), 1])) * np.dtype(output.dtype).itemsize
        for output in function.outputs
    )
    return 2 * CHUNK_ROWS * rows + function.work_nbytes(function.block_rows)
