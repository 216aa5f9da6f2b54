"""Answers of every transform: sources of rows, and rows from sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.rows.views import Views
from bigtensor.errors import DataError
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.parameters import check_choice
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.description import ModelDescription
from bigtensor.statistics.base import RowFunction
from bigtensor.statistics.sources.linear_sources import SOURCE


class FittedTransform(Protocol):
    """Contract of the solution of a transform."""

    @property
    def n_components(self) -> int:
        """Number of sources k."""

    def sources(self) -> RowFunction:
        """Return the function that gives the sources of every row."""


class FittedMixing(FittedTransform, Protocol):
    """Contract of the solution of a transform from whose sources rows can be made again."""

    @property
    def mixing(self) -> NDArray[np.float64]:
        """Change of the features with every source, (d, k)."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """Row without sources, (d,)."""


class TransformAnswers(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    Estimator,
):
    """Base of transforms: hidden sources of every row."""

    description: ClassVar[ModelDescription[Any]] = ModelDescription()

    solution_: FittedTransform

    def transform(self, X: DataLike) -> RowAnswer:
        """Return the sources of every row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.

        Returns
        -------
        (rows, k) array, DataArray or dask array
            In the kind of container of ``X`` and the dtype of the fit, lazy if ``X`` is lazy. Rows
            that were left out have NaN.
        """
        return self.row_output(X, SOURCE)

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""
        for output in outputs:
            check_choice("outputs", output, (SOURCE,))
        return self._transform().sources()

    @property
    def _n_features_out(self) -> int:
        """Number of sources, for the names that scikit-learn gives them."""
        return self._transform().n_components

    def _transform(self) -> FittedTransform:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_


class MixesSources(Protocol):
    """A fitted transform from whose sources rows can be made again."""

    views_: Views
    feature_dim_: str
    solution_: FittedMixing

    def require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit."""


def inverse_transform(self: MixesSources, sources: Any) -> Any:
    """Return the rows that sources make, without noise. Models of mixed sources take it as method.

    Parameters
    ----------
    sources : (rows, k) array-like, DataArray or dask array
        As `transform` returns them, with dimensions of any names.

    Returns
    -------
    (rows, d) array, DataArray or dask array
        In the kind of container of the sources, with the features of the views in their order. A
        DataArray has the dimension of the features of the fit, and their names as its coordinate.

    Raises
    ------
    DataError
        When there are not as many sources as components.
    """
    self.require_fitted()
    solution = self.solution_
    array = sources if hasattr(sources, "dtype") else np.asarray(sources)
    if len(array.shape) != 2 or array.shape[1] != solution.n_components:
        raise DataError(
            f"the sources have shape {tuple(array.shape)}; expected (rows, "
            f"{solution.n_components}), as transform returns them"
        )
    dtype = array.dtype if np.issubdtype(array.dtype, np.floating) else np.dtype("float64")
    mixing, mean = solution.mixing.astype(dtype), solution.mean.astype(dtype)
    if not isinstance(array, xr.DataArray):
        return array @ mixing.T + mean
    sample_dim, source_dim = array.dims
    coords = {
        **array.isel({source_dim: 0}, drop=True).coords,
        self.feature_dim_: list(self.views_.feature_names),
    }
    rows = array.data @ mixing.T + mean
    return xr.DataArray(rows, coords, (sample_dim, self.feature_dim_), name="X")


class DescribedTransform(DescribedModel, Protocol):
    """Attributes of any transform that a description uses."""

    @property
    def solution_(self) -> FittedTransform:
        """Result of the fit."""


Transform = TypeVar("Transform", bound=DescribedTransform, contravariant=True)
"""Fitted transform with the attributes that a description uses."""


class TransformDescription(ModelDescription[Transform]):
    """Facts and words on any transform."""

    row_answer = SOURCE

    def facts(self, model: Transform) -> dict[str, Any]:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["n_components"] = model.solution_.n_components
        return facts

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the number of sources in words.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        k = facts.get("n_components")
        return "" if k is None else f"{k} source{'s' * (k > 1)}"
