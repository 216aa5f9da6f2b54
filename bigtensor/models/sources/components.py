"""Fitted independent components, in their order and with their signs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.sources.independent_components import PrincipalAxes, squared_lengths
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.sources.component_order import component_order_and_signs
from bigtensor.statistics.sources.linear_sources import LinearSources


@dataclass(frozen=True, eq=False)
class IndependentComponents:
    """Mixing columns of sources of unit variance, and the matrix that estimates the sources.

    Attributes
    ----------
    mixing : (d, k) float64 array
        Effect of a standard deviation of every source on the features.
    unmixing : (d, k) float64 array
        Sources are ``(x - mean) @ unmixing``.
    mean : (d,) float64 array
        Mean of the rows.
    whitening : (d, q) float64 array
        Rows along it have the identity as covariance.
    kurtosis : (k,) float64 array
        Excess kurtosis of the sources.
    scales : (d,) float64 array
        Standard deviations of the features.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Of the sources.
    """

    mixing: FloatArray
    unmixing: FloatArray
    mean: FloatArray
    whitening: FloatArray
    kurtosis: FloatArray
    scales: FloatArray
    views: NamedViews
    dtype: str

    @property
    def n_components(self) -> int:
        """Number of sources k."""
        return int(self.mixing.shape[1])

    @property
    def rank(self) -> int:
        """Number of axes along which rows vary."""
        return int(self.whitening.shape[1])

    @property
    def varying(self) -> int:
        """Number of features that vary; the others have no part in any axis."""
        return int(np.count_nonzero(self.whitening.any(axis=1)))

    @property
    def correlations(self) -> FloatArray:
        """Columns in units of the standard deviations: correlations of features and sources."""
        return np.asarray(self.mixing / self.scales[:, None])

    @property
    def noise_share(self) -> float:
        """Share of the variance of standardised features that the sources leave to noise."""
        return 1 - float(np.square(self.correlations).sum()) / max(self.varying, 1)

    @property
    def largest_variance(self) -> float:
        """Largest variance of the sources along a direction in which the rows have unit variance.

        More than 1 is more variance than there is, as where two columns follow one source.
        """
        return float(np.linalg.norm(self.whitening.T @ self.mixing, 2)) ** 2

    def sources(self) -> LinearSources:
        """Return the function that gives the sources of every row."""
        return LinearSources(self.unmixing, self.mean, self.dtype)

    def ordered(self) -> IndependentComponents:
        """Return sources by descending absolute kurtosis, each with its sign.

        A source correlates positively with the feature that it correlates with most.
        """
        order, signs = component_order_and_signs(self.correlations, self.kurtosis)
        return replace(
            self,
            mixing=self.mixing[:, order] * signs,
            unmixing=self.unmixing[:, order] * signs,
            kurtosis=self.kurtosis[order],
        )


def of_columns(
    axes: PrincipalAxes,
    columns: FloatArray,
    kurtosis: FloatArray,
    mean: FloatArray,
    views: NamedViews,
    dtype: str,
) -> IndependentComponents:
    """Return the components of columns along principal axes.

    Parameters
    ----------
    axes : PrincipalAxes
        Principal axes of the rows.
    columns : (q, k) array
        Column of every source, along the axes.
    kurtosis : (k,) array
        Excess kurtosis of the sources.
    mean : (d,) array
        Mean of the rows.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Floating-point type of the sources.
    """
    return IndependentComponents(
        axes.unwhitening @ columns,
        axes.whitening @ columns,
        mean,
        axes.whitening,
        kurtosis,
        axes.scales,
        views,
        dtype,
    ).ordered()


def of_terms(
    axes: PrincipalAxes,
    terms: Terms,
    covariance: FloatArray,
    mean: FloatArray,
    views: NamedViews,
    dtype: str,
    *,
    all_terms: bool = False,
) -> tuple[IndependentComponents, int]:
    r"""Return the components of terms of the fourth cumulant, and the number of invalid terms.

    A term :math:`w\, b^{\otimes 4}` along the axes is a source of kurtosis :math:`w / |c|^4`, where
    c is its column along the axes. The lengths of the columns follow from the covariance, under
    noise that is independent between features. Sources are the linear estimates with the least mean
    squared error, :math:`A^T C^{-1} (x - m)` with the covariance C of the rows: without noise these
    are the sources, or the shortest sources that explain the row if there are more than features.

    Parameters
    ----------
    axes : PrincipalAxes
        Principal axes of the rows.
    terms : Terms
        Along the axes.
    covariance : (d, d) array
        Covariance of the rows.
    mean : (d,) array
        Mean of the rows.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Floating-point type of the sources.
    all_terms : bool, default False
        Give a term of which the covariance leaves nothing the largest length that fits the
        covariance alone. Otherwise such a term is invalid and left out, unless all are.
    """
    columns = axes.unwhitening @ terms.factors[0] / axes.scales[:, None]
    lengths = np.linalg.norm(columns, axis=0)
    correlation = covariance / np.outer(axes.scales, axes.scales)
    squared = squared_lengths(columns / lengths, correlation)
    # no source has more than unit variance
    largest = np.square(lengths) / np.square(terms.factors[0]).sum(axis=0)
    if all_terms or not squared.any():
        squared = np.where(squared > 0, squared, largest)
    squared = np.minimum(squared, largest)
    valid = squared > 0
    factors = np.sqrt(squared[valid]) / lengths[valid]
    along = terms.factors[0][:, valid] * factors
    components = of_columns(axes, along, terms.weights[valid] / factors**4, mean, views, dtype)
    return components, int(np.count_nonzero(~valid))
