"""Span of the topics among all words, and topics as distributions over words."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray

_RAREST = 1e-3
"""Smallest mean frequency of a word that is told apart, in units of one over the vocabulary."""


def word_scales(mean: FloatArray) -> FloatArray:
    """Return one over the square root of the frequency of every word, (V,).

    In these units words have comparable noise; without them frequent words hide the topics of
    others.

    Parameters
    ----------
    mean : (V,) float64 array
        Mean frequency of every word.
    """
    return np.asarray(1 / np.sqrt(np.maximum(mean, _RAREST / len(mean))))


def topic_span(
    contracted: FloatArray,
    columns: FloatArray,
    mean: FloatArray,
    concentration: float,
    scales: FloatArray,
) -> FloatArray:
    """Return orthonormal columns that nearly span the scaled topics: a step of subspace iteration.

    Words that do not occur are zero in all columns, of which there are at most as many as words
    that occur. Directions of other words would be rounding errors, and depend on the order of the
    documents.

    Parameters
    ----------
    contracted : (V, r) float64 array
        Pair moment of the words, E2, times columns.
    columns : (V, r) float64 array
        Columns that the moment was contracted with.
    mean : (V,) float64 array
        M1.
    concentration : float
        a0, the sum of the parameters of the Dirichlet prior; infinite for the covariance of words.
    scales : (V,) float64 array
        Factor of every word in scaled words; see `word_scales`.
    """
    corrected = contracted - np.outer(mean, mean @ columns) / (1 + 1 / concentration)
    occurs = mean > 0
    columns_of_words = np.linalg.qr((scales[:, None] * corrected)[occurs])[0]
    span = np.zeros((len(mean), columns_of_words.shape[1]))
    span[occurs] = columns_of_words
    return span


def topics_of_words(
    coordinates: FloatArray, span: FloatArray, scales: FloatArray, floor: float
) -> FloatArray:
    """Return topics as distributions over words, (V, k).

    Parameters
    ----------
    coordinates : (r, k) float64 array
        Topics in the span.
    span : (V, r) float64 array
        Orthonormal columns in scaled words.
    scales : (V,) float64 array
        Factor of every word in scaled words; see `word_scales`.
    floor : float
        Least probability of a word, in units of one over the vocabulary.
    """
    return valid_topics((span @ coordinates) / scales[:, None], floor)


def valid_topics(topics: FloatArray, floor: float) -> FloatArray:
    """Return topics that are distributions, (V, k).

    Parameters
    ----------
    topics : (V, k) float64 array
        With entries of any sign.
    floor : float
        Least probability of a word, in units of one over the vocabulary.
    """
    raised = np.maximum(topics, floor / len(topics))
    return np.asarray(raised / raised.sum(axis=0))
