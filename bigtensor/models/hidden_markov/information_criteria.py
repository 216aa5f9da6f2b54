"""Information criteria of sequences: `HiddenMarkovModel` takes them as methods."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import ParameterError, Setting
from bigtensor.models.hidden_markov.declared_parameters import KERNEL
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.sequences.ends import SequenceEndsResult


class ScoresSequences(Protocol):
    """A fitted hidden Markov model."""

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""

    def _ends(self, *args: Any) -> tuple[SequenceEndsResult, NDArray[Any]]:
        """Return likelihood and last state of every sequence, and ids or names."""


def aic(
    self: ScoresSequences,
    X: DataLike,
    lengths: npt.ArrayLike | None = None,
    *,
    sequence: str | RowVariableLike | None = None,
    sample_weight: RowVariableLike | None = None,
) -> float:
    """Return the information criterion of Akaike for some sequences; less is better.

    Parameters
    ----------
    X : path, xarray, dask array or array-like
        As for `fit`.
    lengths, sequence, sample_weight : optional
        As for `fit`.

    Raises
    ------
    ParameterError
        With kernel emissions, whose densities have no parameters to count.
    """
    likelihood, _ = _likelihood_and_weight(self, X, lengths, sequence, sample_weight)
    return 2.0 * _free_parameters(self) - 2.0 * likelihood


def bic(
    self: ScoresSequences,
    X: DataLike,
    lengths: npt.ArrayLike | None = None,
    *,
    sequence: str | RowVariableLike | None = None,
    sample_weight: RowVariableLike | None = None,
) -> float:
    """Return the Bayesian information criterion for some sequences; less is better.

    The penalty is the number of free parameters times the logarithm of n, where n is the number of
    rows (the sum of their weights), and not of sequences. In a panel, n counts person-waves. Other
    programs may take the number of persons, so that their values differ.

    Parameters
    ----------
    X : path, xarray, dask array or array-like
        As for `fit`.
    lengths, sequence, sample_weight : optional
        As for `fit`.

    Raises
    ------
    ParameterError
        With kernel emissions, whose densities have no parameters to count.
    """
    likelihood, weight = _likelihood_and_weight(self, X, lengths, sequence, sample_weight)
    return float(np.log(weight)) * _free_parameters(self) - 2.0 * likelihood


def _free_parameters(model: ScoresSequences) -> int:
    """Return the number of free parameters, or raise a ParameterError if there is none."""
    fit = model._solution()
    if not fit.emissions.parameters:
        raise ParameterError(
            Setting("emissions", KERNEL)
            + " has densities without parameters to count: compare log-likelihoods of held-out "
            "sequences with score"
        )
    return fit.parameters


def _likelihood_and_weight(
    model: ScoresSequences,
    X: DataLike,
    lengths: npt.ArrayLike | None,
    sequence: str | RowVariableLike | None,
    sample_weight: RowVariableLike | None,
) -> tuple[float, float]:
    """Return the log-likelihood of weighted rows, and the sum of the weights."""
    _free_parameters(model)
    ends, _ = model._ends(X, sequence, lengths, sample_weight)
    weight = float(ends.weight.sum())
    volume = model._solution().emissions.densities().log_volume
    return float(ends.weighted_log_likelihood.sum()) - volume * weight, weight
