"""Information criteria of mixtures, which weigh a likelihood against the number of parameters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from bigtensor.data.rows.sample_weights import with_meaning
from bigtensor.models.answers.density import score_sums
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.statistics.score_sums import ScoreSumsResult


class InformationCriteria(MixtureAnswers):
    """Base of mixtures with a number of free parameters."""

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the information criterion of Akaike for some rows; less is better.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        sample_weight : (rows,) array-like, optional
            Weights of the rows in the meaning of the parameter `weights`, by default those that are
            stored with the data.
        """
        return 2.0 * self._free_parameters() - 2.0 * self._log_likelihood(X, sample_weight).total

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Bayesian information criterion for some rows; less is better.

        The number of rows in it is the sum of their weights.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        sample_weight : (rows,) array-like, optional
            As for `aic`.
        """
        likelihood = self._log_likelihood(X, sample_weight)
        penalty = float(np.log(likelihood.weight)) * self._free_parameters()
        return penalty - 2.0 * likelihood.total

    @abstractmethod
    def _free_parameters(self) -> int:
        """Return the number of free parameters."""

    def _log_likelihood(self, X: Any, sample_weight: Any) -> ScoreSumsResult:
        """Return the log-likelihood of weighted rows, and the sum of the weights."""
        self._require_fitted()
        samples = self._open_again(X, sample_weight=sample_weight)
        return score_sums(self, with_meaning(samples, self.weights))
