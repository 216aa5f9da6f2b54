"""What a preparation has to know besides the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bigtensor.decomposition.mixture_candidates import Method
from bigtensor.features.custom_kernel import CustomKernel
from bigtensor.models.data_shape import view_slices

DELTA = "delta"
"""The kernel of views that are categories."""

BINS, FEWER_BINS, MANY, FEW_ROWS = 2048, 512, 50, 2000
"""Bins of the histograms; there are fewer from 50 components on and below 2,000 rows.

The density of so few rows is at least 0.2 standard deviations of its component wide: it is resolved
by the fewer bins unless the component is narrower than 0.7 % of the grid.
"""

ROWS_OF_A_COMPONENT = 50
"""Rows that a component which is to be merged has at least, on average."""

ViewKernel = str | CustomKernel
"""The kernel of one view: its name, or one's own."""


@dataclass(frozen=True)
class Settings:
    """What a preparation has to know besides the sample.

    Attributes
    ----------
    n_components, rows : int
    counted : bool
        Whether the number of components is to be counted, and is at most `n_components`.
    views : tuple of (name, features)
    units : {"own", "common"}
        Whether features are compared in units of their spread, or as they are.
    kernels : mapping of str to "gaussian", "laplace", "delta" or CustomKernel
        The kernel of every view.
    groups : tuple of three tuples of str, optional
        Views that are decomposed together; None stands for a choice by the data.
    bandwidth : float or {"rule", "gap", "cross-validation"}
        How the bandwidth of the moments is chosen; a number multiplies the rule's.
    spectral : bool
        Whether features for moments are wanted.
    shared : bool
        Whether all views have the same components.
    posterior_width : float, optional
        Width of the densities of the posterior passes, in scales of the feature inside components;
        None stands for the width of the reported densities.
    posterior_passes : int, optional
    moments_rows : int or {"auto", "all"}
        Rows that the moments are summed over.
    n_populations : int or "auto", optional
        How many populations the components are merged into.
    merging : str
        By which criterion.
    decomposition : {"jacobi", "power"}
    landmarks : {"kmeans", "kmeans++", "uniform", "cholesky"}
    landmark_tolerance : float, optional
    n_landmarks, sample_size : int
    wanted_bins : int, optional
        Bins of the histograms.
    wanted_directions : int, optional
        Projected features of every group.
    feature_dtype : {"float32", "float64"}
    random_state : int
    notes : tuple of str
        Choices that follow from the data's description, as sentences.
    if_dependent : Settings, optional
        Settings for the case that features depend on each other within components.
    """

    n_components: int
    counted: bool
    rows: int
    views: tuple[tuple[str, tuple[str, ...]], ...]
    units: str
    kernels: Mapping[str, ViewKernel]
    groups: tuple[tuple[str, ...], ...] | None
    bandwidth: float | str
    spectral: bool
    shared: bool
    posterior_width: float | None
    posterior_passes: int | None
    moments_rows: int | str
    n_populations: int | str | None
    merging: str
    decomposition: Method
    landmarks: str
    landmark_tolerance: float | None
    n_landmarks: int
    wanted_directions: int | None
    wanted_bins: int | None
    sample_size: int
    feature_dtype: str
    random_state: int
    notes: tuple[str, ...] = ()
    if_dependent: Settings | None = None

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return view_slices(self.views)

    def with_views(
        self,
        views: tuple[tuple[str, tuple[str, ...]], ...],
        groups: tuple[tuple[str, ...], ...] | None,
    ) -> Settings:
        """Return the settings for fewer views or features."""
        other = self.if_dependent
        return replace(
            self,
            views=views,
            kernels={name: self.kernels[name] for name, _ in views},
            groups=groups,
            if_dependent=None if other is None else other.with_views(views, other.groups),
        )

    @property
    def bandwidth_factor(self) -> float:
        """What the rule of the bandwidth of the moments is multiplied by."""
        return 1.0 if isinstance(self.bandwidth, str) else float(self.bandwidth)

    @property
    def bins(self) -> int:
        """Bins of the histograms: fewer for few rows, and where tables would be large."""
        fewer = self.n_components >= MANY or self.rows < FEW_ROWS
        return self.wanted_bins or (FEWER_BINS if fewer else BINS)

    @property
    def n_directions(self) -> int:
        """Projected features of every group: 3 k unless it is said otherwise, 2 k from k = 20."""
        k = self.n_components
        return self.wanted_directions or (3 * k if k < 20 else 2 * k)

    @property
    def tabulated(self) -> tuple[str, ...]:
        """The views whose densities are smoothed histograms: of one measured feature."""
        return tuple(name for name, _ in self.views if name not in self.embedded)

    @property
    def embedded(self) -> tuple[str, ...]:
        """The views whose densities are sums of features: all others."""
        return tuple(
            name
            for name, members in self.views
            if len(members) > 1
            or self.kernels[name] == DELTA
            or isinstance(self.kernels[name], CustomKernel)
        )

    @property
    def categorical_columns(self) -> list[int]:
        """The columns of categories in the values of a block."""
        return [self.slices[name].start for name, kind in self.kernels.items() if kind == DELTA]


def purpose_seed(random_state: int, *purpose: str) -> int:
    """Return a seed of its own for every purpose, from the one seed of the model."""
    key = tuple("/".join(purpose).encode())
    return int(np.random.SeedSequence(random_state, spawn_key=key).generate_state(1)[0])
