"""Refinement of topics by the moments of pairs and triples of words."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.exterior_point.mixture_descent import NEGATIVE_PENALTY
from bigtensor.decomposition.exterior_point.proximal_descent import (
    DescentRule,
    Expansion,
    proximal_descent,
)
from bigtensor.decomposition.topics.topic_moments import WordMoments

SUM_PENALTY = 1.0
"""Penalty of a topic whose probabilities do not add up to one."""

MOST_ITERATIONS = 150
"""Bound of the iterations of the descent."""

_ROUNDING = 1e-15
"""Rounding error of the objective, a sum of relative residuals in float64."""


class TopicObjective:
    r"""Relative residuals of both moments at topics that all modes share.

    .. math::
        \frac{|M_3 - \sum_i c_{3i} B_i^{\otimes 3}|^2}{2 |M_3|^2}
        + \frac{|M_2 - \sum_i c_{2i} B_i^{\otimes 2}|^2}{2 |M_2|^2}
        + \frac{\lambda}{2} |A^\top s - 1|^2

    where A are the scaled topics, whose squared norms also count outside of the span, and B are
    their coordinates in it. Weights of the terms follow from the prior and stay.

    Parameters
    ----------
    moments : WordMoments
        In the coordinates of the span.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    concentration : float
        a0, the sum of the parameters of the prior.
    span : (V, r) float64 array
        Orthonormal columns in scaled words.
    scales : (V,) float64 array
        Factor of every word in scaled words; see `word_scales`.
    """

    def __init__(
        self,
        moments: WordMoments,
        prior: FloatArray,
        concentration: float,
        span: FloatArray,
        scales: FloatArray,
    ) -> None:
        a0 = concentration
        self._pair, self._triple = moments.corrected(a0)
        self._of_pair = prior / (a0 * (a0 + 1))
        self._of_triple = 2 * self._of_pair / (a0 + 2)
        self._pair_size = float(np.vdot(self._pair, self._pair))
        self._triple_size = float(np.vdot(self._triple, self._triple))
        self._span, self._sums = span, 1 / scales

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return _ROUNDING

    def value(self, point: FloatArray) -> float:
        """Residuals and penalty at scaled topics."""
        return self._computed(point)[0]

    def expansion(self, point: FloatArray) -> Expansion:
        """Residuals and penalty at scaled topics, with their gradient and curvature bounds."""
        value, gram, along_pair, along_triple = self._computed(point)
        departures = point.T @ self._sums - 1
        c2, c3 = self._of_pair / self._pair_size, self._of_triple / self._triple_size
        cubic = gram**2 * self._of_triple
        gradient = point @ (3 * cubic.T * c3 + 2 * (gram * self._of_pair).T * c2)
        gradient -= self._span @ (3 * c3 * along_triple + 2 * c2 * along_pair)
        gradient += SUM_PENALTY * self._sums[:, None] * departures
        bounds = 9 * c3 * cubic.sum(axis=1)
        bounds += 4 * c2 * (np.abs(gram) * self._of_pair).sum(axis=1)
        bounds += SUM_PENALTY * float(self._sums @ self._sums)
        return Expansion(value, gradient, bounds)

    def _computed(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the value, inner products, and the moments along the topics."""
        coordinates, gram = self._span.T @ point, point.T @ point
        along_pair = self._pair @ coordinates
        r, k = coordinates.shape
        once = (self._triple.reshape(r * r, r) @ coordinates).reshape(r, r, k)
        along_triple = np.einsum("abk,bk->ak", once, coordinates)
        c2, c3 = self._of_pair, self._of_triple
        pair = c2 @ gram**2 @ c2 - 2 * c2 @ (coordinates * along_pair).sum(axis=0)
        triple = c3 @ gram**3 @ c3 - 2 * c3 @ (coordinates * along_triple).sum(axis=0)
        departures = point.T @ self._sums - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (
                2 + np.divide(pair, self._pair_size) + np.divide(triple, self._triple_size)
            ) / 2
        value += SUM_PENALTY / 2 * float(departures @ departures)
        return float(value), gram, along_pair, along_triple


def refined_topics(
    moments: WordMoments,
    topics: FloatArray,
    prior: FloatArray,
    concentration: float,
    span: FloatArray,
    scales: FloatArray,
) -> FloatArray:
    """Return topics at the end of an accelerated descent, (V, k); entries may be negative.

    Moments of a few documents may be zero, and leave the topics as they are.

    The exterior point method of Shaban et al. 2015 with one factor for all modes: points on the way
    may have negative entries, at a penalty.

    Parameters
    ----------
    moments : WordMoments
        In the coordinates of the span.
    topics : (V, k) float64 array
        Initialisation, as probabilities of words.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    concentration : float
        a0, the sum of the parameters of the prior.
    span : (V, r) float64 array
        Orthonormal columns in scaled words.
    scales : (V,) float64 array
        Factor of every word in scaled words; see `word_scales`.
    """
    objective = TopicObjective(moments, prior, concentration, span, scales)
    if not np.isfinite(objective.value(scales[:, None] * topics)):
        return topics
    rule = DescentRule(NEGATIVE_PENALTY, most_iterations=MOST_ITERATIONS, until_feasible=False)
    end = proximal_descent(objective, scales[:, None] * topics, rule)
    return np.asarray(end.point / scales[:, None]) if np.isfinite(end.value) else topics
