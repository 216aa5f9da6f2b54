"""Search for the components in a tensor that is contracted on the driver."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.decomposition.sample_tensors.discovery import (
    DiscoverySettings,
    Initialisations,
    left_weight,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.subspace_solution import MOST_TERMS
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms
from bigtensor.errors import IdentifiabilityError
from bigtensor.models.contract.script import Step
from bigtensor.models.gaussian.mixture_faults import noise_ratio
from bigtensor.models.linear_mixture.columns import (
    components_of,
    heaviest,
    is_valid,
    no_component,
    valid_terms,
)
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor, discover_terms, nearest
from bigtensor.statistics.moments.covariances import CovariancesResult

_MORE = 2
"""Terms that are searched for where those asked for are no components, for each of them."""

OF_NOISE = 3.0
"""Weight of what is left of the tensor, over the median component, for every unit of noise.

Noise is the noise ratio z, or its square where it is larger, times the root of components over rows
of the sample. Of right terms, 1.0 to 1.9 times the noise is left, for z from .5 to 3 and 20 to
1,600 rows a component. Where a tenth or more of equal components are missing, a weight of .5 to .9
is left.
"""

MOST_LEFT = 0.25
"""Weight of what is left of the tensor, over the median component, above which one is missing. That
of noise (`OF_NOISE`) comes on top.
"""

_REPEATS = 2
"""Further searches, each from other columns, for light terms."""

_POWER_UPDATES = "power updates"

UPDATES = 4
"""Power updates from rows of the sample, which are close to columns already."""


@dataclass(frozen=True, eq=False)
class FoundTerms:
    """Terms that a search has found.

    Attributes
    ----------
    terms : Terms
        Terms of the moment tensor.
    diagnostics : dict
        ``initialisation``, ``rounds`` of the search, ``components_seen``, which may be more than
        asked for, and ``left_weight``: the largest weight that is found once the terms are
        subtracted, over the median of the terms.
    """

    terms: Terms
    diagnostics: dict[str, Any]


def search(
    contract: Contract,
    starts: Initialisations,
    whitened: Callable[[], Terms],
    tensor: SampleTensor,
    moments: CovariancesResult,
    rows: float,
    settings: LinearSettings,
) -> Generator[Step, None, FoundTerms]:
    """Find terms, and look for them again where light ones seem to be missing.

    More than noise is left of the tensor then, but no term as heavy as the others. Of 72 fits of
    mixtures of 14 components, half of them with a tenth of the rows of the others, the first search
    missed a component in 6, and three searches in none.

    Parameters
    ----------
    contract : callable
        Contracts the tensor with columns.
    starts : callable
        Draws columns to start from, others at every call.
    whitened : callable
        Returns as many terms as components are asked for; it may raise an IdentifiabilityError.
    tensor : SampleTensor
        Moment tensor of the rows.
    moments : CovariancesResult
        Of the same rows.
    rows : float
        Their number.
    settings : LinearSettings
        Resolved parameters of the fit.

    Raises
    ------
    IdentifiabilityError
        When no term is a component.
    """

    def misses_light_ones(searched: FoundTerms) -> bool:
        shape = settings.shape
        ratio = noise_ratio(
            components_of(searched.terms, tensor, moments, shape.views, shape.dtype)
        )
        if ratio is None:
            return False
        noise = OF_NOISE * noise_level(ratio, rows / settings.n_components)
        return bool(noise < searched.diagnostics["left_weight"] < MOST_LEFT + noise)

    weight = moments.weight
    first = yield from _first_search(contract, starts, whitened, tensor, weight, settings)
    if not misses_light_ones(first):
        return first
    discovery = DiscoverySettings(settings.n_components, UPDATES)
    none = Terms.empty(tensor.sizes, tensor.orders)
    for _ in range(_REPEATS):
        discovered = yield from discover_terms(contract, starts, none, discovery)
        terms = valid_terms(contract, discovered.terms, tensor, weight)
        if not terms.n_terms:
            continue
        again = _with_left_weight(contract, starts, terms, discovered.rounds, tensor, discovery)
        is_better = again.diagnostics["left_weight"] < first.diagnostics["left_weight"]
        if is_better and not misses_light_ones(again):
            return again
    return first


def _first_search(
    contract: Contract,
    starts: Initialisations,
    whitened: Callable[[], Terms],
    tensor: SampleTensor,
    weight: float,
    settings: LinearSettings,
) -> Generator[Step, None, FoundTerms]:
    """Find terms by power updates, by whitening too where it is possible, and keep the nearest."""
    k = settings.n_components
    discovery = DiscoverySettings(k, UPDATES)
    none = Terms.empty(tensor.sizes, tensor.orders)
    discovered = yield from discover_terms(contract, starts, none, discovery)
    candidates = {_POWER_UPDATES: discovered.terms}
    if k <= min(*tensor.sizes, MOST_TERMS):
        # where it fails, the power updates say how many components there are
        with suppress(IdentifiabilityError):
            candidates["whitening"] = descended(contract, whitened())
    names = list(candidates)
    chosen = names[nearest(contract, list(candidates.values()))]
    terms = candidates[chosen]
    if k > 1 and not is_valid(terms, tensor, weight).all():
        terms = valid_terms(contract, terms, tensor, weight)
        if terms.n_terms <= k // 2:
            # fewer terms than components are mixtures of them: what more terms would be tells
            wider = replace(discovery, n_terms=_MORE * k)
            more = yield from discover_terms(contract, starts, none, wider)
            others = valid_terms(contract, more.terms, tensor, weight)
            terms = max(others, terms, key=lambda discovered: discovered.n_terms)
    if not terms.n_terms:
        raise no_component()
    rounds = discovered.rounds
    return _with_left_weight(contract, starts, terms, rounds, tensor, discovery, chosen)


def _with_left_weight(
    contract: Contract,
    starts: Initialisations,
    terms: Terms,
    rounds: int,
    tensor: SampleTensor,
    discovery: DiscoverySettings,
    initialisation: str = _POWER_UPDATES,
) -> FoundTerms:
    """Return the heaviest terms, with what is left of the tensor without them."""
    diagnostics: dict[str, Any] = {
        "initialisation": initialisation,
        "rounds": rounds,
        "components_seen": terms.n_terms,
    }
    terms = heaviest(terms, tensor, discovery.n_terms)
    left = left_weight(contract, starts, terms, discovery)
    return FoundTerms(terms, {**diagnostics, "left_weight": left})


def noise_level(ratio: float, rows_a_component: float) -> float:
    """Return about the error of third moments, which grows with the square of long noise."""
    return float(max(ratio, ratio**2) / rows_a_component**0.5)


def drawn_from(columns: Factors, random_state: int) -> Initialisations:
    """Return initialisations that are drawn from columns."""
    random, n_columns = np.random.default_rng([random_state, 7]), columns[0].shape[1]

    def draw(n_starts: int) -> Factors:
        chosen = random.choice(n_columns, n_starts, replace=n_starts > n_columns)
        return tuple(factor[:, chosen] for factor in columns)

    return draw
