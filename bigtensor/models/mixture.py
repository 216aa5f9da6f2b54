"""What every mixture answers: labels, probabilities and log-densities of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import DensityMixin

from bigtensor.errors import DataError
from bigtensor.models.weights_by import WeightsByGroup


class LatentMixture(DensityMixin, WeightsByGroup):  # type: ignore[misc]
    """Base of mixtures: a hidden label for every row, with a probability."""

    def predict(self, X: Any) -> Any:
        """Return the most probable component of every row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.

        Returns
        -------
        (rows,) int32 array, DataArray or dask array
            The kind of container that ``X`` is, lazy where ``X`` is; -1 for rows left out.
        """
        return self._evaluate(X, "label")

    def predict_proba(self, X: Any) -> Any:
        """Return the posterior probability of every component: ``(rows, k)`` float32.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        """
        return self._evaluate(X, "probability")

    def score_samples(self, X: Any) -> Any:
        """Return the log-density of every row, in nats: ``(rows,)`` float64.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        """
        return self._evaluate(X, "log_density")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-density of the rows, in nats; rows left out do not count.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        y : ignored
        sample_weight : (rows,) array-like, optional
            Not negative; weights that are stored with the data are not used here.

        Raises
        ------
        DataError
            When no row is left to score.
        """
        scores = np.asarray(self.score_samples(X))
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight)
        kept = ~np.isnan(scores)
        if not weight[kept].sum() > 0:
            raise DataError("no row with a positive weight can be scored: all were left out")
        return float(np.average(scores[kept], weights=weight[kept]))

    def fit_predict(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Fit the model and return the label of every row."""
        return self.fit(X, y, **fit_parameters).predict(X)
