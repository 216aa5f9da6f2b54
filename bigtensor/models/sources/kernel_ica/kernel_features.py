"""Features of a kernel along the principal axes of a pilot sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sources.independent_components import unscaled_axes
from bigtensor.errors import DataError
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import default_kernel
from bigtensor.features.kernels.landmarks import choose_landmarks
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.features.maps import FeatureMap
from bigtensor.features.plain_maps import Standardised
from bigtensor.features.row_order import content_order_of_rows
from bigtensor.models.sources.kernel_ica.settings import LAPLACE, LINEAR, KernelICASettings
from bigtensor.models.sources.passes import rounding_variances
from bigtensor.models.sources.pilot import Pilot
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.row_sample import occurrences
from bigtensor.statistics.sources.mapped_rows import MappedRows

LEAST_SINGLE_SHARE = 1e-5
"""Share of the variance along an axis below which features in float32 lose too many digits."""

ROWS = "rows"
"""Name of the view that all columns of a block make up."""

_NO_PART = float(np.finfo(np.float64).max)
"""Scale of a constant feature: no distance and no product depends on it."""


@dataclass(frozen=True, eq=False)
class Standard:
    """Moments of a sample that standardise the features of the data.

    Attributes
    ----------
    mean : (d,) float64 array
        Mean of the features.
    scales : (d,) float64 array
        Standard deviations; one for a constant feature.
    varying : (d,) bool array
        False for a constant feature.
    """

    mean: FloatArray
    scales: FloatArray
    varying: NDArray[np.bool_]

    @classmethod
    def of_pilot(cls, settings: KernelICASettings, pilot: Pilot) -> Standard:
        """Return the moments of a pilot sample.

        Raises
        ------
        DataError
            When all features are constant.
        """
        values, weight = pilot.rows.dense_values[: pilot.rows.rows], pilot.rows.row_weights()
        point = np.asarray(pilot.counted.points[0])
        centred = values - point
        shift = np.average(centred, axis=0, weights=weight)
        variances = np.average(np.square(centred - shift), axis=0, weights=weight)
        varying = variances > rounding_variances(point + shift, settings.shape.dtype)
        if not varying.any():
            raise DataError("all features are constant, so that they have no sources")
        scales = np.where(varying, np.sqrt(np.where(varying, variances, 1.0)), 1.0)
        return cls(point + shift, scales, varying)


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features of a kernel, along axes of the sample.

    Attributes
    ----------
    features : GroupMap
        Of all columns of a block, along the q largest principal axes of the sample.
    standard : Standard
        Of the features of the data.
    bandwidth : float
        In their standard deviations; NaN of the linear kernel.
    variance : float
        Mean squared distance of the rows of the sample from their mean in the feature space.
    diagnostics : dict
        ``landmarks`` and their ``trace_error``, ``rank`` of the kernel features of the sample, and
        for every feature of the data whether it is ``varying``.
    """

    features: GroupMap
    standard: Standard
    bandwidth: float
    variance: float
    diagnostics: dict[str, Any]


def default_bandwidth(kernel: str, n_features: int) -> float:
    """Return the bandwidth at which the kernel of two typical rows is one over e.

    Two rows of d standardised features that are Gaussian have a mean squared distance of 2 d, and a
    mean sum of absolute differences of 2 d / sqrt(pi), of which the exponent of the Laplace kernel
    takes sqrt(2) over the bandwidth.

    Parameters
    ----------
    kernel : {"gaussian", "laplace"}
        Name of the kernel.
    n_features : int
        Number of features d that vary.
    """
    if kernel == LAPLACE:
        return float(np.sqrt(8 / np.pi) * n_features)
    return float(np.sqrt(n_features))


def whole(feature_map: FeatureMap) -> GroupMap:
    """Return the features of all columns of a block."""
    return GroupMap((ROWS,), (feature_map,))


def sample_features(settings: KernelICASettings, pilot: Pilot) -> KernelFeatures:
    """Choose landmarks in the sample, and the axes along which its features vary most.

    Raises
    ------
    DataError
        When all features of the data are constant.
    """
    standard = Standard.of_pilot(settings, pilot)
    full, bandwidth, diagnostics = _full_map(settings, pilot, standard)
    r = full.n_features
    statistic = MappedRows(Covariances(((0, r),), np.zeros(r)), whole(full))
    moments = sum_in_memory(statistic, pilot.rows)
    axes = unscaled_axes(moments.covariance, eigenvalue_cut("float64"))
    about_origin = float(moments.mean @ moments.mean)
    # a kernel over its peak is one at distance zero
    diagonal = 1.0 if isinstance(full, Nystroem) else float(axes.eigenvalues.sum()) + about_origin
    kept = min(settings.most_axes, axes.rank)
    weakest = axes.eigenvalues[min(settings.most_components, axes.rank) - 1]
    single = settings.shape.dtype == "float32" and weakest > LEAST_SINGLE_SHARE * diagonal
    directions = axes.whitening[:, :kept] * np.sqrt(axes.eigenvalues[:kept])
    chosen = replace(full, dtype="float32" if single else "float64").projected(directions)
    diagnostics |= {"rank": axes.rank, "varying": standard.varying.tolist()}
    return KernelFeatures(whole(chosen), standard, bandwidth, diagonal - about_origin, diagnostics)


def _full_map(
    settings: KernelICASettings, pilot: Pilot, standard: Standard
) -> tuple[Nystroem | Standardised, float, dict[str, Any]]:
    """Return all features of the kernel, its bandwidth, and what to tell of the landmarks."""
    spread = np.where(standard.varying, standard.scales, _NO_PART)
    if settings.kernel == LINEAR:
        return Standardised(standard.mean, spread, dtype="float64"), np.nan, {}
    varying = int(standard.varying.sum())
    bandwidth = settings.bandwidth or default_bandwidth(settings.kernel, varying)
    with np.errstate(over="ignore"):
        lengths = np.minimum(bandwidth * spread, _NO_PART)
    kernel = default_kernel(settings.kernel, lengths).relative_to(np.empty((0, 1)))
    values = pilot.rows.dense_values[: pilot.rows.rows].astype(np.float64)
    # landmarks are chosen without weights, so rows are repeated by their weights, and follow the
    # content of the rows in place of their order
    weight = pilot.rows.row_weights()
    order = content_order_of_rows(values, weight)
    values = values[order][occurrences(weight[order], settings.pilot_rows)]
    landmarks = choose_landmarks(
        "kmeans", values, settings.n_landmarks, spread, kernel, settings.random_state
    )
    root = nystroem_root(kernel.gram(landmarks.points), eigenvalue_cut("float64"))
    diagnostics = {"landmarks": len(landmarks.points), "trace_error": landmarks.trace_error}
    return (
        Nystroem(landmarks.points, kernel, standard.mean, root, "float64"),
        bandwidth,
        diagnostics,
    )


def sample_correlations(pilot: Pilot, features: KernelFeatures, mapped: Block) -> FloatArray:
    """Return the covariances of the standardised rows of a sample with their kernel features.

    Parameters
    ----------
    pilot : Pilot
        Rows of the sample, in the units of the data.
    features : KernelFeatures
        Kernel features with the moments that standardise the rows.
    mapped : Block
        The kernel features of the sample.

    Returns
    -------
    (d, q) float64 array
        Zero for a constant feature of the data.
    """
    rows = pilot.rows
    standard, weight = features.standard, rows.row_weights()
    standardised = (rows.dense_values[: rows.rows] - standard.mean) / standard.scales
    standardised *= (weight / weight.sum())[:, None] * standard.varying
    mean = np.average(mapped.dense_values, axis=0, weights=weight)
    return np.asarray(standardised.T @ (mapped.dense_values - mean))
