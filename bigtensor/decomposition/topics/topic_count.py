"""The number of topics, from the spectrum of pairs of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray

_ERRORS = 4.0
"""Standard errors that a direction has to stand out by: few of sixty do so by chance."""


@dataclass(frozen=True, eq=False)
class TopicCount:
    """Number of topics by the covariance of words of the same document.

    Attributes
    ----------
    count : int
        One more than the number of directions that stand out.
    values : (r,) float64 array
        Covariance along the directions, of documents that have not chosen them.
    errors : (r,) float64 array
        Standard errors of the values.
    """

    count: int
    values: FloatArray
    errors: FloatArray


def count_topics(chosen: FloatArray, means: FloatArray, pairs: FloatArray) -> TopicCount:
    """Count the directions along which words of the same document vary together.

    The covariance of two words of a document has rank k - 1 with k topics, whatever the
    concentration of their shares. Its directions are found in some documents, and its values along
    them in others, group by group: without a topic, their mean is zero.

    Parameters
    ----------
    chosen : (r, r) float64 array
        Covariance of the documents that choose the directions.
    means : (groups, r) float64 array
        M1 of groups of other documents.
    pairs : (groups, r, r) float64 array
        E2 of these groups.
    """
    directions = np.linalg.eigh(chosen)[1][:, ::-1]
    along = np.einsum("gab,ai,bi->gi", pairs, directions, directions)
    # the product of the means of other groups has no noise of its own square
    total = means.sum(axis=0)
    others = (total - means) / (len(means) - 1)
    values = along - (means @ directions) * (others @ directions)
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    mean = values.mean(axis=0)
    # the largest ones may be words that come in bursts in a few documents, and noise elsewhere
    return TopicCount(1 + int((mean > _ERRORS * errors).sum()), mean, errors)
