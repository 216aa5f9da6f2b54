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
from bigtensor.models.linear_mixture.columns import heaviest, is_valid, no_component, valid_terms
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor, discover_terms, nearest

_MORE = 2
"""Terms that are searched for where those asked for are no components, for each of them."""

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
    weight: float,
    settings: LinearSettings,
) -> Generator[Step, None, FoundTerms]:
    """Find terms from initialisations, by whitening too where it is possible, and keep the nearest.

    Parameters
    ----------
    contract : callable
        Contracts the tensor with columns.
    starts : callable
        Draws columns to start from.
    whitened : callable
        Returns as many terms as components are asked for; it may raise an IdentifiabilityError.
    tensor : SampleTensor
        Moment tensor of the sample.
    weight : float
        Of the rows that the tensor is of.
    settings : LinearSettings
        Resolved parameters of the fit.

    Raises
    ------
    IdentifiabilityError
        When no term is a component.
    """
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


def drawn_from(columns: Factors, random_state: int) -> Initialisations:
    """Return initialisations that are drawn from columns."""
    random, n_columns = np.random.default_rng([random_state, 7]), columns[0].shape[1]

    def draw(n_starts: int) -> Factors:
        chosen = random.choice(n_columns, n_starts, replace=n_starts > n_columns)
        return tuple(factor[:, chosen] for factor in columns)

    return draw
