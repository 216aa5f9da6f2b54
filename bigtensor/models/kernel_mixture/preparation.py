"""Preparation of a fit from a pilot sample: bandwidths, landmarks, directions and grids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.features.kernels.bandwidth import SampleClusters, cluster_sample
from bigtensor.features.local_density import sparse_row_weights
from bigtensor.features.maps import FeatureMap
from bigtensor.features.plain_maps import find_categories
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.kernel_mixture.groups import (
    Groups,
    OtherView,
    SampleFeatures,
    landmarks_of,
    projected_views,
)
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.settings import MANY, KernelMixtureSettings, ViewKernel
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.kernel_mixture.view_features import fine_maps
from bigtensor.models.pilot.outliers import MOST_NAMED
from bigtensor.models.words.wording import percent
from bigtensor.purpose_seeds import purpose_seed
from bigtensor.statistics.outlier_rule import far_values
from bigtensor.statistics.row_sample import Sample


@dataclass(frozen=True, eq=False)
class KernelMixturePreparation:
    """Everything that is fixed before the first full pass.

    Attributes
    ----------
    settings : KernelMixtureSettings
        For the features that vary, with the number of components that was counted.
    assignment : (n0,) integer array
        The k-means cluster of every row of the sample.
    clustering_weight : (n0,) float64 array, optional
        Weights of the rows in that clustering; None stands for ones.
    grids : Grids
        Of the views of one feature.
    posterior_widths : (one-dimensional views,) float64 array, optional
        Width of the densities of the posterior passes, in the units of the data; None stands for
        the width of the reported densities.
    embedded_maps : mapping of str to FeatureMap
        What the densities of embedded views are made of.
    groups : tuple of three GroupMap, optional
        Projected features for moments; None without a spectral initialisation.
    others : tuple of OtherView
        The views outside the groups.
    diagnostics : dict
        Diagnostics of the preparation, with its ``notes``.
    outliers : dict
        Diagnostics of the outlying rows of the sample, which the last verdict needs.
    pilot : Sample, optional
        The rows that all this was made from; None in a fit in rounds.
    start : KernelSolution, optional
        The components of the clusters of these rows, where a fit in rounds starts from them.
    """

    settings: KernelMixtureSettings
    assignment: NDArray[np.intp]
    clustering_weight: FloatArray | None
    grids: Grids
    posterior_widths: FloatArray | None
    embedded_maps: Mapping[str, FeatureMap]
    groups: Groups | None
    others: tuple[OtherView, ...]
    diagnostics: dict[str, Any]
    outliers: dict[str, Any] = field(default_factory=dict)
    pilot: Sample | None = None
    start: KernelSolution | None = None

    @property
    def n_components(self) -> int:
        """The number of components."""
        return self.settings.n_components

    @property
    def views(self) -> NamedViews:
        """The views with their features."""
        return self.settings.shape.views

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return self.settings.slices

    @property
    def rows(self) -> FloatArray:
        """The features of the rows of the pilot sample: ``(n0, features)``."""
        assert self.pilot is not None
        return np.asarray(self.pilot.values, np.float64)

    @property
    def scale(self) -> FloatArray:
        """The scale of the features inside components: ``(features,)``."""
        return np.array(list(self.diagnostics["scales"].values()))

    @property
    def shared(self) -> bool:
        """True if all views have the same components."""
        return self.settings.shared

    def features_with_bandwidth(self, factor: float) -> SampleFeatures:
        """Return the features for moments with another bandwidth, but the same landmarks.

        Parameters
        ----------
        factor : float
            Multiple of the bandwidth of the rule.
        """
        assert self.groups is not None
        landmarks = landmarks_of(self.groups, self.others)
        settings = replace(self.settings, bandwidth=factor)
        return SampleFeatures.of_sample(self.rows, self.scale, settings, landmarks)

    @property
    def masses(self) -> list[FloatArray]:
        """Functionals of the embeddings of the groups that are one for every component.

        A group holds the features of its views beside each other, each of mass one, or their mean.
        """
        if self.groups is None:
            return []
        gather = np.sum if self.shared else np.mean
        return [np.asarray(gather(group.masses, axis=0)) for group in self.groups]


def _kernel_names(kernels: Mapping[str, ViewKernel]) -> dict[str, str]:
    """Return the names of kernels that are not Gaussian, by view.

    A user-defined kernel is named by its class.
    """
    names = {
        view: kernel if isinstance(kernel, str) else type(kernel).__name__
        for view, kernel in kernels.items()
    }
    return {view: name for view, name in names.items() if name != "gaussian"}


def prepare_from(sample: Sample, settings: KernelMixtureSettings) -> KernelMixturePreparation:
    """Choose bandwidths, landmarks, directions and grids from a sample.

    Parameters
    ----------
    sample : Sample
        Pilot sample.
    settings : KernelMixtureSettings
        Resolved parameters of the fit.

    Raises
    ------
    DataError
        When a feature is constant, or the sample has fewer rows than components.
    """
    names, whole = settings.shape.features, sample
    notes = list(settings.notes)
    if settings.initialisation in settings.unused:
        notes.insert(0, settings.unused[settings.initialisation])
    if settings.units == "common":
        sample, far = _without_far_values(sample, settings)
        notes += far
    settings, fewer = _with_distinct_rows(sample, settings)
    notes += fewer
    rows = np.asarray(sample.values, np.float64)
    clustering_weight = sample.weight
    if settings.n_populations is not None and settings.n_components >= MANY:
        # rare populations want components of their own, for which few components do not suffice
        seed = purpose_seed(settings.random_state, "density")
        positions = sample_positions(rows, settings)
        clustering_weight = sparse_row_weights(positions, sample.weight, seed)
    clusters = sample_clusters(rows, clustering_weight, settings)
    scale = clusters.scale
    columns = settings.tabulated_columns
    grids = Grids.over_sample(
        rows, columns, settings.bins, shared=settings.shared, dtype=settings.feature_dtype
    )
    diagnostics: dict[str, Any] = {
        "sample_rows": len(rows),
        "scales": dict(zip(names, scale.tolist(), strict=True)),
        "notes": notes,
        "units": settings.units,
        "kernels": _kernel_names(settings.kernels),
        "shared": settings.shared,
        "landmark_choice": settings.landmarks,
    }
    groups: Groups | None = None
    others: tuple[OtherView, ...] = ()
    if settings.spectral:
        features = SampleFeatures.of_sample(rows, scale, settings)
        groups, others, of_features = projected_views(features)
        too_few = groups[0].n_features < settings.n_components and not settings.wanted_directions
        if too_few and settings.init == "auto" and settings.groups is None:
            # views of few categories do not tell so many components apart
            return prepare_from(whole, replace(settings, init="kmeans"))
        diagnostics |= of_features
    return KernelMixturePreparation(
        settings=settings,
        assignment=clusters.labels,
        clustering_weight=clustering_weight,
        grids=grids,
        posterior_widths=_posterior_widths(scale, columns, settings, diagnostics),
        embedded_maps=fine_maps(rows, scale, settings, diagnostics),
        groups=groups,
        others=others,
        diagnostics=diagnostics,
        pilot=sample,
    )


def _with_distinct_rows(
    sample: Sample, settings: KernelMixtureSettings
) -> tuple[KernelMixtureSettings, list[str]]:
    """Return settings with at most as many components to merge as distinct rows, and a note."""
    if settings.n_populations is None:
        return settings, []
    distinct = sample.n_distinct
    least = 1 if settings.n_populations == "auto" else int(settings.n_populations)
    enough = max(distinct, least)
    if settings.n_components <= enough:
        return settings, []
    note = f"The pilot sample has only {distinct} distinct rows, so that {enough} components are "
    note += f"merged in place of {settings.n_components}"
    return replace(settings, n_components=enough), [note]


def _without_far_values(
    sample: Sample, settings: KernelMixtureSettings
) -> tuple[Sample, list[str]]:
    """Leave rows with a far value out of a sample, and return it with a sentence on them, or none.

    Parameters
    ----------
    sample : Sample
        Pilot sample of features in common units.
    settings : KernelMixtureSettings
        Resolved parameters of the fit.
    """
    names = settings.shape.features
    far = far_values(
        sample.values, weight=sample.weight, ignored=tuple(settings.categorical_columns)
    )
    if not far.any():
        return sample, []
    rows, of_features = np.asarray(far.any(axis=1)), far.mean(axis=0)
    largest = sorted(np.flatnonzero(of_features), key=lambda column: -of_features[column])
    shown = [f"{names[column]} ({percent(of_features[column])})" for column in largest[:MOST_NAMED]]
    more = ", ..." * (len(largest) > MOST_NAMED)
    return sample.take(~rows), [
        f"{percent(rows.mean())} of the sampled rows have a value far beyond the others of its "
        f"feature: {', '.join(shown)}{more}. They were left out of the pilot sample, so that they "
        "do not set the scale. The fit and predictions include them. Check for errors of "
        "measurement, and for a transformation that makes tails shorter, such as arcsinh"
    ]


def sample_clusters(
    rows: FloatArray, weight: FloatArray | None, settings: KernelMixtureSettings
) -> SampleClusters:
    """Cluster the sample; categories are compared by their indicators, and have the scale one.

    Parameters
    ----------
    rows : (n0, features) float64 array
        The sample.
    weight : (n0,) float64 array, optional
        Weights of the rows; None stands for ones.
    settings : KernelMixtureSettings
        Settings with the number of components.
    """
    measured, unit = _measured_columns(settings), _unit(rows, settings)
    compared, names = _compared(rows, settings)
    seed = purpose_seed(settings.random_state, "clusters")
    # distances sum columns in this order: rounding may move a row between clusters
    order = content_order_of_columns(compared)
    clusters = cluster_sample(
        compared[:, order],
        settings.n_components,
        seed,
        [names[column] for column in order],
        weight,
        standardise=settings.units == "own",
    )
    scale = np.ones(rows.shape[1])
    scale[measured] = clusters.scale[np.argsort(order)][: len(measured)] * unit
    return SampleClusters(clusters.labels, scale)


def sample_positions(rows: FloatArray, settings: KernelMixtureSettings) -> FloatArray:
    """Return the coordinates in which rows of the sample are compared: ``(n0, d)``.

    Indicators stand for categories. In common units all features are divided by one number.

    Parameters
    ----------
    rows : (n0, features) float64 array
        The sample.
    settings : KernelMixtureSettings
        Settings with the units and the categorical views.
    """
    compared, _ = _compared(rows, settings)
    compared = compared[:, content_order_of_columns(compared)]
    spread = compared.std(axis=0)
    unit = spread if settings.units == "own" else np.sqrt(np.mean(spread**2))
    return np.asarray((compared - compared.mean(axis=0)) / np.where(unit > 0, unit, 1.0))


def _compared(rows: FloatArray, settings: KernelMixtureSettings) -> tuple[FloatArray, list[str]]:
    """Return measured features and indicators of categories, with their names.

    In common units measured features are divided by one length, about their spread, so that their
    unit does not decide their weight beside the indicators.
    """
    names = settings.shape.features
    measured, unit = _measured_columns(settings), _unit(rows, settings)
    compared, compared_names = [rows[:, measured] / unit], [names[column] for column in measured]
    for column in settings.categorical_columns:
        categories = _categories(rows[:, [column]], names[column])
        compared.append(np.asarray(rows[:, [column]] == categories, np.float64))
        compared_names += [f"{names[column]} = {code:g}" for code in categories]
    return np.hstack(compared), compared_names


def _measured_columns(settings: KernelMixtureSettings) -> list[int]:
    """Return the columns of measured features in the values of a block."""
    columns = range(len(settings.shape.features))
    return [column for column in columns if column not in settings.categorical_columns]


def _unit(rows: FloatArray, settings: KernelMixtureSettings) -> float:
    """Return the length that measured features in common units are divided by."""
    if settings.units == "own":
        return 1.0
    return _spread_of_all(rows[:, _measured_columns(settings)])


def _spread_of_all(rows: FloatArray) -> float:
    """Return a power of two near the root mean square of the standard deviations."""
    spread = float(np.sqrt(rows.var(axis=0).mean())) if rows.size else 1.0
    return math.ldexp(1.0, math.frexp(spread)[1] - 1) if spread > 0 else 1.0


def _categories(values: FloatArray, feature: str) -> FloatArray:
    """Return the categories of a feature of codes, or say which feature is none."""
    try:
        return find_categories(values)
    except DataError as error:
        raise DataError(f"feature {feature!r} has the delta kernel: {error}") from error


def _posterior_widths(
    scale: FloatArray,
    columns: tuple[int, ...],
    settings: KernelMixtureSettings,
    diagnostics: dict[str, Any],
) -> FloatArray | None:
    """Return the widths of the posterior passes, one a tabulated view."""
    if settings.posterior_width is None or not columns:
        return None
    within = scale[list(columns)]
    widths = settings.posterior_width * (
        np.full_like(within, within.mean()) if settings.shared else within
    )
    diagnostics["posterior_width"] = settings.posterior_width
    diagnostics["posterior_widths"] = dict(zip(settings.tabulated, widths.tolist(), strict=True))
    return np.asarray(widths)
