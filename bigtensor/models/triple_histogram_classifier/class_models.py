"""Model of one class: fit, probabilities of triples, and likelihoods of whole sequences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.base import clone

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.errors import WeightWarning
from bigtensor.models.discrete_mixture.estimator import DiscreteMixture
from bigtensor.models.hidden_markov.estimator import HiddenMarkovModel
from bigtensor.models.triple_histogram_classifier.sequences import Sequences, TripleHistograms

ClassModel = HiddenMarkovModel | DiscreteMixture

_STEPS = ("first", "second", "third")
"""Features of a triple, as a discrete mixture reads them."""


def fitted_class_model(
    estimator: ClassModel,
    sequences: Sequences,
    categories: tuple[str, ...],
    sample_weight: NDArray[np.float64] | None,
) -> ClassModel:
    """Return a copy of a model, fitted to the sequences of one class.

    Parameters
    ----------
    estimator : HiddenMarkovModel or DiscreteMixture
        It stays unfitted.
    sequences : Sequences
        Codes.
    categories : tuple of str
        Names of the codes, in their order.
    sample_weight : (sequences,) float64 array, optional
        Weight of every sequence; None stands for ones.
    """
    model: ClassModel = clone(estimator)
    if isinstance(model, HiddenMarkovModel):
        weight = None if sample_weight is None else np.repeat(sample_weight, sequences.lengths)
        model.fit(sequence_dataset(sequences, categories), sample_weight=weight)
        return model
    triples = TripleHistograms.of_sequences(sequences, len(categories))
    weight = (
        triples.count if sample_weight is None else triples.count * sample_weight[triples.sequence]
    )
    of_window = np.bincount(triples.window, weight, len(triples.codes))
    with warnings.catch_warnings():
        # a triple stands for many windows, whatever the weights of sequences
        warnings.filterwarnings("ignore", ".* are no whole numbers", WeightWarning)
        model.fit(triple_table(triples.codes, categories), sample_weight=of_window)
    return model


def triple_probabilities(
    model: ClassModel, codes: NDArray[np.int64], categories: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return the probabilities of windows of three known codes under a fitted model: ``(m,)``."""
    if isinstance(model, HiddenMarkovModel):
        parameters = MarkovParameters(
            model.window_start_, model.transition_.to_numpy(), model.emission_.to_numpy()
        )
        return parameters.triple_probabilities(codes)
    if not len(codes):
        return np.empty(0)
    log_density = np.asarray(model.score_samples(triple_table(codes, categories)))
    return np.asarray(np.exp(log_density), np.float64)


def sequence_log_likelihoods(
    model: HiddenMarkovModel, sequences: Sequences, categories: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return the log-likelihood of every sequence of codes: ``(sequences,)``, in nats.

    Steps that the model leaves out cut a sequence, of which the parts are added.
    """
    scores = model.score_samples(sequence_dataset(sequences, categories))
    # a data set has labelled answers
    assert isinstance(scores, xr.DataArray)
    of_sequence = np.bincount(scores["sequence"].to_numpy(), scores.to_numpy(), len(sequences))
    return np.asarray(of_sequence, np.float64)


def sequence_dataset(sequences: Sequences, categories: tuple[str, ...]) -> xr.Dataset:
    """Return sequences of codes as a hidden Markov model reads them."""
    attributes: dict[str, Any] = {"categories": {"category": categories}}
    values = (("sample", "feature"), sequences.values[:, None], attributes)
    return xr.Dataset(
        {"X": values, "sequence": ("sample", sequences.sequence)}, {"feature": ["category"]}
    )


def triple_table(codes: NDArray[np.int64], categories: tuple[str, ...]) -> xr.DataArray:
    """Return windows of three codes as a discrete mixture reads them."""
    return xr.DataArray(
        codes.astype(np.int32),
        {"feature": list(_STEPS)},
        ("sample", "feature"),
        attrs={"categories": dict.fromkeys(_STEPS, categories)},
    )
