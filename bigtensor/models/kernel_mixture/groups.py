"""Three groups of views, and their features in the directions in which the groups covary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.subspaces import (
    Subspaces,
    cross_covariance_subspaces,
    symmetric_subspace,
)
from bigtensor.features.group_map import GroupMap
from bigtensor.features.maps import FeatureMap
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.view_features import coarse_maps, exact_features

FloatArray = NDArray[np.float64]

Groups = tuple[GroupMap, GroupMap, GroupMap]


def projected_groups(
    rows: FloatArray, scale: FloatArray, settings: Settings, diagnostics: dict[str, Any]
) -> Groups:
    """Return three groups of views, projected to the directions in which they covary.

    The directions of a group are the leading left singular vectors of its cross-covariances with
    the other two (Song et al. 2014, sec. 4): directions of its own variance would keep noise. Where
    all views share their components, the directions are shared too, and the feature of a group is
    the mean over its views, which has the same expectation in every group.
    """
    features = GroupFeatures.of_sample(rows, scale, settings, diagnostics)
    groups, subspaces = features.projected()
    diagnostics["groups"] = [list(names) for names in features.members]
    shown = 2 * settings.n_components + 2
    diagnostics["pilot_singular_values"] = [
        spectrum[:shown].tolist() for spectrum in subspaces.singular_values
    ]
    return groups


@dataclass(frozen=True, eq=False)
class GroupFeatures:
    """Orthonormal features of three groups of views at the rows of the sample.

    Attributes
    ----------
    settings : Settings
    members : list of tuples of str
        The views of the groups.
    maps : mapping of str to FeatureMap
        Of every view.
    values : list of three (n0, r_g) float64 arrays
    """

    settings: Settings
    members: list[tuple[str, ...]]
    maps: Mapping[str, FeatureMap]
    values: list[FloatArray]

    @classmethod
    def of_sample(
        cls, rows: FloatArray, scale: FloatArray, settings: Settings, diagnostics: dict[str, Any]
    ) -> GroupFeatures:
        """Evaluate the features with the coarse bandwidth."""
        maps = coarse_maps(rows, scale, settings, diagnostics)
        members = grouped_views(settings)
        values = {name: exact_features(maps[name], rows[:, settings.slices[name]]) for name in maps}
        gather = _mean if settings.shared else _beside
        return cls(
            settings, members, maps, [gather([values[name] for name in names]) for names in members]
        )

    def projected(self, kept: NDArray[np.bool_] | None = None) -> tuple[Groups, Subspaces]:
        """Project to the directions in which the groups covary, in all rows or some of them.

        Parameters
        ----------
        kept : (n0,) bool array, optional
            The rows of the sample that the directions may know of; None stands for all.
        """
        values = self.values if kept is None else [part[kept] for part in self.values]
        covariances = {
            (a, b): values[a].T @ values[b] / len(values[a])
            for a in range(3)
            for b in range(3)
            if a != b
        }
        shared = self.settings.shared
        q = min(self.settings.n_directions, *(part.shape[1] for part in values))
        find = symmetric_subspace if shared else cross_covariance_subspaces
        subspaces = find(covariances, q)
        first, second, third = (
            _projected(names, self.maps, basis[:, :q], shared=shared)
            for names, basis in zip(self.members, subspaces.bases, strict=True)
        )
        return (first, second, third), subspaces


def grouped_views(settings: Settings) -> list[tuple[str, ...]]:
    """Put neighbouring views together into three groups of about equally many features."""
    names = [name for name, _ in settings.views]
    ends = list(accumulate(len(members) for _, members in settings.views))
    edges = [0]
    for part in (1, 2):
        wanted = ends[-1] * part / 3
        least, most = edges[-1] + 1, len(names) - (3 - part)
        edges.append(min(range(least, most + 1), key=lambda edge: abs(ends[edge - 1] - wanted)))
    return [
        tuple(names[start:stop])
        for start, stop in zip(edges, [*edges[1:], len(names)], strict=True)
    ]


def _beside(features: list[FloatArray]) -> FloatArray:
    """Put the features of the views of a group beside each other."""
    return np.hstack(features)


def _mean(features: list[FloatArray]) -> FloatArray:
    """Average the features of the views of a group."""
    return np.asarray(np.mean(features, axis=0))


def _projected(
    names: tuple[str, ...], maps: Mapping[str, FeatureMap], basis: FloatArray, *, shared: bool
) -> GroupMap:
    """Return the projected features of a group."""
    if shared:
        parts = [basis / len(names)] * len(names)
    else:
        lengths = [maps[name].n_features for name in names]
        parts = np.split(basis, np.cumsum(lengths)[:-1])
    return GroupMap(
        names,
        tuple(maps[name].projected(part) for name, part in zip(names, parts, strict=True)),
    )
