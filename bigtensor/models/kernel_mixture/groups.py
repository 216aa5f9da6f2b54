"""Three groups of views, and their features in the directions in which the groups covary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.subspaces import (
    Subspaces,
    cross_covariance_subspaces,
    symmetric_subspace,
)
from bigtensor.decomposition.multiview.view_groups import (
    MOST_VIEWS,
    choose_view_groups,
    neighbouring_groups,
)
from bigtensor.features.column_order import content_order
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.maps import FeatureMap
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.kernel_mixture.view_features import coarse_maps, exact_features

Groups = tuple[GroupMap, GroupMap, GroupMap]
Members = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class OtherView:
    """View in no view group. Its components follow by regression on the view groups.

    Attributes
    ----------
    name : str
        Name of the view.
    feature_map : FeatureMap
        With q features.
    cross_moments : tuple of three (q, q_g) float64 arrays
        With the features of the groups, in the sample.
    """

    name: str
    feature_map: FeatureMap
    cross_moments: tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class SampleFeatures:
    """Orthonormal features of all views at the rows of the sample, and the groups of views.

    Attributes
    ----------
    settings : KernelMixtureSettings
        Settings for the features of the sample.
    members : tuple of tuples of str
        The views of every group.
    maps : mapping of str to FeatureMap
        Of every view.
    values : mapping of str to (n0, r) float64 arrays
        Of every view, in the order of their content.
    moments : mapping of pairs of str to (r, r') float64 arrays
        Cross moments of the views, where groups were chosen by them.
    diagnostics : dict
        ``bandwidths``, ``landmarks`` and ``groups``, with the ``group_choice`` if there was one.
    """

    settings: KernelMixtureSettings
    members: Members
    maps: Mapping[str, FeatureMap]
    values: Mapping[str, FloatArray]
    moments: Mapping[tuple[str, str], FloatArray]
    diagnostics: dict[str, Any]

    @classmethod
    def of_sample(
        cls,
        rows: FloatArray,
        scale: FloatArray,
        settings: KernelMixtureSettings,
        landmarks: Mapping[str, FloatArray] | None = None,
    ) -> SampleFeatures:
        """Evaluate the features with the coarse bandwidth, and choose the groups.

        Parameters
        ----------
        rows : (n0, features) float64 array
            The sample.
        scale : (features,) float64 array
            The scale of the features inside components.
        settings : KernelMixtureSettings
            Settings with bandwidths and groups of views.
        landmarks : mapping of str to (p, d) float64 array, optional
            Landmarks of views with another bandwidth.
        """
        maps, of_maps = coarse_maps(rows, scale, settings, landmarks or {})
        # views in the order of their content, so that their place in the data does not matter
        order = content_order(rows, [settings.slices[name] for name in maps])
        names = [list(maps)[place] for place in order]
        values = {
            name: exact_features(maps[name], rows[:, settings.slices[name]]) for name in names
        }
        members, moments, choice = _chosen_groups(values, settings)
        diagnostics = {**of_maps, "groups": [list(group) for group in members], **choice}
        return cls(settings, members, maps, values, moments, diagnostics)

    @property
    def groups(self) -> list[FloatArray]:
        """Features of every view group: of its views side by side, or their mean."""
        gather = _mean if self.settings.shared else np.hstack
        return [np.asarray(gather([self.values[name] for name in names])) for names in self.members]

    def projected(self, kept: NDArray[np.bool_] | None = None) -> tuple[Groups, Subspaces]:
        """Project to the directions in which the groups covary, in all rows or some of them.

        The directions of a group are the leading left singular vectors of its cross-covariances
        with the other two (Song et al. 2014, sec. 4): directions of its own variance would keep
        noise. Where all views share their components, the directions are shared too, and the
        feature of a group is the mean over its views, which has the same expectation everywhere.

        Parameters
        ----------
        kept : (n0,) bool array, optional
            The rows of the sample that the directions may know of; None stands for all.
        """
        shared = self.settings.shared
        sizes = [sum(self.values[name].shape[1] for name in names) for names in self.members]
        if kept is None and self.moments and max(sizes) <= len(next(iter(self.values.values()))):
            q = min(self.settings.n_directions, *sizes)
            subspaces = cross_covariance_subspaces(self._group_moments(), q)
            return self._projections(subspaces, q), subspaces
        values = self.groups if kept is None else [part[kept] for part in self.groups]
        q = min(self.settings.n_directions, *(part.shape[1] for part in values))
        if shared:
            subspaces = symmetric_subspace(_cross_moments(dict(enumerate(values))), q)
        else:
            subspaces = _covarying_directions(values, q)
        return self._projections(subspaces, q), subspaces

    def _group_moments(self) -> dict[tuple[int, int], FloatArray]:
        """Return block matrices of cross moments of views, for every ordered pair of groups."""
        return {
            (a, b): np.block(
                [[self.moments[own, other] for other in self.members[b]] for own in self.members[a]]
            )
            for a, b in permutations(range(3), 2)
        }

    def _projections(self, subspaces: Subspaces, q: int) -> Groups:
        """Return the features of the groups in their directions."""
        first, second, third = (
            _projected(names, self.maps, basis[:, :q], shared=self.settings.shared)
            for names, basis in zip(self.members, subspaces.bases, strict=True)
        )
        return first, second, third

    def others(self, subspaces: Subspaces, q: int) -> tuple[OtherView, ...]:
        """Return the views in no group, projected to the directions that the groups explain.

        Parameters
        ----------
        subspaces : Subspaces
            Of the groups.
        q : int
            Directions of every group that are used.
        """
        inside = {name for names in self.members for name in names}
        if inside == set(self.values):
            return ()
        projected = [
            part @ basis[:, :q] for part, basis in zip(self.groups, subspaces.bases, strict=True)
        ]
        views = []
        for name, values in self.values.items():
            if name in inside:
                continue
            moments = [values.T @ part / len(values) for part in projected]
            basis = np.linalg.svd(np.hstack(moments), full_matrices=False)[0][:, :q]
            first, second, third = (basis.T @ moment for moment in moments)
            views.append(OtherView(name, self.maps[name].projected(basis), (first, second, third)))
        return tuple(views)


def landmarks_of(groups: Groups, others: Sequence[OtherView]) -> dict[str, FloatArray]:
    """Return the landmarks of the views whose features are made of some."""
    maps = [pair for group in groups for pair in zip(group.views, group.maps, strict=True)]
    maps += [(view.name, view.feature_map) for view in others]
    return {
        name: feature_map.landmarks
        for name, feature_map in maps
        if isinstance(feature_map, Nystroem)
    }


def projected_views(
    features: SampleFeatures,
) -> tuple[Groups, tuple[OtherView, ...], dict[str, Any]]:
    """Return the features of three groups of views, of the views outside them, and diagnostics."""
    groups, subspaces = features.projected()
    shown = 2 * features.settings.n_components + 2
    spectra = [spectrum[:shown].tolist() for spectrum in subspaces.singular_values]
    diagnostics = {**features.diagnostics, "pilot_singular_values": spectra}
    return groups, features.others(subspaces, groups[0].n_features), diagnostics


def _chosen_groups(
    values: Mapping[str, FloatArray], settings: KernelMixtureSettings
) -> tuple[Members, dict[tuple[str, str], FloatArray], dict[str, Any]]:
    """Return the groups that are given, or those that tell the components apart.

    With these come the cross moments of the views that the groups were chosen by, and the scores
    of the choice; both are empty if nothing was chosen. Two views stay two groups, whose dependence
    can be counted but not decomposed.
    """
    names = list(values)
    features = dict(settings.shape.views)
    sizes = [len(features[name]) for name in names]
    if settings.groups is not None:
        return settings.groups, {}, {}
    if len(names) < 3:
        return tuple((name,) for name in names), {}, {}
    if len(names) == 3 or len(names) > MOST_VIEWS or settings.shared or settings.counted:
        return _named(neighbouring_groups(sizes), names), {}, {}
    of_places = _cross_moments(dict(enumerate(values.values())))
    chosen = choose_view_groups(of_places, settings.n_components, sizes)
    choice = {
        "score": chosen.score,
        "best": [list(group) for group in _named(chosen.best, names)],
        "best_score": chosen.best_score,
        "neighbouring": [list(group) for group in _named(chosen.neighbouring, names)],
        "neighbouring_score": chosen.neighbouring_score,
        "picked": [list(group) for group in _named(chosen.picked, names)],
        "picked_score": chosen.picked_score,
    }
    moments = {(names[a], names[b]): moment for (a, b), moment in of_places.items()}
    return _named(chosen.groups, names), moments, {"group_choice": choice}


def _named(groups: Sequence[Sequence[int]], names: list[str]) -> Members:
    """Return groups of positions as groups of names."""
    return tuple(tuple(names[position] for position in group) for group in groups)


def _cross_moments(values: Mapping[int, FloatArray]) -> dict[tuple[int, int], FloatArray]:
    """Return the uncentred cross moments of all ordered pairs."""
    moments: dict[tuple[int, int], FloatArray] = {}
    for a, b in combinations(values, 2):
        moments[a, b] = values[a].T @ values[b] / len(values[a])
        moments[b, a] = moments[a, b].T
    return moments


def _covarying_directions(values: Sequence[FloatArray], q: int) -> Subspaces:
    """Return the directions in which three groups covary.

    The directions lie in the span of the rows. If a group has more features than rows, it is
    rotated into the span first, which changes no singular value.
    """
    spans = [np.linalg.qr(part.T)[0] if len(part) < part.shape[1] else None for part in values]
    inside = [
        part if span is None else part @ span for part, span in zip(values, spans, strict=True)
    ]
    subspaces = cross_covariance_subspaces(_cross_moments(dict(enumerate(inside))), q)
    first, second, third = (
        basis if span is None else span @ basis
        for basis, span in zip(subspaces.bases, spans, strict=True)
    )
    return subspaces._replace(bases=(first, second, third))


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
