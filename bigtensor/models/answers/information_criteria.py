"""Information criteria of mixtures, which weigh a likelihood against the number of parameters.

A mixture takes `aic` and `bic` as its methods.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.sample_weights import with_weight_meaning
from bigtensor.models.answers.density import ScoresRows, score_sums
from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.statistics.score_sums import ScoreSumsResult


class CountedMixture(ScoresRows, Protocol):
    """A fitted mixture with a number of free parameters."""

    weights: str

    def free_parameters(self) -> int:
        """Return the number of free parameters."""


def aic(self: CountedMixture, X: DataLike, sample_weight: RowVariableLike | None = None) -> float:
    """Return the information criterion of Akaike for some rows; less is better.

    Parameters
    ----------
    X : path, xarray, dask array or array-like
        As for `fit`.
    sample_weight : (rows,) array-like, optional
        Weights of the rows in the meaning of the parameter `weights`, by default those that are
        stored with the data.
    """
    return 2.0 * self.free_parameters() - 2.0 * _log_likelihood(self, X, sample_weight).total


def bic(self: CountedMixture, X: DataLike, sample_weight: RowVariableLike | None = None) -> float:
    """Return the Bayesian information criterion for some rows; less is better.

    The number of rows in it is the sum of their weights.

    Parameters
    ----------
    X : path, xarray, dask array or array-like
        As for `fit`.
    sample_weight : (rows,) array-like, optional
        As for `aic`.
    """
    likelihood = _log_likelihood(self, X, sample_weight)
    penalty = float(np.log(likelihood.weight)) * self.free_parameters()
    return penalty - 2.0 * likelihood.total


def _log_likelihood(
    model: CountedMixture, X: DataLike, sample_weight: RowVariableLike | None
) -> ScoreSumsResult:
    """Return the log-likelihood of weighted rows, and the sum of the weights."""
    model.require_fitted()
    samples = open_for_answers(model, X, sample_weight=sample_weight)
    return score_sums(model, with_weight_meaning(samples, model.weights))
