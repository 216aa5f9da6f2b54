"""Information criteria of mixtures, which weigh a likelihood against the number of parameters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from bigtensor.models.mixture import MixtureAnswers


class InformationCriteria(MixtureAnswers):
    """Base of mixtures with a number of free parameters."""

    def aic(self, X: Any) -> float:
        """Return the information criterion of Akaike for some rows; less is better.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        """
        return 2.0 * self._free_parameters() - 2.0 * self._log_likelihood(X)[0]

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion for some rows; less is better.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        """
        likelihood, rows = self._log_likelihood(X)
        return float(np.log(rows)) * self._free_parameters() - 2.0 * likelihood

    @abstractmethod
    def _free_parameters(self) -> int:
        """Return the number of free parameters."""

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Return the log-likelihood of some rows, and how many were scored."""
        scores = np.asarray(self.score_samples(X), np.float64)
        kept = scores[~np.isnan(scores)]
        return float(kept.sum()), len(kept)
