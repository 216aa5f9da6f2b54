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
from bigtensor.models.gaussian.fitted_components import GaussianComponents
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

_SEARCHES = 3
"""Searches at most, each from other columns."""

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
    """Find terms, and search again from other columns where more than noise is left of the tensor.

    Of 72 fits of mixtures of 14 components, half of them with a tenth of the rows of the others, a
    single search missed a component in 6.

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
    first: FoundTerms | None = None
    for _ in range(_SEARCHES):
        terms = yield from _search(contract, starts, whitened, tensor, moments.weight, settings)
        first = first or terms
        components = components_of(
            terms.terms, tensor, moments, settings.shape.views, settings.shape.dtype
        )
        if _is_noise_left(terms, components, rows):
            return terms
    # there may be more components than are looked for
    assert first is not None
    return first


def _search(
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
    candidates = {"power updates": discovered.terms}
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
    diagnostics = {
        "initialisation": chosen,
        "rounds": discovered.rounds,
        "components_seen": terms.n_terms,
    }
    terms = heaviest(terms, tensor, k)
    left = left_weight(contract, starts, terms, discovery)
    return FoundTerms(terms, {**diagnostics, "left_weight": left})


def _is_noise_left(terms: FoundTerms, components: GaussianComponents, rows: float) -> bool:
    """Return True if the tensor less the terms is noise, so that no term seems to be missing."""
    ratio = noise_ratio(components)
    if ratio is None:
        return True
    noise = noise_level(ratio, rows / terms.terms.n_terms)
    return bool(terms.diagnostics["left_weight"] <= OF_NOISE * noise)


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
