"""Tails of every feature in one population, and the one that divides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.log_concave.tail import Tail, upper_tail

_FEWEST_ROWS = 20
"""Rows that more probably belong to the tail than to the body, of a tail that is used."""

RARE = 0.05
"""Largest share of a tail that is preferred, because larger parts are found as components too."""

_PARAMETERS_OF_SHAPE = 4
"""Parameters that the densities of body and tail count for.

The evidence of a tail has to exceed their number times the logarithm of the rows (Schwarz 1978),
and `_EVIDENCE_PER_SAMPLE`. In 960 simulated populations without a tail, of 1,000 and 30,000 rows
and one or twelve samples, with densities of six shapes, the largest evidence was .83 of that.
"""

_TINY = np.finfo(np.float64).tiny

_EVIDENCE_PER_SAMPLE = 3.0
"""Evidence that the share of the tail in a further sample has to add."""


@dataclass(frozen=True, eq=False)
class TailCandidate:
    """Tail of one feature in a population.

    Attributes
    ----------
    feature : int
        Place of the feature.
    is_upper : bool
        True for a tail of large values.
    probability : (bins,) float64 array
        Probability that a row in the bin belongs to the tail.
    rows : float
        Weight of the rows that more probably belong to the tail than to the body.
    share : float
        Share of these rows in the population.
    evidence, required_evidence : float
        Twice the difference of the log-likelihoods with and without a tail, in nats, and what it
        has to exceed.
    variation : float, optional
        Variance of the number of these rows between samples, in parts of the variance that chance
        gives (index of dispersion). None with one sample.
    """

    feature: int
    is_upper: bool
    probability: FloatArray
    rows: float
    share: float
    evidence: float
    required_evidence: float
    variation: float | None

    @property
    def is_clear(self) -> bool:
        """True if the evidence is large enough."""
        return self.evidence > self.required_evidence and self.rows >= _FEWEST_ROWS

    def facts(self, feature: str) -> dict[str, Any]:
        """Return the numbers of the tail, for diagnostics.

        Parameters
        ----------
        feature : str
            Name of the feature.
        """
        return {
            "feature": feature,
            "side": "upper" if self.is_upper else "lower",
            "rows": self.rows,
            "share": self.share,
            "evidence": self.evidence,
            "required_evidence": self.required_evidence,
            "variation_between_samples": self.variation,
            "clear": self.is_clear,
        }


def tail_candidates(counts: FloatArray) -> list[TailCandidate]:
    """Return the upper and the lower tail of every feature, the best one first.

    Clear tails come first, and rare ones among them. Of these, the number of rows in the first one
    varies most between samples. With one sample, the first one has the largest evidence.

    Parameters
    ----------
    counts : (samples, features, bins) float64 array
        Weighted counts of the rows of the population.
    """
    candidates = []
    for feature in range(counts.shape[1]):
        for is_upper in (True, False):
            outwards = 1 if is_upper else -1
            own = counts[:, feature, ::outwards]
            tail = upper_tail(own)
            if tail is not None:
                candidates.append(_candidate(feature, tail, own, is_upper=is_upper))
    return sorted(candidates, key=_rank, reverse=True)


def _candidate(feature: int, tail: Tail, counts: FloatArray, *, is_upper: bool) -> TailCandidate:
    """Return a tail with the numbers that tails are compared by."""
    in_tail = counts[:, tail.probability > 0.5].sum(axis=1)
    rows = counts.sum(axis=1)
    present = rows > 0
    expected = rows[present] * in_tail.sum() / rows.sum()
    samples, variation = int(present.sum()), None
    if samples > 1:
        # one sum over another, so that samples of a few rows count little
        squares = np.sum((in_tail[present] - expected) ** 2)
        variation = float(squares / max(expected.sum(), _TINY) * samples / (samples - 1))
    required = _PARAMETERS_OF_SHAPE * np.log(rows.sum()) + _EVIDENCE_PER_SAMPLE * (samples - 1)
    outwards = 1 if is_upper else -1
    return TailCandidate(
        feature,
        is_upper,
        tail.probability[::outwards],
        float(in_tail.sum()),
        float(in_tail.sum() / rows.sum()),
        tail.evidence,
        float(required),
        variation,
    )


def _rank(candidate: TailCandidate) -> tuple[bool, bool, float]:
    """Return what tails are sorted by."""
    varies = candidate.variation
    value = candidate.evidence if varies is None else varies
    return candidate.is_clear, candidate.share <= RARE, value
