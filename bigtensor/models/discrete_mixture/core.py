"""Moments of three groups of views, in the coordinates that a decomposition wants."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.decomposition.discrete.discrete_core import (
    ByView,
    DiscreteCore,
    bases_of_sketches,
    by_view,
    inverse_scale,
    rotated,
)
from bigtensor.decomposition.exterior_point import SpectralCandidates, spectral_candidates
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_moments import (
    Groups,
    ProjectedMoments,
    ProjectedSymbols,
    SketchedPairs,
    SymbolGroup,
    SymbolSketches,
)

EXACT_SYMBOLS = 256
"""Largest number of symbols of a group whose pair tables are summed, and not sketched."""

POWER_PASSES = 2
"""Passes that turn sketches towards the leading directions."""

DAMPING = 0.5
"""Rows by which every view is padded with equally frequent symbols, as a part of all, in sketches.

Without it, a pair of rare symbols that were seen only together stands out as a component does.
"""


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of some rows, with the spectral solutions that were found in them.

    Fits that differ in the ridge share these, which are half of the work of one fit.

    Attributes
    ----------
    core : DiscreteCore
        Moments in the leading directions of three groups of views.
    weight : float
        Of all rows that were read, also of those with missing codes.
    """

    core: DiscreteCore
    weight: float
    _candidates: dict[int, SpectralCandidates] = field(default_factory=dict, repr=False)

    def candidates(self, k: int, rng: np.random.Generator) -> SpectralCandidates:
        """Return the spectral solutions of k components."""
        if k not in self._candidates:
            self._candidates[k] = spectral_candidates(self.core, k, rng)
        return self._candidates[k]


Sums = Generator[Pass[Any], Any, Moments]
"""Yields passes and is sent their results; returns moments."""


def moments_of(
    groups: Groups, directions: int, rng: np.random.Generator, places: Sequence[IntArray] = ()
) -> Sums:
    """Ask for the scaled moments of three groups of views in their leading directions.

    Parameters
    ----------
    groups : three SymbolGroup
        Views of every group, as the symbols that they form together.
    directions : int
        Of every group; a group of fewer symbols has as many.
    rng : numpy.random.Generator
        Of the sketches of groups of many symbols.
    places : sequence of (categories,) int64 arrays, optional
        Place of every category by its content, of every view, which the random numbers follow.
        Without them, codes are in the order of their content.
    """
    exact = max(group.size for group in groups) <= EXACT_SYMBOLS
    if exact:
        sketches: SymbolSketches = yield Pass("pairs", SketchedPairs(groups, _identities(groups)))
        bases, scales = _exact_bases(sketches, directions)
    else:
        gaussian = _gaussian(groups, directions, rng, places)
        sketches = yield Pass("sketches", SketchedPairs(groups, gaussian))
        bases, scales = _bases(sketches.sketches, sketches, directions, DAMPING)
        for _ in range(POWER_PASSES):
            turned = SketchedPairs(groups, _projections(bases, scales))
            sketches = yield Pass("power", turned)
            bases, scales = _bases(sketches.sketches, sketches, directions, DAMPING)
    moments: ProjectedMoments = yield Pass(
        "moments", ProjectedSymbols(groups, _projections(bases, scales))
    )
    core = rotated(_core(moments, bases, scales, _three(sketches.marginals)))
    return Moments(core, sketches.weight)


def unscaled_moments_of(groups: Groups) -> Sums:
    """Ask for the joint table of three groups of views as it is."""
    identities = _identities(groups)
    sketches: SymbolSketches = yield Pass("pairs", SketchedPairs(groups, identities))
    moments: ProjectedMoments = yield Pass("moments", ProjectedSymbols(groups, identities))
    ones = by_view(lambda t: np.ones(groups[t].size))
    core = _core(moments, identities, ones, _three(sketches.marginals))
    return Moments(core, sketches.weight)


def _core(
    moments: ProjectedMoments, bases: ByView, scales: ByView, marginals: ByView
) -> DiscreteCore:
    """Return moments with the bases and scales of their coordinates."""
    return DiscreteCore(moments.tensor, bases, scales, marginals, _three(moments.pairs))


def _exact_bases(sketches: SymbolSketches, directions: int) -> tuple[ByView, ByView]:
    """Return bases and scales from pair tables, both sides of which are scaled."""
    marginals = sketches.marginals
    inverse = [inverse_scale(np.sqrt(marginal)) for marginal in marginals]
    scaled = [
        tables * np.concatenate([inverse[other] for other in range(3) if other != t])
        for t, tables in enumerate(sketches.sketches)
    ]
    return _bases(scaled, sketches, directions, 0.0)


def _bases(
    scaled: Sequence[NDArray[np.float64]], sketches: SymbolSketches, directions: int, damping: float
) -> tuple[ByView, ByView]:
    """Return the leading directions of sketches, and the scales of the symbols."""
    return bases_of_sketches(_three(scaled), _three(sketches.marginals), damping, directions)


def _projections(bases: ByView, scales: ByView) -> ByView:
    """Return the matrices from indicators of symbols to scaled coordinates in the bases."""
    return by_view(lambda t: bases[t] * inverse_scale(scales[t])[:, None])


def _identities(groups: Groups) -> ByView:
    """Return unit matrices."""
    return by_view(lambda t: np.eye(groups[t].size))


def _gaussian(
    groups: Groups, directions: int, rng: np.random.Generator, places: Sequence[IntArray]
) -> ByView:
    """Return random projections, the same ones for any names and codes of the categories."""
    drawn = by_view(lambda t: rng.standard_normal((groups[t].size, directions)))
    return by_view(lambda t: drawn[t][_joint_places(groups[t], places)]) if places else drawn


def _joint_places(group: SymbolGroup, places: Sequence[IntArray]) -> IntArray:
    """Return the place of every joint code of a group by the places of the categories."""
    by_column = np.ix_(*(places[column] for column in group.columns))
    return np.asarray(np.ravel_multi_index(by_column, group.categories).ravel(), np.int64)


def _three(arrays: Sequence[NDArray[np.float64]]) -> ByView:
    """Return an array for each of the three groups or pairs."""
    return by_view(lambda t: arrays[t])
