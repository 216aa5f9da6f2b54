"""Tails of every feature in one population, and the one that divides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.log_concave.alignment import aligned_histograms
from bigtensor.decomposition.log_concave.tail import Tail, upper_tail

_FEWEST_ROWS = 20
"""Rows that more probably belong to the tail than to the body, of a tail that is used."""

RARE = 0.05
"""Largest share of a tail that is chosen, because larger parts are found as components too."""

_PARAMETERS_OF_SHAPE = 4
"""Parameters that the densities of body and tail count for.

The evidence of a tail has to exceed their number times the logarithm of the rows (Schwarz 1978),
and `_EVIDENCE_PER_SAMPLE`. In 960 simulated populations without a tail, of 1,000 and 30,000 rows
and one or twelve samples, with densities of six shapes, the largest evidence was .83 of that.
"""

_LEAST_ALIGNED = 0.6
"""Part of the required evidence that samples have to hold when they are shifted and scaled.

Rare cells lose evidence too: .72 of the required evidence was left of activated cells in 12 samples
of 560 cells. Of normal samples without rare cells, of which some were shifted or scaled, at most
.47 was left, and of gamma densities up to 1.06.
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
    rows_by_sample : (samples,) float64 array
        Rows that more probably belong to the tail than to the body. Every row counts with its
        probability of the population.
    share : float
        Share of these rows in the population.
    evidence, required_evidence : float
        Twice the difference of the log-likelihoods with and without a tail, in nats, and what it
        has to exceed.
    aligned_evidence : float
        The same after samples are shifted and scaled to agree. A body whose place differs
        between samples looks like a tail in all samples together, but not then.
    variation : float, optional
        Variance of the number of these rows between samples, in parts of the variance that chance
        gives (index of dispersion). None with one sample.
    """

    feature: int
    is_upper: bool
    probability: FloatArray
    rows_by_sample: FloatArray
    share: float
    evidence: float
    required_evidence: float
    aligned_evidence: float
    variation: float | None

    @property
    def rows(self) -> float:
        """Rows of all samples in the tail."""
        return float(self.rows_by_sample.sum())

    @property
    def is_clear(self) -> bool:
        """True if the evidence is large enough, with samples as they are and aligned."""
        least = _LEAST_ALIGNED * self.required_evidence
        return self._is_found and self.aligned_evidence > least

    @property
    def is_shift(self) -> bool:
        """True if samples that are shifted or scaled explain all evidence."""
        return self._is_found and not self.is_clear

    @property
    def is_rare(self) -> bool:
        """True if the share is at most `RARE`."""
        return self.share <= RARE

    @property
    def _is_found(self) -> bool:
        """True if samples as they are have a tail."""
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
            "evidence_with_samples_aligned": self.aligned_evidence,
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
    evidence = tail.evidence
    present = rows > 0
    expected = rows[present] * in_tail.sum() / rows.sum()
    samples, variation = int(present.sum()), None
    if samples > 1:
        # one sum over another, so that samples of a few rows count little
        squares = np.sum((in_tail[present] - expected) ** 2)
        variation = float(squares / max(expected.sum(), _TINY) * samples / (samples - 1))
    required = _PARAMETERS_OF_SHAPE * np.log(rows.sum()) + _EVIDENCE_PER_SAMPLE * (samples - 1)
    if samples > 1 and evidence > required:
        aligned = upper_tail(aligned_histograms(counts))
        evidence = 0.0 if aligned is None else aligned.evidence
    outwards = 1 if is_upper else -1
    return TailCandidate(
        feature,
        is_upper,
        tail.probability[::outwards],
        in_tail,
        float(in_tail.sum() / rows.sum()),
        tail.evidence,
        float(required),
        evidence,
        variation,
    )


def _rank(candidate: TailCandidate) -> tuple[bool, bool, float]:
    """Return what tails are sorted by."""
    varies = candidate.variation
    value = candidate.evidence if varies is None else varies
    return candidate.is_clear, candidate.is_rare, value
