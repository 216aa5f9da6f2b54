"""What a preparation has to know besides the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.models.data_shape import view_slices


@dataclass(frozen=True)
class Settings:
    """What a preparation has to know besides the sample.

    Attributes
    ----------
    n_components, rows : int
    views : tuple of (name, features)
    spectral : bool
        Whether features for moments are wanted.
    shared : bool
        Whether all views have the same components.
    posterior_width : float, optional
        Width of the densities of the posterior passes, in standard deviations of the feature;
        None stands for the width of the reported densities.
    landmarks : {"kmeans", "uniform"}
    n_landmarks, n_directions, bins : int
    feature_dtype : {"float32", "float64"}
    random_state : int
    """

    n_components: int
    rows: int
    views: tuple[tuple[str, tuple[str, ...]], ...]
    spectral: bool
    shared: bool
    posterior_width: float | None
    landmarks: str
    n_landmarks: int
    n_directions: int
    bins: int
    feature_dtype: str
    random_state: int

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return view_slices(self.views)

    @property
    def narrow(self) -> tuple[str, ...]:
        """The views of one feature."""
        return tuple(name for name, members in self.views if len(members) == 1)

    @property
    def wide(self) -> tuple[str, ...]:
        """The views of several features."""
        return tuple(name for name, members in self.views if len(members) > 1)


def purpose_seed(random_state: int, *purpose: str) -> int:
    """Return a seed of its own for every purpose, from the one seed of the model."""
    key = tuple("/".join(purpose).encode())
    return int(np.random.SeedSequence(random_state, spawn_key=key).generate_state(1)[0])
