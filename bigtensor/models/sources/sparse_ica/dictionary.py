"""Dictionary of sparse sources: from terms of the cumulant, and from codes of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.dictionary_update import updated_dictionary
from bigtensor.decomposition.sources.independent_components import mean_turn
from bigtensor.models.sources.components import IndependentComponents
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSumsResult
from bigtensor.statistics.sources.sparse_codes import SparseCoder

FIRST_THRESHOLD = 0.3
"""Threshold over the typical size of a code, before the noise is known."""

LEAST_THRESHOLD = 0.1
LARGEST_THRESHOLD = 0.6
DEVIATIONS = 5.0
"""Threshold in standard deviations of the noise, within shares of the typical size of a code.

Chosen on six kinds of data, of 20 to 100 sources and noise of 0 to .15, and judged on three others.
A lower threshold takes noise for codes, which turns the columns away from the sources.
"""

GAUSSIAN_KURTOSIS = 3.0
"""Fourth moment of a Gaussian of unit variance."""


@dataclass(frozen=True, eq=False)
class SparseDictionary:
    """Columns of sparse sources, and the threshold of their codes.

    Attributes
    ----------
    columns : (d, k) float64 array
        Unit columns, in units of the scales.
    origin : (d,) float64 array
        Row without any source, in the units of the features.
    scales : (d,) float64 array
        Standard deviations of the features.
    threshold : float
        In units of the scales.
    rank : int
        Number of axes along which rows vary.
    varying : int
        Number of features that vary.
    """

    columns: FloatArray
    origin: FloatArray
    scales: FloatArray
    threshold: float
    rank: int
    varying: int

    @classmethod
    def of_components(cls, components: IndependentComponents) -> SparseDictionary:
        """Return the dictionary of sources of known kurtosis."""
        columns = components.correlations
        lengths = np.linalg.norm(columns, axis=0)
        sizes = lengths / np.sqrt(activity_of(components.kurtosis))
        threshold = FIRST_THRESHOLD * float(np.median(sizes))
        return cls(
            columns / lengths,
            components.mean,
            components.scales,
            threshold,
            components.rank,
            components.varying,
        )

    @property
    def n_components(self) -> int:
        """Number of columns k."""
        return int(self.columns.shape[1])

    def without(self, column: int) -> SparseDictionary:
        """Return the dictionary without the column at a position.

        Parameters
        ----------
        column : int
            From 0.
        """
        return replace(self, columns=np.delete(self.columns, column, axis=1))

    def coder(self, dtype: str) -> SparseCoder:
        """Return the codes of rows as a function."""
        return SparseCoder(self.columns, self.origin, self.scales, self.threshold, dtype)

    def after(self, sums: SparseCodeSumsResult) -> SparseDictionary:
        """Return the dictionary that fits rows with these codes best, and its threshold.

        Parameters
        ----------
        sums : SparseCodeSumsResult
            Of the codes in this dictionary.
        """
        updated = updated_dictionary(
            self.columns, sums.rows_by_codes, sums.products, sums.row_mean, sums.means
        )
        used = sums.amplitudes[sums.amplitudes > 0]
        threshold = threshold_of(sums.noise(self.rank), used) if len(used) else self.threshold
        origin = self.origin + self.scales * updated.origin
        return replace(self, columns=updated.columns, origin=origin, threshold=threshold)

    def turn_to(self, other: SparseDictionary) -> float:
        """Return the mean sine of the angle between the columns of two dictionaries."""
        return float(mean_turn(self.columns, other.columns))


def activity_of(kurtosis: FloatArray) -> FloatArray:
    """Return the share of the rows in which sources are not zero, if they are Gaussian there.

    A source of unit variance that is Gaussian in a share p of the rows, and zero in the others, has
    the kurtosis 3 / p - 3 and the variance 1 / p where it is not zero.

    Parameters
    ----------
    kurtosis : (k,) array
        Not below zero: such sources are not sparse.
    """
    return np.asarray(GAUSSIAN_KURTOSIS / (np.maximum(kurtosis, 0.0) + GAUSSIAN_KURTOSIS))


def threshold_of(noise: float, sizes: FloatArray) -> float:
    """Return the threshold of codes.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise along an axis.
    sizes : (k,) array
        Typical size of every code where it is not zero.
    """
    size = float(np.median(sizes)) if len(sizes) else 1.0
    return float(np.clip(DEVIATIONS * noise, LEAST_THRESHOLD * size, LARGEST_THRESHOLD * size))
