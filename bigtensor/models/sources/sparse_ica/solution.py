"""Fitted sparse components, in their order and with their signs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.sources.component_order import component_order_and_signs
from bigtensor.models.sources.components import IndependentComponents
from bigtensor.models.sources.sparse_ica.dictionary import (
    SparseDictionary,
    activity_of,
    threshold_of,
)
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSumsResult
from bigtensor.statistics.sources.sparse_codes import SparseCoder, SparseSources


@dataclass(frozen=True, eq=False)
class SparseComponents:
    """Columns of sparse sources of unit variance, and the coder that finds the sources of a row.

    Attributes
    ----------
    mixing : (d, k) float64 array
        Effect of a standard deviation of every source on the features.
    mean : (d,) float64 array
        Row without any source.
    kurtosis : (k,) float64 array
        Excess kurtosis of the sources.
    activity : (k,) float64 array
        Share of the rows in which a source is not zero.
    scales : (d,) float64 array
        Standard deviations of the features.
    threshold : float
        Of codes, in units of the scales.
    noise : float
        Standard deviation of the noise of a feature, in units of the scales.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Of the sources.
    """

    mixing: FloatArray
    mean: FloatArray
    kurtosis: FloatArray
    activity: FloatArray
    scales: FloatArray
    threshold: float
    noise: float
    views: NamedViews
    dtype: str

    @property
    def n_components(self) -> int:
        """Number of sources k."""
        return int(self.mixing.shape[1])

    @property
    def correlations(self) -> FloatArray:
        """Columns in units of the standard deviations: correlations of features and sources."""
        return np.asarray(self.mixing / self.scales[:, None])

    def sources(self) -> SparseSources:
        """Return the function that gives the sources of every row."""
        lengths = np.linalg.norm(self.correlations, axis=0)
        columns = self.correlations / lengths
        coder = SparseCoder(columns, self.mean, self.scales, self.threshold, self.dtype)
        return SparseSources(coder, lengths)


def of_cumulant(components: IndependentComponents) -> SparseComponents:
    """Return the components of a fourth cumulant whose sources have heavy tails."""
    heavy = components.kurtosis > 0
    correlations, kurtosis = components.correlations[:, heavy], components.kurtosis[heavy]
    unexplained = np.maximum(1 - np.square(correlations).sum(axis=1), 0.0)
    # the row of a constant feature is zero
    total = float(unexplained.sum()) - (len(unexplained) - components.varying)
    noise = float(np.sqrt(total / components.varying))
    along_axis = float(np.sqrt(total / components.rank))
    sizes = np.linalg.norm(correlations, axis=0) / np.sqrt(activity_of(kurtosis))
    return SparseComponents(
        mixing=components.mixing[:, heavy],
        mean=components.mean,
        kurtosis=kurtosis,
        activity=activity_of(kurtosis),
        scales=components.scales,
        threshold=threshold_of(along_axis, sizes),
        noise=noise,
        views=components.views,
        dtype=components.dtype,
    )


def with_codes(components: SparseComponents, sums: SparseCodeSumsResult) -> SparseComponents:
    """Return components in the order of the kurtosis of their codes, and with its signs.

    Parameters
    ----------
    components : SparseComponents
        Components of a fourth cumulant.
    sums : SparseCodeSumsResult
        Of the codes of all rows in these components.
    """
    order, signs = component_order_and_signs(sums.covariances, sums.kurtosis)
    return replace(
        components,
        mixing=components.mixing[:, order] * signs,
        kurtosis=sums.kurtosis[order],
        activity=sums.active[order],
    )


def of_codes(
    dictionary: SparseDictionary, sums: SparseCodeSumsResult, views: NamedViews, dtype: str
) -> tuple[SparseComponents, int]:
    """Return the components of a dictionary, and the number of columns that no row is made of.

    Parameters
    ----------
    dictionary : SparseDictionary
        Columns of the sources.
    sums : SparseCodeSumsResult
        Of codes in this dictionary, or in the one before.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Floating-point type of the sources.
    """
    used = sums.variances > 0
    columns = dictionary.columns[:, used] * np.sqrt(sums.variances[used])
    kurtosis = sums.kurtosis[used]
    order, signs = component_order_and_signs(sums.covariances[:, used], kurtosis)
    components = SparseComponents(
        mixing=dictionary.scales[:, None] * columns[:, order] * signs,
        mean=dictionary.origin,
        kurtosis=kurtosis[order],
        activity=sums.active[used][order],
        scales=dictionary.scales,
        threshold=dictionary.threshold,
        noise=sums.noise(dictionary.rank) * float(np.sqrt(dictionary.rank / dictionary.varying)),
        views=views,
        dtype=dtype,
    )
    return components, int(np.count_nonzero(~used))
