"""Fitted sources of the features of a kernel, in their order and with their signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.sources.component_order import component_order_and_signs
from bigtensor.models.sources.kernel_ica.kernel_features import KernelFeatures, whole
from bigtensor.models.sources.kernel_ica.settings import LAPLACE, LINEAR
from bigtensor.models.sources.whitened_passes import WhitenedSources
from bigtensor.statistics.sources.mapped_rows import MappedSources


@dataclass(frozen=True, eq=False)
class KernelComponents:
    """Sources of unit variance, which are linear in the features of a kernel.

    Attributes
    ----------
    unmixing : GroupMap
        From all columns of a block to the k sources, but for a constant.
    offset : (k,) float64 array
        Subtracted.
    kurtosis : (k,) float64 array
        Excess kurtosis of the sources.
    explained : (k,) float64 array
        Variance in the feature space that every source explains.
    variance : float
        Of the rows in the feature space.
    correlations : (d, k) float64 array
        Of features of the data and sources, in the pilot sample.
    scales : (d,) float64 array
        Standard deviations of the features of the data.
    bandwidth : float
        In these units; NaN of the linear kernel.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Of the sources.
    """

    unmixing: GroupMap
    offset: FloatArray
    kurtosis: FloatArray
    explained: FloatArray
    variance: float
    correlations: FloatArray
    scales: FloatArray
    bandwidth: float
    views: NamedViews
    dtype: str

    @property
    def n_components(self) -> int:
        """Number of sources k."""
        return len(self.kurtosis)

    @property
    def coefficients(self) -> FloatArray:
        """Sources as a function of the kernel at the landmarks, ``(p, k)``."""
        return self.unmixing.maps[0].mixing

    @property
    def landmarks(self) -> FloatArray | None:
        """Points at which the kernel is evaluated, ``(p, d)``; None of the linear kernel."""
        (feature_map,) = self.unmixing.maps
        return feature_map.landmarks if isinstance(feature_map, Nystroem) else None

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        (feature_map,) = self.unmixing.maps
        if not isinstance(feature_map, Nystroem):
            return LINEAR
        return LAPLACE if isinstance(feature_map.kernel, LaplaceKernel) else "gaussian"

    def sources(self) -> MappedSources:
        """Return the function that gives the sources of every row."""
        return MappedSources(self.unmixing, self.offset, self.dtype)


def of_features(
    features: KernelFeatures,
    sources: WhitenedSources,
    covariances: FloatArray,
    views: NamedViews,
    dtype: str,
) -> KernelComponents:
    """Return the sources of whitened kernel features by descending absolute kurtosis.

    A source correlates positively with the feature of the data that it correlates with most.

    Parameters
    ----------
    features : KernelFeatures
        Kernel features, before they are whitened.
    sources : WhitenedSources
        Of these.
    covariances : (d, q) array
        Of standardised features of the data with the kernel features.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Of the sources.
    """
    unmixing = sources.axes.whitening @ sources.rotation
    order, signs = component_order_and_signs(covariances @ unmixing, sources.kurtosis)
    unmixing = unmixing[:, order] * signs
    mixing = sources.axes.unwhitening @ sources.rotation[:, order]
    return KernelComponents(
        unmixing=whole(features.features.maps[0].projected(unmixing)),
        offset=sources.moments.mean @ unmixing,
        kurtosis=sources.kurtosis[order],
        explained=np.square(mixing).sum(axis=0),
        variance=features.variance,
        correlations=covariances @ unmixing,
        scales=features.standard.scales,
        bandwidth=features.bandwidth,
        views=views,
        dtype=dtype,
    )
