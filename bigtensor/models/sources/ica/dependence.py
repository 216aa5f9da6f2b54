"""Dependence of estimated sources by characteristic functions, whatever the Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.sources.whitened_sample import WhitenedSample

FREQUENCIES = (0.5, 1.0, 1.5)
"""Frequencies of characteristic functions of sources of unit variance."""

MOST_ROWS = 20_000
"""Rows that are enough for a comparison."""

BLOCKS = 10
"""Blocks of consecutive rows, which are drawn again together."""


@dataclass(frozen=True, eq=False)
class SourceProducts:
    """Sums over blocks of rows, from which the dependence of sources follows.

    Attributes
    ----------
    weight : (b,) float64 array
        Weight of every block.
    means : (b, s, k) complex array
        Sums of ``exp(i s y)`` for every frequency s.
    sums, differences : (b, s, k, k) complex arrays
        Sums of ``exp(i s (y + z))`` and of ``exp(i s (z - y))`` for all pairs of sources y and z.
    correlation : (k, k) float64 array
        Correlations of the sources.
    """

    weight: FloatArray
    means: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
    sums: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
    differences: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
    correlation: FloatArray

    def dependence(self, times: FloatArray | None = None) -> float:
        r"""Return the mean squared distance of pairs of sources from independent ones in noise.

        Sources with Gaussian noise of the covariance S, and no others, have

        .. math:: \varphi_{ij}(s, \pm s) e^{-s^2 (S_{ii} + S_{jj}) / 2}
            = \varphi_i(s) \varphi_j(\pm s) e^{-s^2 (S_{ii} + S_{jj} \pm 2 S_{ij}) / 2}

        for all pairs, where the covariance of the sources can stand for that of the noise: what
        independent sources add to its diagonal is on both sides. Source: Kumar, Sarkar, Bickel and
        Bean, *Nonparametric evaluation of noisy ICA solutions*, 2024.

        Parameters
        ----------
        times : (b,) array, optional
            How often every block counts, by default once.
        """
        times = np.ones(len(self.weight)) if times is None else times
        total = float(times @ self.weight)
        upper = np.triu_indices(len(self.correlation), 1)
        correlation = self.correlation[upper]
        distances = 0.0
        for number, frequency in enumerate(FREQUENCIES):
            square = frequency**2
            mean = np.tensordot(times, self.means[:, number], 1) / total
            both = ((self.sums, mean, 1.0), (self.differences, mean.conj(), -1.0))
            for pairs, first, sign in both:
                joint = (np.tensordot(times, pairs[:, number], 1) / total)[upper]
                apart = np.outer(first, mean)[upper] * np.exp(-square * (1 + sign * correlation))
                distances += float(np.square(np.abs(joint * np.exp(-square) - apart)).mean())
        return distances

    def of_independent_sources(self) -> float:
        """Return the dependence to expect of independent sources in as many independent rows."""
        total = float(self.weight.sum())
        upper = np.triu_indices(len(self.correlation), 1)
        expected = 0.0
        for number, frequency in enumerate(FREQUENCIES):
            spread = 1 - np.square(np.abs(self.means[:, number].sum(axis=0) / total))
            pairs = np.outer(spread, spread)[upper].mean()
            expected += 2 * float(np.exp(-2 * frequency**2) * pairs) / total
        return expected


def source_products(sample: WhitenedSample, columns: FloatArray) -> SourceProducts:
    """Return the sums that tell the dependence of the sources of mixing columns.

    Parameters
    ----------
    sample : WhitenedSample
        Whitened rows.
    columns : (q, k) array
        Mixing columns along the axes, at most as many as axes.
    """
    thinned = sample.part(0, max(1, sample.block.rows // MOST_ROWS))
    rows = thinned.block.rows
    weight = thinned.block.row_weights()
    sources = thinned.block.dense_values[:rows] @ np.linalg.pinv(columns).T
    centred = sources - np.average(sources, axis=0, weights=weight)
    covariance = (centred * weight[:, None]).T @ centred / weight.sum()
    deviations = np.sqrt(np.diag(covariance))
    centred /= deviations
    blocks = min(BLOCKS, rows)
    edges = np.linspace(0, rows, blocks + 1).astype(np.intp)
    slices = [slice(*ends) for ends in pairwise(edges.tolist())]
    parts = [[_products(f * centred[own], weight[own]) for f in FREQUENCIES] for own in slices]
    means, sums, differences = (
        np.array([[at_frequency[part] for at_frequency in block] for block in parts])
        for part in range(3)
    )
    return SourceProducts(
        np.array([weight[own].sum() for own in slices]),
        means,
        sums,
        differences,
        covariance / np.outer(deviations, deviations),
    )


def _products(phases: FloatArray, weight: FloatArray) -> tuple[FloatArray, ...]:
    """Return the sums of one block at one frequency."""
    cosine, sine = np.cos(phases), np.sin(phases)
    weighted_cosine, weighted_sine = cosine * weight[:, None], sine * weight[:, None]
    means = weighted_cosine.sum(axis=0) + 1j * weighted_sine.sum(axis=0)
    cosines, sines = weighted_cosine.T @ cosine, weighted_sine.T @ sine
    mixed = weighted_cosine.T @ sine
    return (
        means,
        cosines - sines + 1j * (mixed + mixed.T),
        cosines + sines + 1j * (mixed - mixed.T),
    )
