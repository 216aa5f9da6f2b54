"""Data given view by view: a mapping or a list of arrays with the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import xarray as xr

from bigtensor.data.rows.sample_weights import with_meaning
from bigtensor.data.rows.samples import Samples
from bigtensor.errors import DataError, ViewError
from bigtensor.models.contract.latent_variable_model import LatentVariableModel
from bigtensor.models.contract.run import RunOptions


class ViewTables(LatentVariableModel):
    """A model whose data may come view by view, to `fit` and to every answer."""

    def _open(
        self, X: Any, sample_weight: Any, sequence: Any = None, groups: Any = None
    ) -> Samples:
        """Describe the data of a fit, which may come view by view."""
        if self.views is not None or not is_by_view(X):
            return super()._open(X, sample_weight, sequence, groups)
        self._check_parameters()
        table, views = side_by_side(X)
        samples = self._taken(
            table, views, sample_dim=self.sample_dim, weight=sample_weight, groups=groups
        )
        return with_meaning(samples, self.weights)

    def _fit_to(self, X: Any, samples: Samples, **options: Unpack[RunOptions]) -> Self:
        """Fit the model to data that are opened."""
        if not is_by_view(X):
            return super()._fit_to(X, samples, **options)
        super()._fit_to(samples, samples, **options)
        del self.feature_names_in_  # the columns of a view have no names
        return self

    def _open_again(self, X: Any, *args: Any, **options: Any) -> Samples:
        """Describe data with the features of the fit, which may come view by view."""
        if is_by_view(X):
            X, _ = side_by_side(X, self.views_.names)
        return super()._open_again(X, *args, **options)


def is_by_view(X: Any) -> bool:
    """Return True for a mapping of arrays, or a list of three two-dimensional arrays."""
    if isinstance(X, Mapping):
        # a sparse matrix of keys is a mapping too
        return not isinstance(X, xr.Dataset) and not hasattr(X, "tocsr")
    of_three = isinstance(X, list | tuple) and len(X) == 3
    return of_three and all(isinstance(part, np.ndarray) and part.ndim == 2 for part in X)


def side_by_side(X: Any, names: Sequence[str] | None = None) -> tuple[Any, dict[str, list[int]]]:
    """Return one table of views, and the columns of every view in it.

    Parameters
    ----------
    X : mapping of str to (rows, features) array-like, or list of three arrays
        Views of a list are ``view1``, ``view2`` and ``view3``. Lazy arrays stay lazy.
    names : sequence of str, optional
        Views of the fit, in their order.

    Raises
    ------
    ViewError
        When a view of the fit is missing, or there is another one.
    DataError
        When a view has no two dimensions, or views have different numbers of rows.
    """
    named = (
        X if isinstance(X, Mapping) else {f"view{v + 1}": columns for v, columns in enumerate(X)}
    )
    if names is not None and set(names) != set(named):
        raise ViewError(
            f"X has the views {', '.join(map(repr, named))}, but the model was fitted on "
            f"{', '.join(map(repr, names))}"
        )
    order = list(named) if names is None else list(names)
    tables = [_table(name, named[name]) for name in order]
    rows = {name: len(table) for name, table in zip(order, tables, strict=True)}
    if len(set(rows.values())) > 1:
        counts = ", ".join(f"{name!r} {count:,}" for name, count in rows.items())
        raise DataError(f"views have different numbers of rows ({counts}); every row has all views")
    columns, start = {}, 0
    for name, table in zip(order, tables, strict=True):
        columns[str(name)] = list(range(start, start + table.shape[1]))
        start += table.shape[1]
    return np.concatenate(tables, axis=1), columns


def _table(name: str, values: Any) -> Any:
    """Return the values of a view as a two-dimensional array, lazy where they are lazy."""
    if isinstance(values, xr.DataArray):
        values = values.data
    if not hasattr(values, "__array_function__"):
        values = np.asarray(values)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise DataError(
            f"the view {name!r} has {values.ndim} dimensions; expected (rows, features)"
        )
    return values
