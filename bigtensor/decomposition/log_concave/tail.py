"""Tail of one feature: rows beyond the main mode that no log-concave density explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.log_concave.binned_density import log_concave_counts

_STARTS = (0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the outermost rows that the tail consists of before the first EM iteration."""

_FIRST_ITERATIONS = 8
"""EM iterations after which the initialisation with the highest likelihood is chosen."""

_MOST_ITERATIONS = 400
_CONVERGED = 1e-4
"""Rise of the log-likelihood, in nats, below which EM iterations end."""

_OUTSIDE = 0.05
"""Probability of the other component before the first EM iteration."""

_LEAST_SHARE = 1e-12
"""Smallest share of a component, so that logarithms are finite."""

_FEWEST_BINS = 5
"""Bins with rows from the mode upwards that a body and a tail need at least."""


@dataclass(frozen=True, eq=False)
class Tail:
    """Mixture of a body and a tail, both log-concave, above the main mode of a feature.

    Attributes
    ----------
    probability : (bins,) float64 array
        Probability that a row in the bin belongs to the tail. It does not decrease.
    evidence : float
        Twice the difference of the log-likelihoods with and without a tail, in nats.
    """

    probability: FloatArray
    evidence: float


def upper_tail(counts: FloatArray) -> Tail | None:
    """Return the tail above the main mode of a histogram, or None if too few bins have rows.

    The part of the histogram from the mode upwards is a mixture of a body, whose density is
    log-concave and does not increase, and a log-concave tail (Chang and Walther 2007). The mixture
    needs no second mode: it finds where the density falls more slowly than before. Both densities
    are those of all samples, and every sample has a share of its own. Samples with large and small
    shares tell the tail from the body where one sample could not.

    Parameters
    ----------
    counts : (samples, bins) float64 array
        Weighted counts of the rows of every sample in bins of one width.
    """
    total = counts.sum(axis=0)
    mode = int(np.argmax(np.convolve(total, [0.25, 0.5, 0.25], mode="same")))
    side = counts[:, mode:]
    if np.count_nonzero(side.sum(axis=0)) < _FEWEST_BINS:
        return None
    mixtures = [_Mixture(side, share) for share in _STARTS]
    for mixture in mixtures:
        mixture.iterate(_FIRST_ITERATIONS)
    best = max(mixtures, key=lambda mixture: mixture.log_likelihood)
    best.iterate(_MOST_ITERATIONS)
    body = _normalised(log_concave_counts(side.sum(axis=0), decreasing=True))
    evidence = 2 * (best.log_likelihood - float(side.sum(axis=0) @ body))
    # a body that falls more slowly than the tail would take the outermost rows back
    probability = np.concatenate([np.zeros(mode), np.maximum.accumulate(best.pooled_probability)])
    return Tail(probability, evidence)


class _Mixture:
    """Body and tail, which EM iterations improve.

    Attributes
    ----------
    shares : (samples,) float64 array
        Share of the tail in every sample.
    log_likelihood : float
        In nats.
    """

    def __init__(self, counts: FloatArray, share: float) -> None:
        """Start with the outermost rows of all samples as the tail."""
        self._counts = counts
        total = counts.sum(axis=0)
        outside = np.cumsum(total[::-1])[::-1] <= share * total.sum()
        self._probability = np.tile(np.where(outside, 1 - _OUTSIDE, _OUTSIDE), (len(counts), 1))
        self._body: FloatArray | None = None
        self._tail: FloatArray | None = None
        self.log_likelihood = -np.inf

    def iterate(self, iterations: int) -> None:
        """Take EM iterations until the log-likelihood hardly rises."""
        for _ in range(iterations):
            before = self.log_likelihood
            of_tail = self._counts * self._probability
            rows = self._counts.sum(axis=1)
            self.shares = np.divide(
                of_tail.sum(axis=1), rows, out=np.zeros(len(rows)), where=rows > 0
            )
            tail, total = of_tail.sum(axis=0), self._counts.sum(axis=0)
            self._body = log_concave_counts(total - tail, self._body, decreasing=True)
            self._tail = log_concave_counts(tail, self._tail)
            density, self._probability = self._posterior(self.shares[:, None])
            self.log_likelihood = float((self._counts * density).sum())
            if self.log_likelihood - before < _CONVERGED:
                return

    @property
    def pooled_probability(self) -> FloatArray:
        """Probability of the tail in every bin with the share of all samples."""
        rows = self._counts.sum(axis=1)
        return self._posterior(self.shares @ rows / rows.sum())[1]

    def _posterior(self, share: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return log-densities and probabilities of the tail for a share of it."""
        assert self._body is not None
        assert self._tail is not None
        share = np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE)
        tail = np.log(share) + _normalised(self._tail)
        density = np.logaddexp(np.log1p(-share) + _normalised(self._body), tail)
        return density, np.exp(tail - density)


def _normalised(logs: FloatArray) -> FloatArray:
    """Return logarithms whose exponentials sum to one."""
    return np.asarray(logs - np.logaddexp.reduce(logs))
