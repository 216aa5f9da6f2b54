"""Conversion to and from the `CategoricalHMM` of hmmlearn, which need not be installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.errors import MissingDependencyError, ParameterError
from bigtensor.models.hidden_markov.emissions.categorical_emissions import CategoricalEmissions
from bigtensor.models.hidden_markov.solution import MarkovFit

SOURCE = "hmmlearn"
"""Stands in the diagnostics where a fit says how it ended."""

FEATURE = "x0"

_SUM_TOLERANCE = 1e-6


class ConvertedModel(Protocol):
    """Attributes of a hidden Markov model that a model of hmmlearn takes over."""

    initial_: NDArray[np.float64]
    transition_: xr.DataArray
    emission_: xr.DataArray


def categorical_hmm(model: ConvertedModel) -> Any:
    """Return a `hmmlearn.hmm.CategoricalHMM` with the probabilities of a fitted model.

    Parameters
    ----------
    model : HiddenMarkovModel
        Fitted model with categorical emissions.

    Raises
    ------
    MissingDependencyError
        When hmmlearn is not installed.
    ParameterError
        When the emissions are densities.
    """
    if not hasattr(model, "emission_"):
        raise ParameterError(
            "a CategoricalHMM has probabilities of categories, and this model has densities of "
            "measured rows, which are not converted"
        )
    try:
        hmm = import_module("hmmlearn.hmm")
    except ImportError as error:
        raise MissingDependencyError(
            "a model of hmmlearn needs the package hmmlearn, which could not be imported "
            f"({error}): pip install hmmlearn"
        ) from error
    emission = model.emission_.to_numpy()
    states, categories = emission.shape
    converted = hmm.CategoricalHMM(n_components=states, init_params="")
    converted.n_features = categories
    converted.startprob_ = model.initial_.copy()
    converted.transmat_ = model.transition_.to_numpy().copy()
    converted.emissionprob_ = emission.copy()
    return converted


def fit_of_categorical_hmm(model: Any) -> MarkovFit:
    """Return the parameters of a `hmmlearn.hmm.CategoricalHMM`, its states in their order.

    Parameters
    ----------
    model : CategoricalHMM
        Fitted, or with parameters that were set.

    Raises
    ------
    ParameterError
        When the model is another one, has no parameters, or they are no probabilities.
    """
    names = ("startprob_", "transmat_", "emissionprob_")
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ParameterError(
            f"the {type(model).__name__} has no {' and no '.join(missing)}; give a fitted "
            "CategoricalHMM of hmmlearn"
        )
    initial, transition, emission = (
        np.array(getattr(model, name), dtype=np.float64) for name in names
    )
    k = len(initial)
    if transition.shape != (k, k) or emission.ndim != 2 or len(emission) != k:
        raise ParameterError(
            f"the {type(model).__name__} has parameters of the shapes {initial.shape}, "
            f"{transition.shape} and {emission.shape}; expected (k,), (k, k) and (k, categories)"
        )
    for name, table in zip(names, (initial, transition, emission), strict=True):
        _check_probabilities(name, table)
    categories = tuple(map(str, range(emission.shape[1])))
    emissions = CategoricalEmissions.normalised(emission, ((FEATURE, (FEATURE,)),), categories)
    # windows start anywhere in a sequence: in the long run, at the stationary distribution
    start = MarkovFit(initial, initial, transition, emissions).occupancy()
    return MarkovFit(initial, start, transition, emissions)


def diagnostics_of(fit: MarkovFit) -> dict[str, Any]:
    """Return the diagnostics of a model whose parameters were taken over."""
    return {
        "n_components": fit.n_states,
        "parameters": fit.parameters,
        "refined": SOURCE,
        "triple_log_likelihood": [],
        "mean_log_likelihood": [],
        "data": "no data: parameters of hmmlearn",
        "rows": 0,
        "rows_left_out": 0,
        "plan": {},
        "passes": [],
        "verdict": {"good": True, "sentences": ["the parameters were taken over from hmmlearn"]},
    }


def _check_probabilities(name: str, table: NDArray[np.float64]) -> None:
    """Raise a ParameterError for numbers that are no probabilities; scale sums to one."""
    sums = table.sum(axis=-1, keepdims=True)
    if not (table.min() >= 0 and np.abs(sums - 1).max() <= _SUM_TOLERANCE):
        raise ParameterError(
            f"{name} of the model holds numbers that are no probabilities: all have to be at least "
            "zero, and every row has to sum to one"
        )
    table /= sums
