"""Features of a kernel along the principal axes of a pilot sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.data.block import Block
from bigtensor.decomposition.independent_components import unscaled_axes
from bigtensor.decomposition.solution import FloatArray
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels import default_kernel
from bigtensor.features.landmarks import choose_landmarks
from bigtensor.features.maps import FeatureMap
from bigtensor.features.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.features.plain_maps import Standardised
from bigtensor.models.independent_sources.pilot import Pilot
from bigtensor.models.kernel_ica.settings import LINEAR, KernelSettings
from bigtensor.statistics.covariances import Covariances
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.mapped_rows import MappedRows

LEAST_SINGLE_SHARE = 1e-5
"""Share of the variance along an axis below which features in float32 lose too many digits."""

ROWS = "rows"
"""Name of the view that all columns of a block make up."""

_NO_PART = float(np.finfo(np.float64).max)
"""Scale of a constant feature: no distance and no product depends on it."""


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features of a kernel, along axes of the sample.

    Attributes
    ----------
    features : GroupMap
        Of all columns of a block, along the q largest principal axes of the sample.
    scales : (d,) float64 array
        Standard deviations of the features of the data; one for a constant feature.
    bandwidth : float
        In these units; NaN of the linear kernel.
    variance : float
        Mean squared distance of the rows of the sample from their mean in the feature space.
    diagnostics : dict
        ``landmarks`` and their ``trace_error``, ``rank`` of the kernel features of the sample, and
        for every feature of the data whether it is ``varying``.
    """

    features: GroupMap
    scales: FloatArray
    bandwidth: float
    variance: float
    diagnostics: dict[str, Any]


def default_bandwidth(n_features: int) -> float:
    """Return the bandwidth at which the kernel of two typical rows is one over e.

    The mean squared distance of two rows of d standardised features is 2 d.

    Parameters
    ----------
    n_features : int
        Number of features d that vary.
    """
    return float(np.sqrt(n_features))


def whole(feature_map: FeatureMap) -> GroupMap:
    """Return the features of all columns of a block.

    Parameters
    ----------
    feature_map : FeatureMap
    """
    return GroupMap((ROWS,), (feature_map,))


def sample_features(settings: KernelSettings, pilot: Pilot) -> KernelFeatures:
    """Choose landmarks in the sample, and the axes along which its features vary most.

    Parameters
    ----------
    settings : KernelSettings
    pilot : Pilot

    Raises
    ------
    DataError
        When all features of the data are constant.
    """
    full, bandwidth, told = _full_map(settings, pilot)
    r = full.n_features
    statistic = MappedRows(Covariances(((0, r),), np.zeros(r)), whole(full))
    moments = sum_in_memory(statistic, pilot.rows)
    axes = unscaled_axes(moments.covariance, eigenvalue_cut("float64"))
    about_origin = float(moments.mean @ moments.mean)
    # a kernel over its peak is one at distance zero
    diagonal = 1.0 if isinstance(full, Nystroem) else float(axes.eigenvalues.sum()) + about_origin
    kept = min(settings.most_axes, axes.rank)
    weakest = axes.eigenvalues[min(settings.most_components, axes.rank) - 1]
    single = settings.dtype == "float32" and weakest > LEAST_SINGLE_SHARE * diagonal
    directions = axes.whitening[:, :kept] * np.sqrt(axes.eigenvalues[:kept])
    chosen = replace(full, dtype="float32" if single else "float64").projected(directions)
    told |= {"rank": axes.rank, "varying": pilot.axes.varying.tolist()}
    return KernelFeatures(
        whole(chosen), pilot.axes.scales, bandwidth, diagonal - about_origin, told
    )


def _full_map(
    settings: KernelSettings, pilot: Pilot
) -> tuple[Nystroem | Standardised, float, dict[str, Any]]:
    """Return all features of the kernel, its bandwidth, and what to tell of the landmarks."""
    varying = pilot.axes.varying
    spread = np.where(varying, pilot.axes.scales, _NO_PART)
    centre = pilot.moments.mean
    if settings.kernel == LINEAR:
        return Standardised(centre, spread, dtype="float64"), np.nan, {}
    bandwidth = settings.bandwidth or default_bandwidth(int(varying.sum()))
    with np.errstate(over="ignore"):
        lengths = np.minimum(bandwidth * spread, _NO_PART)
    kernel = default_kernel(settings.kernel, lengths).relative_to(np.empty((0, 1)))
    block = pilot.rows
    if block.weight is not None:
        block = block.keep(block.weight > 0)
    values = block.values[: block.rows].astype(np.float64)
    found = choose_landmarks(
        "kmeans", values, settings.n_landmarks, spread, kernel, settings.random_state
    )
    root = nystroem_root(kernel.gram(found.points), eigenvalue_cut("float64"))
    told = {"landmarks": len(found.points), "trace_error": found.trace_error}
    return Nystroem(found.points, kernel, centre, root, "float64"), bandwidth, told


def sample_correlations(pilot: Pilot, features: KernelFeatures, mapped: Block) -> FloatArray:
    """Return the covariances of the standardised rows of a sample with their kernel features.

    Parameters
    ----------
    pilot : Pilot
    features : KernelFeatures
    mapped : Block
        The kernel features of the sample.

    Returns
    -------
    (d, q) float64 array
        Zero for a constant feature of the data.
    """
    rows = pilot.rows
    weight = np.ones(rows.rows) if rows.weight is None else rows.weight[: rows.rows]
    standardised = (rows.values[: rows.rows] - pilot.moments.mean) / features.scales
    standardised *= (weight / weight.sum())[:, None] * pilot.axes.varying
    mean = np.average(mapped.values, axis=0, weights=weight)
    return np.asarray(standardised.T @ (mapped.values - mean))
